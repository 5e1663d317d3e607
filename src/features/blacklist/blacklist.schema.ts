import { say, inRow, term } from "../../kit/say.ts";
import { z } from "zod";
import { ListedByView } from "../../kernel/listed-by.ts";
import { Duration, listQuery, redacted, Snowflake, Timestamp, text } from "../../kernel/fields.ts";
import { altChoices, blacklistCategories, memberPolicies, recommendedActions, severities } from "../../kernel/vocabulary.ts";

export const kinds = ["user", "server"] as const;
export const anyCategory = z.enum([...new Set([...blacklistCategories.user, ...blacklistCategories.server])]);
export const statuses = ["active", "scheduled", "suspended", "expired", "revoked", "superseded"] as const;
export type Status = (typeof statuses)[number];

export const RevokeReason = text(3, 1000).meta({ description: "Why the record is taken back" });
export const RevokeBlacklistInput = z.strictObject({ reason: RevokeReason });

const Evidence = z
  .strictObject({
    kind: z.enum(["link", "text", "record", "message"]).default("text"),
    title: text(1, 200).optional(),
    note: text(1, 2000).optional(),
    url: text(1, 2000)
      .regex(/^https?:\/\//, say("blacklist.only-http-and-https-addresses-are-kept"))
      .optional(),
    record_ref: text(1, 100).optional(),
  })
  .meta({ id: "BlacklistEvidence", description: "What the record rests on; addresses are kept as text and never fetched" });

const editable = {
  subject_name: text(1, 100).nullable(),
  server_ids: z.array(Snowflake).max(100),
  category: anyCategory,
  severity: z.enum(severities),
  reason_public: text(1, 2000).nullable(),
  reason_internal: text(1, 2000).nullable().meta({ description: "Shown only to holders of blacklist.read_confidential" }),
  recommended_action: z.enum(recommendedActions).nullable(),
  member_policy: z.enum(memberPolicies).nullable().meta({ description: "Servers only: what is done about their members" }),
  grace_period: Duration.nullable().meta({ description: "Servers only: how long members may take to leave" }),
  exempt_user_ids: z.array(Snowflake).max(100),
  include_alts: z
    .enum(altChoices)
    .meta({ description: "Users only: which linked accounts of the person it concerns, too; confirmed unless told" }),
  evidence: z.array(Evidence).max(20),
  tags: z.array(text(1, 40)).max(20),
  review_at: Timestamp.nullable(),
  expires_at: Timestamp.nullable().meta({ description: "null: permanent" }),
  duration: Duration.nullable().meta({ description: "Instead of expires_at; null: permanent" }),
};

/** The rules that hold between fields, for a new record and for a changed one. */
function checkTogether(input: { expires_at?: unknown; duration?: unknown }, context: z.RefinementCtx): void {
  if (input.expires_at !== undefined && input.duration !== undefined) {
    context.addIssue({ code: "custom", path: ["duration"], message: say("blacklist.send-expires-at-or-duration-not-both") });
  }
}

export const CreateBlacklistInput = z
  .strictObject({
    kind: z.enum(kinds),
    subject_id: Snowflake.meta({ description: "Id of the user or of the server" }),
    scope: z.enum(["network", "servers"]).default("network"),
    starts_at: Timestamp.optional(),
    ...z.object(editable).partial().shape,
    category: editable.category.default("other"),
    severity: editable.severity.default("medium"),
  })
  .superRefine((input, context) => {
    checkTogether(input, context);
    for (const issue of kindIssues(input.kind, input)) context.addIssue({ code: "custom", ...issue });
    if (input.scope === "servers" && (input.server_ids ?? []).length === 0) {
      context.addIssue({ code: "custom", path: ["server_ids"], message: say("blacklist.name-the-servers-of-the-scope") });
    }
  })
  .meta({ id: "CreateBlacklistInput" });
export type CreateBlacklistInput = z.input<typeof CreateBlacklistInput>;

export const UpdateBlacklistInput = z
  .strictObject({
    ...z.object(editable).partial().shape,
    reviewed: z
      .literal(true)
      .optional()
      .meta({ description: "Marks the record as reviewed now; unless review_at tells otherwise, the next review is due in 180 days" }),
  })
  .superRefine(checkTogether)
  .meta({ id: "UpdateBlacklistInput" });
export type UpdateBlacklistInput = z.input<typeof UpdateBlacklistInput>;

interface KindFields {
  category?: string | undefined;
  member_policy?: unknown;
  grace_period?: unknown;
  include_alts?: unknown;
}

/** What does not fit the kind of a record: categories of the other kind, and server rules on a user. */
export function kindIssues(kind: "user" | "server", input: KindFields): { path: string[]; message: string }[] {
  const allowed: readonly string[] = blacklistCategories[kind];
  const issues: { path: string[]; message: string }[] = [];
  if (input.category !== undefined && !allowed.includes(input.category)) {
    issues.push({ path: ["category"], message: say(`blacklist.categories-of-${kind}`, { allowed: inRow(allowed.map(term)) }) });
  }
  if (kind === "server" && input.include_alts !== undefined)
    issues.push({ path: ["include_alts"], message: say("blacklist.only-records-of-users-have-this") });
  for (const field of ["member_policy", "grace_period"] as const) {
    if (kind === "user" && input[field] !== undefined && input[field] !== null)
      issues.push({ path: [field], message: say("blacklist.only-records-of-servers-have-this") });
  }
  return issues;
}

export const ListBlacklistQuery = z
  .strictObject({
    ...listQuery,
    kind: z.enum(kinds).optional(),
    status: z.enum(statuses).optional(),
    category: anyCategory.optional(),
    severity: z.enum(severities).optional(),
    subject: Snowflake.optional().meta({ description: "Id of the user or server" }),
    q: z.string().trim().min(2).max(100).optional().meta({
      description:
        "Every word has to begin a word of the reasons, the notes of the evidence, the tags or the subject's name; or the whole is the id of the subject or the number of the record",
    }),
    review_due: z.enum(["true", "false"]).optional().meta({ description: "Only records whose review is due" }),
    expires_before: Timestamp.optional(),
    changed_since: Timestamp.optional(),
  })
  .meta({ id: "ListBlacklistQuery" });
export type ListBlacklistQuery = z.input<typeof ListBlacklistQuery>;

/** What a page says that looked only so far. */
export const BlacklistNotes = z.object({
  examined: z.int().positive().optional().meta({
    description: "Present where a page ended before it was full: how many records it looked at. `next_cursor` goes on from there",
  }),
  examined_to: Timestamp.optional().meta({ description: "With `examined`: when the last record was made that the page looked at" }),
});

const ids = z.array(Snowflake).max(500).default([]);
export const CheckBlacklistInput = z
  .strictObject({
    user_ids: ids,
    server_ids: ids,
    include_alts: z
      .boolean()
      .default(false)
      .meta({ description: "Answers records of linked accounts, too, as far as they take linked accounts in; needs users.links.read" }),
  })
  .refine((input) => input.user_ids.length + input.server_ids.length > 0, {
    path: ["user_ids"],
    message: say("blacklist.name-at-least-one-user-or-server"),
  })
  .meta({ id: "CheckBlacklistInput" });
export type CheckBlacklistInput = z.input<typeof CheckBlacklistInput>;

export const BlacklistView = z
  .object({
    id: z.string(),
    number: z.string().meta({ example: "BL-000123" }),
    kind: z.enum(kinds),
    subject_id: Snowflake,
    subject_snapshot: z.object({ name: z.string() }).nullable(),
    scope: z.string(),
    server_ids: z.array(z.string()),
    category: z.string(),
    severity: z.enum(severities),
    status: z.enum(statuses),
    reason_public: z.string().nullable(),
    reason_internal: z.string().nullable().optional().meta({ description: "Needs blacklist.read_confidential" }),
    recommended_action: z.string().nullable(),
    member_policy: z.string().nullable(),
    grace_period_seconds: z.int().nullable(),
    exempt_user_ids: z.array(z.string()).optional().meta({ description: "Needs blacklist.read_confidential" }),
    include_alts: z.enum(altChoices).optional().meta({
      description: "Users only: which linked accounts of the person it concerns, too; absent in versions from before this was kept",
    }),
    evidence: z
      .array(z.looseObject({ kind: z.string() }))
      .meta({ description: "What was written down with the record; pieces that are kept beside it are at `/blacklist/{id}/evidence`" }),
    tags: z.array(z.string()),
    source: z.string(),
    origin_reference: z.string().nullable(),
    supersedes: z
      .string()
      .nullable()
      .optional()
      .meta({ description: "Number of the record that this one took the place of; absent in versions from before this was kept" }),
    created_by: z.string().nullable(),
    approved_by: z.array(z.string()),
    starts_at: Timestamp,
    expires_at: Timestamp.nullable(),
    review_at: Timestamp.nullable(),
    last_reviewed_at: Timestamp.nullable(),
    revoked: z.object({ at: Timestamp, by: z.string().nullable(), reason: z.string().nullable() }).nullable(),
    history_count: z.int(),
    revision: z.int(),
    created_at: Timestamp,
    updated_at: Timestamp,
    redacted,
  })
  .meta({ id: "BlacklistRecord" });
export type BlacklistView = z.infer<typeof BlacklistView>;

export const BlacklistVersionView = z
  .object({ revision: z.int(), changed_at: Timestamp, changed_by: z.string().nullable(), record: BlacklistView })
  .meta({ id: "BlacklistVersion", description: "The record as it stood after one change" });
export type BlacklistVersionView = z.infer<typeof BlacklistVersionView>;

/** What a caller without `blacklist.read` learns about a record. */
const reduced = { kind: true, category: true, severity: true, recommended_action: true, member_policy: true, expires_at: true } as const;
export const CheckedRecord = BlacklistView.partial()
  .required(reduced)
  .meta({ id: "CheckedRecord", description: "The whole record only for holders of blacklist.read" });
export type CheckedRecord = z.infer<typeof CheckedRecord>;

const CheckedLink = z
  .object({ user_id: Snowflake, confidence: z.enum(["confirmed", "probable"]), records: z.array(CheckedRecord) })
  .meta({ id: "CheckedLink", description: "An account that may belong to the same person, with its records that take linked accounts in" });
const CheckedRelation = z
  .object({ server_id: Snowflake, how: z.enum(["alias", "merged"]), records: z.array(CheckedRecord) })
  .meta({ id: "CheckedRelation", description: "A further id of the server, or a server it was merged with, with its records" });

const checked = {
  id: Snowflake,
  listed: z.boolean().meta({ description: "Whether a record about this very id is in force" }),
  records: z.array(CheckedRecord),
  listed_by: z
    .array(ListedByView)
    .optional()
    .meta({ description: "What followed lists say of this very id; for holders of lists.read, where lists are followed" }),
};
const CheckedUser = z
  .object({
    ...checked,
    linked: z
      .array(CheckedLink)
      .optional()
      .meta({ description: "Only with include_alts: listed accounts that may belong to the same person" }),
  })
  .meta({ id: "CheckedUser" });
const CheckedServer = z
  .object({
    ...checked,
    related: z.array(CheckedRelation).optional().meta({ description: "Listed ids of the same server; for holders of servers.read" }),
  })
  .meta({ id: "CheckedServer" });
export const BlacklistCheck = z
  .object({
    followed_lists: z.int().optional().meta({ description: "How many lists are followed; for holders of lists.read, where any are" }),
    users: z.array(CheckedUser),
    servers: z.array(CheckedServer),
  })
  .meta({ id: "BlacklistCheck" });
export type BlacklistCheck = z.infer<typeof BlacklistCheck>;

/** What the feed says of a change. */
const changes = ["created", "updated", "started", "superseded", "revoked", "expired", "purged"] as const;

export const ListBlacklistChangesQuery = z
  .strictObject({
    ...listQuery,
    cursor: listQuery.cursor.meta({
      description: "`meta.resume_cursor` of the page before; without it the feed begins with its first entry",
    }),
    kind: z.enum(kinds).optional(),
    category: anyCategory.optional(),
  })
  .meta({ id: "ListBlacklistChangesQuery" });
export type ListBlacklistChangesQuery = z.input<typeof ListBlacklistChangesQuery>;

export const BlacklistChangeView = z
  .object({
    seq: z.int().meta({ description: "Grows from entry to entry, in the order in which changes were stored" }),
    at: Timestamp,
    change: z.enum(changes),
    retract: z.boolean().meta({ description: "Whether whoever follows this feed has to let go of the record" }),
    record_id: z.string(),
    number: z.string().meta({ example: "BL-000123" }),
    revision: z.int(),
    record: BlacklistView.nullable().meta({ description: "The record as it stood after this change; null once it was purged" }),
  })
  .meta({ id: "BlacklistChange" });
export type BlacklistChangeView = z.infer<typeof BlacklistChangeView>;
/** Stands in the `meta` of every page of the feed. */
export const BlacklistChangesNotes = z.object({
  resume_cursor: z.string().meta({ description: "Where to go on, now or later; also on the last page and on an empty one" }),
});

export const PurgeBlacklistInput = z.strictObject({ reason: text(3, 1000) }).meta({ id: "PurgeBlacklistInput" });
export type PurgeBlacklistInput = z.input<typeof PurgeBlacklistInput>;
export const BlacklistPurge = z
  .object({ id: z.string(), number: z.string().meta({ example: "BL-000123" }), purged_at: Timestamp, reason: z.string() })
  .meta({ id: "BlacklistPurge", description: "What is left of a purged record" });
export type BlacklistPurge = z.infer<typeof BlacklistPurge>;
