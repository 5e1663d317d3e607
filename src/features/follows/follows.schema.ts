import { say } from "../../kit/say.ts";
import { z } from "zod";
import { idPattern, listQuery, text, Timestamp, WebAddress } from "../../kernel/fields.ts";
import { blacklistCategories, recommendedActions, severities } from "../../kernel/vocabulary.ts";

export const listKinds = ["provost", "file"] as const;
export type ListKind = (typeof listKinds)[number];
/** What an entry of a list can be about. */
export const entryKinds = ["user", "server", "invite", "domain"] as const;
export type EntryKind = (typeof entryKinds)[number];
export const entryCategories = [...new Set([...blacklistCategories.user, ...blacklistCategories.server])];
const trustWords = { low: 25, medium: 50, high: 90 } as const;

/** Bytes of a file. */
export const maxFileBytes = 4 * 1024 * 1024;
/** Entries of a list: lines of a file, or records of a feed. */
export const maxEntries = 100_000;
/** Lines that could not be read of which a list keeps what they say; the others are counted. */
export const maxUnreadLines = 100;

const Address = WebAddress.meta({
  description: "Of another Provost: where it answers, without a path of its API. Of a file: where it is; without it the file is sent",
  example: "https://provost.example",
});
const Key = z
  .string()
  .regex(/^[\x21-\x7e]{8,512}$/, say("follows.write-the-api-key-as-you-got"))
  .meta({ description: "An API key of the other Provost with `blacklist.read`. It is stored encrypted and never shown" });
const Name = text(1, 80).meta({ description: "What you call the list", example: "Harbour Watch" });
const Categories = z.array(z.enum(entryCategories)).max(entryCategories.length).meta({ description: "What is taken; empty: everything" });
const Trust = z
  .union([z.int().min(0).max(100), z.enum(["low", "medium", "high"]).transform((word): number => trustWords[word])])
  .meta({ description: "How much you trust it: 0 to 100, or `low` (25), `medium` (50), `high` (90)" });
const Interval = z.int().min(1).max(1440).meta({ description: "Minutes between two readings" });

export const FollowListInput = z
  .strictObject({
    name: Name,
    kind: z.enum(listKinds).default("provost"),
    address: Address.optional(),
    key: Key.optional(),
    categories: Categories.default([]),
    trust: Trust.default(50),
    interval_minutes: Interval.optional(),
  })
  .superRefine(({ kind, address, key }, context) => {
    const lacks = (field: string, message: string) => context.addIssue({ code: "custom", path: [field], message });
    if (kind === "provost" && address === undefined) lacks("address", say("follows.name-the-address-of-the-other-provost"));
    if (kind === "provost" && key === undefined) lacks("key", say("follows.send-an-api-key-of-the-other"));
    if (kind === "file" && key !== undefined) lacks("key", say("follows.only-another-provost-is-asked-with-a"));
  })
  .meta({ id: "FollowListInput" });
export type FollowListInput = z.input<typeof FollowListInput>;

export const UpdateListInput = z
  .strictObject({
    name: Name.optional(),
    address: Address.optional(),
    key: Key.optional(),
    categories: Categories.optional(),
    trust: Trust.optional(),
    interval_minutes: Interval.optional(),
  })
  .meta({ id: "UpdateFollowedListInput", description: "What is left out stays as it is. Another address of another Provost needs a key" });
export type UpdateListInput = z.input<typeof UpdateListInput>;

export const SendFileInput = z
  .strictObject({
    csv: z
      .string()
      .min(1)
      .optional()
      .meta({ description: "As an export of the blacklist writes it; a body of type text/csv is this text alone" }),
    records: z
      .array(z.unknown().meta({ description: "A record as an export writes it; what is none is reported by itself" }))
      .max(maxEntries)
      .optional()
      .meta({ description: "The same as JSON" }),
  })
  .refine(({ csv, records }) => (csv === undefined) !== (records === undefined), {
    path: ["records"],
    message: say("blacklist.send-records-or-csv"),
  })
  .meta({ id: "SendListFileInput" });
export type SendFileInput = z.input<typeof SendFileInput>;

export const ListFollowedQuery = z.strictObject(listQuery).meta({ id: "ListFollowedListsQuery" });
export type ListFollowedQuery = z.input<typeof ListFollowedQuery>;
export const ListEntriesQuery = z.strictObject(listQuery).meta({ id: "ListFollowedEntriesQuery" });
export type ListEntriesQuery = z.input<typeof ListEntriesQuery>;

export const ListId = z
  .string()
  .regex(idPattern, say("follows.name-the-list-by-its-id"))
  .transform((id) => id.toLowerCase())
  .meta({ description: "Id of the list", example: "0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b" });
export const EntryNumber = z.string().min(1).max(300).meta({ description: "The number of the entry at its origin", example: "BL-000123" });

const UnreadLineView = z
  .object({
    line: z
      .int()
      .meta({ description: "Of the file, from 1, or its place in the list of JSON; of a feed the number of the entry", example: 17 }),
    field: z.string().meta({ description: "The field that is wrong; empty: all of the line", example: "/subject_id" }),
    value: z.string().meta({ description: "What stands there; cut where it is long", example: "bit.ly/3aB4cD5" }),
    reason: z.string().meta({ example: "This leads to a page, not to a domain." }),
  })
  .meta({ id: "UnreadListLine", description: "A line of a list that could not be read" });
export type UnreadLineView = z.infer<typeof UnreadLineView>;

/** A list in a list of lists. */
export const FollowedListView = z
  .object({
    id: z.string(),
    name: z.string(),
    kind: z.enum(listKinds),
    address: z.string().nullable().meta({
      description:
        "Its host and the first part of its path. The rest may be a secret: it is shown nowhere, not even to whoever wrote it. Sending this back changes nothing",
      example: "https://lists.example/v1/…",
    }),
    has_key: z.boolean().meta({ description: "Whether a key is stored; the key itself is never shown" }),
    categories: z.array(z.string()),
    trust: z.int(),
    interval_minutes: z.int(),
    state: z.enum(["following", "stopped"]).meta({ description: "`stopped`: it told something that cannot be; a person has to reset it" }),
    problem: z.string().nullable().meta({ description: "Why it is stopped, or why the last reading failed" }),
    failures: z.int().meta({ description: "Readings that failed in a row" }),
    unread: z.int().meta({
      description:
        "Lines of the file that could not be read when it was last read; of a feed the entries since it was read from the beginning. The rest was taken",
    }),
    unread_lines: z
      .array(UnreadLineView)
      .optional()
      .meta({
        description: `Of those, ${maxUnreadLines.toString()} at most: the first of a file, the last of a feed. Not in the list of lists`,
      }),
    last_read_at: Timestamp.nullable(),
    next_read_at: Timestamp.nullable(),
    created_by: z.string().nullable(),
    created_at: Timestamp,
    updated_at: Timestamp,
    revision: z.int(),
  })
  .meta({ id: "FollowedList", description: "A list of others that is followed" });
export type FollowedListView = z.infer<typeof FollowedListView>;

export const FollowedEntryView = z
  .object({
    number: z.string().meta({ description: "At its origin", example: "BL-000123" }),
    revision: z.int().meta({ description: "At its origin" }),
    kind: z.enum(entryKinds),
    subject_id: z.string(),
    category: z.string(),
    severity: z.enum(severities),
    recommended_action: z.enum(recommendedActions).nullable(),
    starts_at: Timestamp,
    expires_at: Timestamp.nullable(),
    updated_at: Timestamp,
  })
  .meta({ id: "FollowedEntry", description: "What a followed list says of somebody" });
export type FollowedEntryView = z.infer<typeof FollowedEntryView>;

export const AdoptInput = z
  .strictObject({ reason_public: text(1, 2000).optional(), reason_internal: text(1, 2000).optional() })
  .meta({ id: "AdoptEntryInput", description: "What your own record says besides what the entry says" });
export type AdoptInput = z.input<typeof AdoptInput>;

/** The record that was made of an entry. */
export const AdoptedView = z
  .object({
    id: z.string(),
    number: z.string().meta({ example: "BL-000124" }),
    origin_reference: z.string().meta({ description: "The list and the number of the entry there" }),
  })
  .meta({ id: "AdoptedEntry", description: "Your own record that was made of an entry; all of it is at `/blacklist/{id}`" });
export type AdoptedView = z.infer<typeof AdoptedView>;
