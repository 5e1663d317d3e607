import { z } from "zod";
import { listQuery, redacted, Snowflake, Timestamp, UserRef } from "../../kernel/fields.ts";
import { severities } from "./match-record.ts";

export const matchKinds = [
  "server_blacklist",
  "user_blacklist",
  "alt_of_blacklisted",
  "no_poach",
  "prior_denial",
  "merged_server",
  "watch",
] as const;

export const matchStatuses = ["grace", "open", "acknowledged", "confirmed", "dismissed", "exempt", "cleared", "expired", "void"] as const;
export type MatchStatus = (typeof matchStatuses)[number];

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

export const ServerRef = z
  .object({
    id: Snowflake,
    name_snapshot: z.string().optional().meta({ description: "The name as last told; text of strangers" }),
    icon: z.string().nullable().optional(),
    status: z
      .enum(["known", "partner", "member", "watched", "blacklisted", "merged", "defunct"])
      .optional()
      .meta({ description: "Only for holders of blacklist.read" }),
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
    tags: z.array(z.string()),
    agreements: z.array(z.string()),
    blacklist_id: z.string().nullable().optional().meta({ description: "The record in force; only for holders of blacklist.read" }),
    redacted,
  })
  .meta({ id: "UserServer", description: "One server of a person's approved list" });
export type UserServerView = z.infer<typeof UserServerView>;

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
    severity: z.enum(severities),
    confidence: z.int().min(0).max(100),
    status: z.enum(matchStatuses),
    why: z.array(z.object({ rule: z.string(), detail: z.string() })).meta({ description: "The rules that made the match" }),
    suggested_action: z.string().nullable(),
    first_seen_at: Timestamp,
    last_seen_at: Timestamp,
    closed_at: Timestamp.nullable(),
    grace_until: Timestamp.nullable().meta({ description: "Until then the person may leave the server without further consequence" }),
    resolution: z.object({ by: Snowflake, at: Timestamp, reason: z.string() }).nullable(),
    revision: z.int().positive(),
    redacted,
  })
  .meta({ id: "Match", description: "A hit of a person against a record" });
export type MatchView = z.infer<typeof MatchView>;
