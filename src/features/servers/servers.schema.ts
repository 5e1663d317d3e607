import { say } from "../../kit/say.ts";
import { agreementCovers } from "../../kernel/vocabulary.ts";
import { z } from "zod";
import { listQuery, redacted, Snowflake, Timestamp, text } from "../../kernel/fields.ts";

/** What a registered server can be. That it is blacklisted is never stored: its record says so. */
export const storedStatuses = ["known", "partner", "member", "watched", "merged", "defunct"] as const;
export type StoredStatus = (typeof storedStatuses)[number];
const newStatuses = ["known", "partner", "member", "watched"] as const;
export const shownStatuses = [...storedStatuses, "blacklisted"] as const;

const inviteStatuses = ["valid", "invalid", "other_server"] as const;
export type InviteStatus = (typeof inviteStatuses)[number];

/** A choice of statuses that says where a server is blacklisted instead. */
function statusOf<const Names extends readonly string[]>(names: Names) {
  return z
    .enum([...names, "blacklisted"])
    .refine((status) => status !== "blacklisted", {
      message: say("servers.a-server-is-blacklisted-by-a-record"),
      params: { code: "use_blacklist" },
    })
    .meta({ description: `One of ${names.join(", ")}; \`blacklisted\` is refused, because a record says so` });
}

const Contact = z
  .strictObject({ user_id: Snowflake, role: text(1, 60).meta({ description: "What the person is there", example: "owner" }) })
  .meta({ id: "ServerContact", description: "Somebody to talk to about a server" });

const editable = {
  name: text(1, 100).nullable(),
  icon: text(1, 100)
    .regex(/^[\w-]+$/, say("servers.send-the-hash-of-the-icon-not"))
    .nullable()
    .meta({ description: "Discord's hash of the icon" }),
  aliases: z.array(Snowflake).max(20).meta({ description: "Further ids of the same server, such as an earlier one" }),
  owner_user_id: Snowflake.nullable(),
  contacts: z.array(Contact).max(20),
  tags: z.array(text(1, 40)).max(20),
  note: text(1, 2000).nullable(),
  invite_code: text(2, 100)
    .regex(/^[A-Za-z0-9-]+$/, say("servers.send-the-code-of-the-invite-not"))
    .nullable()
    .meta({ description: "The code after discord.gg/; it is looked up once a day", example: "discord-developers" }),
};

export const CreateServerInput = z
  .strictObject({
    id: Snowflake.meta({ description: "Id of the server at Discord" }),
    ...z.object(editable).partial().shape,
    status: statusOf(newStatuses).default("known"),
  })
  .meta({ id: "CreateServerInput" });
export type CreateServerInput = z.input<typeof CreateServerInput>;

export const UpdateServerInput = z
  .strictObject({
    ...z.object(editable).partial().shape,
    status: statusOf(storedStatuses).optional(),
    merged_into: Snowflake.optional().meta({ description: "With the status merged: the registered server it is part of now" }),
  })
  .meta({ id: "UpdateServerInput" });
export type UpdateServerInput = z.input<typeof UpdateServerInput>;

export const ListRegistryQuery = z
  .strictObject({
    ...listQuery,
    status: z
      .enum(shownStatuses)
      .optional()
      .meta({ description: "Only servers shown with this status; `blacklisted` finds nothing without blacklist.read" }),
    q: z.string().trim().min(1).max(100).optional().meta({ description: "A part of the name, or an id or alias" }),
  })
  .meta({ id: "ListRegistryQuery" });
export type ListRegistryQuery = z.input<typeof ListRegistryQuery>;

export const ListAgreementsQuery = z.strictObject({ ...listQuery }).meta({ id: "ListAgreementsQuery" });
export type ListAgreementsQuery = z.input<typeof ListAgreementsQuery>;

export const ServerView = z
  .object({
    id: Snowflake,
    name: z.string().nullable().meta({ description: "As last written here; text of strangers" }),
    icon: z.string().nullable(),
    status: z.enum(shownStatuses).meta({ description: "`blacklisted` while a record is in force, for holders of blacklist.read only" }),
    merged_into: Snowflake.optional(),
    aliases: z.array(Snowflake),
    owner_user_id: Snowflake.nullable().optional(),
    contacts: z.array(Contact).optional(),
    tags: z.array(z.string()),
    note: z.string().nullable().optional(),
    invite: z
      .object({
        code: z.string(),
        status: z.enum(inviteStatuses).nullable().meta({ description: "null while it was never looked up" }),
        checked_at: Timestamp.nullable(),
      })
      .nullable()
      .optional(),
    blacklist_id: z.string().nullable().optional().meta({ description: "The record in force; only for holders of blacklist.read" }),
    agreements: z.array(z.string()).meta({ description: "Ids of the agreements in force" }),
    created_at: Timestamp,
    updated_at: Timestamp,
    revision: z.int().positive(),
    redacted,
  })
  .meta({ id: "Server", description: "A registered server" });
export type ServerView = z.infer<typeof ServerView>;

export const AgreementView = z
  .object({
    id: z.string(),
    status: z
      .enum(["scheduled", "active", "suspended", "ended"])
      .meta({ description: "`suspended` while a request that was approved suspends it: it does not count until that is taken back" }),
    server_ids: z.array(Snowflake).meta({ description: "The parties" }),
    covers: z.enum(agreementCovers),
    cooling_off_days: z.int().meta({ description: "How long after leaving one party a person is still covered" }),
    terms: z.string().nullable(),
    starts_at: Timestamp,
    ends_at: Timestamp.nullable(),
    origin_reference: z.string().nullable().meta({ description: "The request that made it", example: "PCH-REQ-000001" }),
    created_at: Timestamp,
    ended: z.object({ at: Timestamp, reason: z.string().nullable() }).nullable(),
    revision: z.int().positive(),
  })
  .meta({ id: "Agreement", description: "An agreement between servers not to recruit from one another" });
export type AgreementView = z.infer<typeof AgreementView>;
