import { z } from "zod";
import { Snowflake, Timestamp } from "../../kernel/fields.ts";

/** How many entries of a list an export holds at most, the newest ones. */
export const exportLimit = 1000;

const when = Timestamp.nullable();

/** A list of an export. */
const section = <Entry extends z.ZodType>(entry: Entry, description: string) =>
  z
    .object({
      entries: z.array(entry),
      truncated: z
        .literal(true)
        .optional()
        .meta({ description: `There are more than ${exportLimit.toString()}: the newest are here` }),
    })
    .meta({ description });

const AuthorizationPart = z
  .object({
    status: z.string(),
    scopes: z.array(z.string()).meta({ description: "What Discord was asked to let us read" }),
    detail: z.string().meta({ description: "How much of the server list stays readable: `full` or `listed`" }),
    purposes: z.array(z.string()),
    consent_version: z.string().meta({ description: "The words that were agreed to" }),
    granted_at: Timestamp,
    last_refreshed_at: when,
    expires_at: when.meta({ description: "When it is forgotten unless it is read again" }),
    ended_at: when,
  })
  .nullable()
  .meta({ description: "What the person let the service read; null where nothing was ever granted or it was deleted" });

const SessionPart = z.object({
  id: z.string(),
  purpose: z.string(),
  status: z.string(),
  failure: z.string().nullable(),
  scopes: z.array(z.string()),
  detail: z.string(),
  created_at: Timestamp,
  opened_at: when,
  ended_at: when,
  expires_at: Timestamp,
});

const ServerPart = z.object({
  id: z.string(),
  name: z.string(),
  relation: z.string().meta({ description: "owner, manager or member" }),
  first_seen_at: Timestamp,
  last_seen_at: Timestamp,
  left_at: when,
});

const MatchPart = z.object({
  kind: z.string(),
  status: z.string(),
  severity: z.string(),
  rules: z.array(z.string()).meta({ description: "The rules that fired" }),
  first_seen_at: Timestamp,
  last_seen_at: Timestamp,
  grace_until: when,
  closed_at: when,
});

const LinkPart = z.object({
  kind: z.string(),
  since: Timestamp,
  ended_at: when,
});

const RequestPart = z.object({
  reference: z.string(),
  type: z.string(),
  role: z.enum(["requester", "subject"]).meta({ description: "Whether the person filed it or it is about them" }),
  status: z.string(),
  created_at: Timestamp,
  decided_at: when,
  requester_name: z.string().nullable().meta({ description: "The person's name when they filed it; null where others did" }),
  summary: z.string().nullable().meta({ description: "What the person wrote; null where others filed it" }),
  payload: z.record(z.string(), z.unknown()).nullable().meta({ description: "What the person asked for; null where others filed it" }),
  answers: z.array(z.object({ at: Timestamp, text: z.string() })).meta({ description: "What the person was told about their request" }),
  comments: z.array(z.object({ at: Timestamp, body: z.string() })).meta({ description: "What the person wrote to the staff about it" }),
  checks: z
    .array(z.object({ key: z.string(), result: z.string(), detail: z.string(), at: Timestamp }))
    .meta({ description: "Automatic checks that rest on what the person shared" }),
});

const BlacklistPart = z.object({
  number: z.string(),
  subject_name: z.string().nullable(),
  status: z.string(),
  category: z.string(),
  severity: z.string(),
  reason_public: z.string().nullable(),
  starts_at: Timestamp,
  expires_at: when,
  created_at: Timestamp,
  revoked_at: when,
  appeal: z.string().meta({ description: "How the person can have it looked at again" }),
});

const CasePart = z.object({
  number: z.string(),
  subject_name: z.string().nullable(),
  type: z.string(),
  status: z.string(),
  outcome: z.string().nullable(),
  created_at: Timestamp,
  closed_at: when,
});

const MessagePart = z.object({
  guild_id: z.string(),
  channel_id: z.string(),
  message_id: z.string(),
  sent_at: Timestamp,
  content: z.string().nullable(),
  text: z.string().meta({ description: "Everything the message showed, in words" }),
  captured_at: Timestamp,
});

const StaffPart = z
  .object({
    roles: z.array(z.object({ key: z.string(), name: z.string(), level: z.string() })),
    department: z.string().nullable(),
    timezone: z.string().nullable(),
    availability: z.string().nullable(),
    quiet_hours: z.unknown(),
    leave: z.object({ from: Timestamp, until: when, reason: z.string().nullable() }).nullable(),
    permissions: z.array(
      z.object({
        permission: z.string(),
        effect: z.string(),
        guild_id: z.string().nullable(),
        reason: z.string(),
        created_at: Timestamp,
        expires_at: when,
      }),
    ),
    roster: z
      .object({
        status: z.string(),
        staff_role: z.string().nullable(),
        department: z.string().nullable(),
        nickname: z.string().nullable(),
        joined_at: when,
        trial_ends_at: when,
        suspended_until: when,
        ended_at: when,
        history: z.array(z.object({ event: z.string().meta({ example: "hired" }), at: Timestamp })),
      })
      .nullable()
      .meta({ description: "The person's place on the roster, and what became of it" }),
    callsigns: z.array(z.object({ callsign: z.string(), state: z.string(), since: Timestamp, until: when })),
  })
  .nullable()
  .meta({ description: "What is kept of present and former staff; null for everybody else" });

const MemberPart = z.object({
  guild_id: z.string(),
  username: z.string(),
  display_name: z.string().nullable(),
  nickname: z.string().nullable(),
  role_ids: z.array(z.string()),
  present: z.boolean(),
  joined_at: when,
});

const NativeActionPart = z.object({
  action: z.string().meta({ description: "ban, unban, kick, timeout or timeout_lift", example: "ban" }),
  guild_id: z.string(),
  at: Timestamp,
  until: when,
});

const ReadPart = z.object({
  reader: z.string().meta({ description: "The name of the staff member, or of the program that read by itself", example: "Nelly" }),
  what: z.string().meta({ description: "authorization, servers, matches, timeline or export" }),
  hour: Timestamp.meta({ description: "The hour it was looked at, once or more often" }),
});

const AuditPart = z.object({ at: Timestamp, action: z.string().meta({ example: "authorization.grant" }) });

export const DataExportView = z
  .object({
    discord_user_id: Snowflake,
    made_at: Timestamp,
    authorization: AuthorizationPart,
    sessions: section(SessionPart, "The times the person was asked, newest first"),
    servers: section(ServerPart, "The servers of the person's list that are stored readable").extend({
      listed: z.int().nonnegative().meta({ description: "Further servers that are stored as an unreadable code only" }),
    }),
    matches: section(MatchPart, "What the servers or records of the person led to"),
    linked_accounts: section(LinkPart, "That another account was confirmed or declared to belong to the person; not which"),
    requests: section(RequestPart, "Requests the person filed or that are about them; confidential ones are left out"),
    blacklist: section(BlacklistPart, "Blacklist records about the person"),
    cases: section(CasePart, "Cases about the person, without what staff wrote in them; confidential ones are left out"),
    messages: section(
      MessagePart,
      "Messages the person wrote that staff kept as evidence, also with a reply to them; confidential ones are left out",
    ),
    staff: StaffPart,
    memberships: section(MemberPart, "What is stored of the person as a member of a Discord server of the community"),
    native_actions: section(NativeActionPart, "What moderators did to the person in Discord itself; who did it and why is the staff's"),
    reads: section(ReadPart, "Who looked at the person's shared information, of the last 90 days"),
    audit: section(AuditPart, "What was done that concerned the person"),
  })
  .meta({ id: "DataExport", description: "Everything stored about one person that they may have" });
export type DataExportView = z.infer<typeof DataExportView>;

export const RedactInput = z
  .strictObject({
    reason: z
      .string()
      .trim()
      .min(10)
      .max(1000)
      .meta({ description: "Why; kept in the audit", example: "Asked for by the person by mail." }),
    suppress: z.boolean().default(true).meta({ description: "Whether the person is never to be asked for access again" }),
  })
  .meta({ id: "RedactInput" });
export type RedactInput = z.input<typeof RedactInput>;

const count = z.int().nonnegative();

export const ErasureView = z
  .object({
    discord_user_id: Snowflake,
    kind: z.enum(["deletion", "redaction"]),
    erased_at: Timestamp,
    deleted: z
      .object({
        authorization: count,
        sessions: count,
        servers: count,
        matches: count,
        reads: count,
        sign_ins: count,
        links: count,
        staff: count.meta({ description: "Profile, personal permission entries and guild membership" }),
        names: count.meta({ description: "Places from which a name of the person or a text about them is gone" }),
        audit_details: count.meta({ description: "Audit entries whose details are gone; the entries themselves stay" }),
      })
      .meta({ description: "How many of each are gone" }),
    kept: z.array(z.string()).meta({ description: "What stays, in plain words" }),
    suppressed: z.boolean().meta({ description: "Whether the person is never asked for access again" }),
  })
  .meta({ id: "Erasure", description: "What was deleted of one person" });
export type ErasureView = z.infer<typeof ErasureView>;
