import { say } from "../../kit/say.ts";
import { severities } from "../../kernel/vocabulary.ts";
import { z } from "zod";
import { listQuery, redacted, Snowflake, Timestamp, UserRef, text } from "../../kernel/fields.ts";

export const matchKinds = [
  "server_blacklist",
  "user_blacklist",
  "alt_of_blacklisted",
  "no_poach",
  "prior_denial",
  "merged_server",
  "watch",
] as const;
export type MatchKind = (typeof matchKinds)[number];

export const matchStatuses = ["grace", "open", "acknowledged", "confirmed", "dismissed", "exempt", "cleared", "expired", "void"] as const;
export type MatchStatus = (typeof matchStatuses)[number];

/** What a person can decide about a match. */
export const resolutionOutcomes = ["acknowledge", "confirm", "dismiss", "exempt", "reopen"] as const;
export type ResolutionOutcome = (typeof resolutionOutcomes)[number];

export const UserIdParams = z.object({ discord_user_id: Snowflake });

export const ListServersQuery = z.strictObject({ ...listQuery }).meta({ id: "ListServersQuery" });
export type ListServersQuery = z.input<typeof ListServersQuery>;

export const ListMatchesQuery = z
  .strictObject({
    ...listQuery,
    status: z.enum(matchStatuses).optional().meta({ description: "Only matches in this status", example: "open" }),
    kind: z.enum(matchKinds).optional().meta({ description: "Only matches of this kind", example: "server_blacklist" }),
  })
  .meta({ id: "ListMatchesQuery" });
export type ListMatchesQuery = z.input<typeof ListMatchesQuery>;

export const MatchIdParams = z.object({
  discord_user_id: Snowflake,
  match_id: z.string().min(1).max(64).meta({ description: "Id of the match", example: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f" }),
});

export const ResolveMatchInput = z
  .strictObject({
    outcome: z.enum(resolutionOutcomes).meta({ description: "What is decided; `reopen` takes an earlier decision back" }),
    reason: text(3, 1000).meta({ description: "Why; kept with the match and in the audit" }),
    until: Timestamp.optional().meta({ description: "Of `exempt` only: when it ends, a year from now at most; absent: it does not end" }),
    revision: z.int().positive().optional().meta({ description: "The revision the decision is about, like If-Match" }),
  })
  .refine((input) => input.until === undefined || input.outcome === "exempt", {
    path: ["until"],
    message: say("intelligence.only-an-exemption-has-an-end"),
  })
  .meta({ id: "ResolveMatchInput" });
export type ResolveMatchInput = z.input<typeof ResolveMatchInput>;

export const MatchResolution = z
  .object({
    outcome: z.enum(["acknowledge", "confirm", "dismiss", "exempt"]),
    by: Snowflake.nullable().meta({ description: "null: decided by a client itself" }),
    at: Timestamp,
    reason: z.string(),
    until: Timestamp.optional().meta({ description: "When the exemption ends" }),
  })
  .meta({ id: "MatchResolution", description: "What a person decided about a match" });

export const ServerRef = z
  .object({
    id: Snowflake,
    name_snapshot: z.string().optional().meta({ description: "The name as last told; text of strangers" }),
    icon: z.string().nullable().optional(),
    status: z
      .enum(["known", "partner", "member", "watched", "blacklisted", "merged", "defunct"])
      .optional()
      .meta({ description: "Needs servers.read; `blacklisted` needs blacklist.read, too" }),
    merged_into: Snowflake.optional(),
  })
  .meta({ id: "ServerRef", description: "A Discord server as an answer shows it" });
export type ServerRef = z.infer<typeof ServerRef>;

export const UserServerView = z
  .object({
    server: ServerRef,
    relation: z.object({
      is_owner: z.boolean(),
      can_manage: z.boolean().meta({ description: "The person may change the server's settings" }),
      is_member: z.boolean().meta({ description: "False once the server was missing from the person's list" }),
      joined_seen_first_at: Timestamp.meta({ description: "When the membership was first seen, not when it began" }),
      last_seen_at: Timestamp,
      left_at: Timestamp.optional().meta({ description: "When the membership was first missed" }),
    }),
    tags: z.array(z.string()).optional().meta({ description: "From the register; needs servers.read" }),
    agreements: z.array(z.string()).optional().meta({ description: "Ids of agreements in force; needs servers.read" }),
    blacklist_id: z.string().nullable().optional().meta({ description: "The record in force; only for holders of blacklist.read" }),
    redacted,
  })
  .meta({ id: "UserServer", description: "One server of a person's approved list" });
export type UserServerView = z.infer<typeof UserServerView>;

/** What the list of a person's servers says besides how fresh it is. */
export const UserServersNotes = z.object({
  unlisted_count: z
    .int()
    .min(0)
    .optional()
    .meta({ description: "How many servers are kept as hashes alone; only for holders of users.servers.read_unlisted_count" }),
});

export const MatchView = z
  .object({
    id: z.string(),
    user: UserRef,
    kind: z.enum(matchKinds),
    record_ref: z
      .string()
      .optional()
      .meta({ description: "Reference of the record behind the match; only for holders of blacklist.read", example: "BL-000012" }),
    server: ServerRef.optional(),
    via_user_id: Snowflake.optional().meta({
      description: "The linked account the record names; only for holders of users.links.read",
    }),
    severity: z.enum(severities),
    confidence: z.int().min(0).max(100),
    status: z.enum(matchStatuses),
    why: z.array(z.object({ rule: z.string(), detail: z.string() })).meta({ description: "The rules that made the match" }),
    suggested_action: z.string().nullable(),
    first_seen_at: Timestamp,
    last_seen_at: Timestamp,
    closed_at: Timestamp.nullable(),
    grace_until: Timestamp.nullable().meta({ description: "Until then the person may leave the server without further consequence" }),
    resolution: MatchResolution.nullable(),
    revision: z.int().positive(),
    redacted,
  })
  .meta({ id: "Match", description: "A hit of a person against a record" });
export type MatchView = z.infer<typeof MatchView>;
