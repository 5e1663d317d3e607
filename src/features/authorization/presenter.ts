import { z } from "zod";
import type { AuthorizationSession } from "../../generated/sqlite/client.ts";
import { can, type Call } from "../../kernel/call.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import { createVisibility, noClearance, seesRedactions, type FieldClasses } from "../../kernel/visibility.ts";
import { textsOf } from "../../kernel/parsing.ts";
import { authorizationPermissions, isInForce, nextRefreshAt, statusOf, type AuthorizationState } from "./authorization.policy.ts";
import { authorizationPurposes } from "../../kernel/vocabulary.ts";
import { endedStatuses, sessionFailures, type AuthorizationView } from "./authorization.schema.ts";
import type { ReadClient, TransactionClient } from "../../database/database.ts";

/** What of a status is for whom: nearly all of it for anyone who may ask, the person themself included. */
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
  last_session: "staff",
  revision: "public",
};
const visible = createVisibility(fields);

/** A status as this viewer sees it. */
export function presentAuthorization(call: Call, state: AuthorizationState, cooldownSeconds: number, now: Date): AuthorizationView {
  const clearance = { ...noClearance, staff: can(call, authorizationPermissions.read) };
  return visible(viewOf(state, cooldownSeconds, now), clearance, seesRedactions(call));
}

function viewOf(state: AuthorizationState, cooldownSeconds: number, now: Date): AuthorizationView {
  const { userId, grant, open, ended, serversSeen } = state;
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
    ...(ended !== null && { last_session: presentEndedSession(ended) }),
    revision: grant?.revision ?? 0,
  };
}

function presentOpenSession(session: AuthorizationSession): NonNullable<AuthorizationView["session"]> {
  return {
    id: session.id,
    status: session.status === "opened" ? "opened" : "pending",
    purpose: z.enum(authorizationPurposes).parse(session.purpose),
    created_at: session.createdAt.toISOString(),
    expires_at: session.expiresAt.toISOString(),
  };
}

/** Nobody has to have swept for a session to be over. */
function presentEndedSession({
  id,
  status,
  failure,
  endedAt,
  expiresAt,
}: AuthorizationSession): NonNullable<AuthorizationView["last_session"]> {
  return {
    id,
    status: endedAt === null ? "expired" : z.enum(endedStatuses).parse(status),
    failure: z.enum(sessionFailures).nullable().parse(failure),
    ended_at: (endedAt ?? expiresAt).toISOString(),
  };
}

/** Everything a person's status is made of, as it is now. */
export async function readState(db: ReadClient | TransactionClient, userId: string, now: Date): Promise<AuthorizationState> {
  const waiting = { status: { in: ["pending", "opened"] } };
  const newestFirst = { createdAt: "desc" } as const;
  const [grant, open, latest, ended, lapsed, serversSeen] = await Promise.all([
    db.authorization.findUnique({ where: { userId } }),
    db.authorizationSession.findFirst({ where: { userId, ...waiting, expiresAt: { gt: now } }, orderBy: newestFirst }),
    db.authorizationSession.findFirst({ where: { userId }, orderBy: newestFirst }),
    db.authorizationSession.findFirst({ where: { userId, endedAt: { not: null } }, orderBy: { endedAt: "desc" } }),
    db.authorizationSession.findFirst({ where: { userId, ...waiting, expiresAt: { lte: now } }, orderBy: { expiresAt: "desc" } }),
    db.userServer.count({ where: { userId, leftAt: null } }),
  ]);
  return { userId, grant, open, latest, ended: later(ended, lapsed), serversSeen };
}

function later(ended: AuthorizationSession | null, lapsed: AuthorizationSession | null): AuthorizationSession | null {
  if (ended === null || lapsed === null) return ended ?? lapsed;
  return (ended.endedAt ?? ended.expiresAt) >= lapsed.expiresAt ? ended : lapsed;
}
