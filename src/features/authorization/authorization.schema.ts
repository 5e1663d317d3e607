import { say } from "../../kit/say.ts";
import { authorizationPurposes, serverDetails } from "../../kernel/vocabulary.ts";
import { z } from "zod";
import { anyCase, redacted, Snowflake, Timestamp } from "../../kernel/fields.ts";

export type Purpose = (typeof authorizationPurposes)[number];

export const scopes = ["identify", "guilds", "guilds.members.read"] as const;
export type Scope = (typeof scopes)[number];

export type ServerDetail = (typeof serverDetails)[number];

/** Why a session failed. */
export const sessionFailures = ["wrong_account", "scope_missing", "discord_error", "state_invalid"] as const;
export type SessionFailure = (typeof sessionFailures)[number];

/** How a session can have ended. */
export const endedStatuses = ["authorized", "declined", "expired", "cancelled", "failed"] as const;

export const CreateSessionInput = z
  .strictObject({
    discord_user_id: Snowflake.meta({ description: "Who is asked for access" }),
    purpose: z.enum(authorizationPurposes).default("verification").meta({ description: "Shown to the user as the reason" }),
    scopes: z
      .array(z.enum(scopes))
      .max(scopes.length)
      .default(["identify", "guilds"])
      .meta({ description: "What Discord is asked for; `identify` is always included" }),
    detail: z.enum(serverDetails).optional().meta({
      description:
        "How much of the server list stays readable: `full` keeps all of it, encrypted; `listed` only servers the community has registered, watches or has blacklisted. The installation's own setting (`SERVER_DETAIL`) unless told, and never more than that.",
    }),
    request_reference: z
      .string()
      .regex(anyCase(/^[a-z][a-z0-9]{1,10}-REQ-\d{6,12}$/), say("authorization.write-a-reference-such-as-rec-req"))
      .transform((reference) => reference.toUpperCase())
      .optional()
      .meta({ description: "The workflow request this is for", example: "REC-REQ-000001" }),
    locale: z
      .string()
      .regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})?$/, say("authorization.write-a-locale-such-as-en-or"))
      .optional()
      .meta({
        description: "The language of the pages that the user sees. Where the pages lack it, and without it, the browser's own counts",
        example: "en",
      }),
    return_to: z
      .string()
      .max(64)
      .optional()
      .meta({ description: "Name of a return address of the operator's list (`RETURN_TO`); never an address itself" }),
    ttl_minutes: z.int().min(5).max(60).default(15).meta({ description: "How long the address works" }),
  })
  .meta({ id: "CreateSessionInput", description: "Whom to ask for access, for what and how much" });
export type CreateSessionInput = z.input<typeof CreateSessionInput>;

export const SessionCreatedView = z
  .object({
    success: z.literal(true),
    id: z.uuid(),
    url: z.url().meta({ description: "Send this address to the user; it works once" }),
    status: z.literal("pending"),
    expires_at: Timestamp,
  })
  .meta({ id: "AuthorizationSessionCreated", description: "The new session" });
export type SessionCreatedView = z.infer<typeof SessionCreatedView>;

export const UserIdParams = z.object({ discord_user_id: Snowflake });

export const authorizationStatuses = [
  "none",
  "pending",
  "active",
  "stale",
  "expired",
  "revoked",
  "declined",
  "reauthorization_required",
] as const;
export type AuthorizationStatus = (typeof authorizationStatuses)[number];

export const AuthorizationView = z
  .object({
    discord_user_id: Snowflake,
    status: z.enum(authorizationStatuses).meta({ description: "`stale`: in force, but last refreshed more than seven days ago" }),
    scopes: z.array(z.string()),
    granted_at: Timestamp.nullable(),
    expires_at: Timestamp.nullable().meta({ description: "When the grant ends unless it is refreshed before" }),
    last_refreshed_at: Timestamp.nullable(),
    next_refresh_at: Timestamp.nullable().meta({ description: "From when a refresh is accepted; null without a grant in force" }),
    consent_version: z.string().nullable(),
    purposes: z.array(z.string()),
    servers_seen_count: z.int().nonnegative(),
    session: z
      .object({
        id: z.uuid(),
        status: z.enum(["pending", "opened"]),
        purpose: z.enum(authorizationPurposes),
        created_at: Timestamp,
        expires_at: Timestamp,
      })
      .optional()
      .meta({ description: "The latest open session" }),
    last_session: z
      .object({
        id: z.uuid(),
        status: z.enum(endedStatuses),
        failure: z.enum(sessionFailures).nullable().meta({ description: "`wrong_account`: another account than the one asked answered" }),
        ended_at: Timestamp,
      })
      .optional()
      .meta({ description: "The session that ended last, of the past seven days; not shown to the person themself" }),
    revision: z.int().nonnegative().meta({ description: "Of the grant; 0 when there never was one" }),
    redacted,
  })
  .meta({ id: "AuthorizationStatus", description: "What a user has granted, and what is being asked" });
export type AuthorizationView = z.infer<typeof AuthorizationView>;

export const RevokeInput = z
  .strictObject({ reason: z.string().trim().min(1).max(1000).optional().meta({ description: "Kept in the audit" }) })
  .meta({ id: "RevokeAuthorizationInput" });
export type RevokeInput = z.input<typeof RevokeInput>;

export const RefreshInput = z
  .strictObject({
    reason: z.string().trim().min(1).max(1000).optional().meta({ description: "Kept in the audit" }),
    force: z.boolean().default(false).meta({ description: "Ignore the cool-down; needs users.refresh.force" }),
  })
  .meta({ id: "RefreshInput" });
export type RefreshInput = z.input<typeof RefreshInput>;

export const RefreshView = z
  .object({
    status: z.enum(authorizationStatuses),
    refreshed_at: Timestamp,
    servers: z.object({ added: z.int(), removed: z.int(), total: z.int() }),
    matches: z.object({ opened: z.int(), closed: z.int() }),
    next_refresh_at: Timestamp,
  })
  .meta({ id: "Refresh", description: "What a refresh found" });
export type RefreshView = z.infer<typeof RefreshView>;
