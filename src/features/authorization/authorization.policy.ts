import { z } from "zod";
import type { Authorization, AuthorizationSession } from "../../generated/sqlite/client.ts";
import type { Actor, Call } from "../../kernel/call.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import type { FieldClasses } from "../../kernel/visibility.ts";
import { createVisibility, noClearance, seesRedactions } from "../../kernel/visibility.ts";
import type { AuthorizationStatus, AuthorizationView } from "./authorization.schema.ts";
import { authorizationStatuses, purposes } from "./authorization.schema.ts";

/** Permissions of this room. */
export const authorizationPermissions = {
  create: "authorize.create",
  read: "users.authorization.read",
  refresh: "users.refresh",
  force: "users.refresh.force",
} as const;

/** The words of the consent page; a new number whenever they change what a person agrees to. */
export const consentVersion = "1";

/** How long a grant and the servers read with it are kept after the last refresh. */
export const retentionDays = 30;
/** How long an ended session is kept. */
export const sessionRetentionDays = 7;
/** When a grant in force counts as stale. */
const staleDays = 7;
/** Sessions a person may have waiting at once. */
export const maxOpenSessions = 3;

const daySeconds = 86_400;

/** @param from the time of the last refresh */
export function retentionEnd(from: Date): Date {
  return addSeconds(from, retentionDays * daySeconds);
}

/** The time `days` before `now`. */
export function daysBefore(now: Date, days: number): Date {
  return addSeconds(now, -days * daySeconds);
}

/** Whether a grant counts now. */
export function isInForce(grant: Pick<Authorization, "status" | "expiresAt">, now: Date): boolean {
  return grant.status === "active" && (grant.expiresAt === null || grant.expiresAt > now);
}

/** Whether a session still waits for its person. */
export function isOpen(session: Pick<AuthorizationSession, "status" | "expiresAt">, now: Date): boolean {
  return (session.status === "pending" || session.status === "opened") && session.expiresAt > now;
}

export interface AuthorizationState {
  userId: string;
  grant: Authorization | null;
  /** The latest open session. */
  open: AuthorizationSession | null;
  /** The latest session of all. */
  latest: AuthorizationSession | null;
  serversSeen: number;
}

/** A grant in force comes first, then what is being asked, then what was. */
export function statusOf({ grant, open, latest }: Pick<AuthorizationState, "grant" | "open" | "latest">, now: Date): AuthorizationStatus {
  if (grant !== null && isInForce(grant, now))
    return (grant.refreshedAt ?? grant.grantedAt) < daysBefore(now, staleDays) ? "stale" : "active";
  if (open !== null) return "pending";
  if (grant?.status === "active") return "expired";
  if (grant !== null) return z.enum(authorizationStatuses).parse(grant.status);
  return latest?.status === "declined" ? "declined" : "none";
}

/** From when a refresh is accepted. The list read with the grant itself starts no cool-down. */
export function nextRefreshAt(grant: Pick<Authorization, "grantedAt" | "refreshedAt">, cooldownSeconds: number): Date {
  const { grantedAt, refreshedAt } = grant;
  return refreshedAt === null || refreshedAt <= grantedAt ? grantedAt : addSeconds(refreshedAt, cooldownSeconds);
}

/** What of a status is for whom: all of it for whoever may ask, the person themself included. */
const fields: FieldClasses<AuthorizationView> = {
  discord_user_id: "public",
  status: "public",
  scopes: "public",
  granted_at: "public",
  expires_at: "public",
  last_refreshed_at: "public",
  next_refresh_at: "public",
  consent_version: "public",
  purposes: "public",
  servers_seen_count: "public",
  session: "public",
  revision: "public",
};
const visible = createVisibility(fields);

/** A status as this viewer sees it. */
export function presentAuthorization(call: Call, state: AuthorizationState, cooldownSeconds: number, now: Date): AuthorizationView {
  return visible(viewOf(state, cooldownSeconds, now), noClearance, seesRedactions(call));
}

function viewOf(state: AuthorizationState, cooldownSeconds: number, now: Date): AuthorizationView {
  const { userId, grant, open, serversSeen } = state;
  const counts = grant !== null && isInForce(grant, now);
  return {
    discord_user_id: userId,
    status: statusOf(state, now),
    scopes: grant === null ? [] : textsOf(grant.scopes),
    granted_at: isoOrNull(grant?.grantedAt ?? null),
    expires_at: isoOrNull(grant?.expiresAt ?? null),
    last_refreshed_at: isoOrNull(grant?.refreshedAt ?? null),
    next_refresh_at: counts ? nextRefreshAt(grant, cooldownSeconds).toISOString() : null,
    consent_version: grant?.consentVersion ?? null,
    purposes: grant === null ? [] : textsOf(grant.purposes),
    servers_seen_count: counts ? serversSeen : 0,
    ...(open !== null && { session: presentOpenSession(open) }),
    revision: grant?.revision ?? 0,
  };
}

function presentOpenSession(session: AuthorizationSession): NonNullable<AuthorizationView["session"]> {
  return {
    id: session.id,
    status: session.status === "opened" ? "opened" : "pending",
    purpose: z.enum(purposes).parse(session.purpose),
    created_at: session.createdAt.toISOString(),
    expires_at: session.expiresAt.toISOString(),
  };
}

/** The texts of a stored JSON list. */
export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
}

/** The call of somebody at the pages: nobody is signed in until Discord has said who it is, and even they are no staff here. */
export function webCall(requestId: string, userId: string | null = null): Call {
  const decide: Actor["decide"] = () => ({ allowed: false, reasons: [] });
  const actor =
    userId === null
      ? null
      : { id: userId, isStaff: false, isOwner: false, rank: 0, isStale: () => false, decide, heldUntil: () => undefined };
  return { client: null, actor, via: "web", requestId, idempotency: null, replayed: false };
}
