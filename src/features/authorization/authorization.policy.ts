import { z } from "zod";
import type { Authorization, AuthorizationSession } from "../../generated/sqlite/client.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { authorizationStatuses, type AuthorizationStatus, type ServerDetail } from "./authorization.schema.ts";

/** Permissions of this feature. */
export const authorizationPermissions = {
  create: "authorize.create",
  read: "users.authorization.read",
  revoke: "authorize.revoke",
  refresh: "users.refresh",
  force: "users.refresh.force",
} as const;

/** The words of the consent page; a new number whenever they change what a person agrees to. */
export const consentVersion = "2";

/** How long a grant and the servers read with it are kept after the last refresh. */
export const retentionDays = 30;
/** How long an ended session is kept. */
export const sessionRetentionDays = 7;
/** When a grant in force counts as stale. */
const staleDays = 7;
/** From when the service itself refreshes a person somebody needs, so that nobody becomes stale meanwhile. */
export const refreshDueDays = 6;
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

/** The detail that keeps less: what a person agreed to, or what the operator allows by now. */
export function leastDetail(agreed: string, allowed: ServerDetail): ServerDetail {
  return agreed === "full" ? allowed : "listed";
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
  /** The session that ended last, among them one whose time is over. */
  ended: AuthorizationSession | null;
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
