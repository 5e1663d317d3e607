import type { Database } from "../../database/database.ts";
import type { DiscordOAuth } from "../../discord/oauth.ts";
import type { Authorization } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { MatchesService } from "../intelligence/matches.service.ts";
import type { UserServersService } from "../intelligence/user-servers.service.ts";
import { daysBefore, retentionDays, sessionRetentionDays } from "./authorization.policy.ts";
import { revokeQuietly } from "./flow.finish.ts";
import type { GrantsStore } from "./grants.store.ts";
import { endSession } from "./sessions.service.ts";

/** What one sweep did. */
export interface Swept {
  sessions_expired: number;
  sessions_deleted: number;
  grants_expired: number;
}

export interface SweepService {
  /** Expire sessions and grants whose time is over, and forget what is past its retention; a bounded part at a time. */
  sweep(call: Call): Promise<Swept>;
}

export interface SweepDeps {
  database: Database;
  audit: Pick<AuditService, "record">;
  oauth: DiscordOAuth;
  store: GrantsStore;
  servers: Pick<UserServersService, "store">;
  matches: Pick<MatchesService, "recomputeUser">;
  clock: Clock;
}

const sessionsAtOnce = 200;
const grantsAtOnce = 20;

export function createSweepService(deps: SweepDeps): SweepService {
  return {
    async sweep(call) {
      const now = deps.clock.now();
      return {
        sessions_expired: await expireSessions(deps, call, now),
        sessions_deleted: await deleteSessions(deps, call, now),
        grants_expired: await expireGrants(deps, call, now),
      };
    },
  };
}

async function expireSessions({ database, audit }: SweepDeps, call: Call, now: Date): Promise<number> {
  const due = await database.read.authorizationSession.findMany({
    where: { status: { in: ["pending", "opened"] }, expiresAt: { lte: now } },
    take: sessionsAtOnce,
  });
  if (due.length === 0) return 0;
  return database.write(call, async (tx) => {
    let expired = 0;
    for (const session of due) if (await endSession(tx, audit, session, { status: "expired" })) expired += 1;
    return expired;
  });
}

async function deleteSessions({ database }: SweepDeps, call: Call, now: Date): Promise<number> {
  const where = { endedAt: { lte: daysBefore(now, sessionRetentionDays) } };
  if ((await database.read.authorizationSession.findFirst({ where, select: { id: true } })) === null) return 0;
  return database.write(call, async (tx) => (await tx.db.authorizationSession.deleteMany({ where })).count);
}

/** A grant nobody refreshed for the whole retention, or that was lost that long ago: its servers and tokens go. */
async function expireGrants(deps: SweepDeps, call: Call, now: Date): Promise<number> {
  const due = await deps.database.read.authorization.findMany({
    where: {
      OR: [
        { status: "active", expiresAt: { lte: now } },
        { status: "reauthorization_required", endedAt: { lte: daysBefore(now, retentionDays) } },
      ],
    },
    take: grantsAtOnce,
  });
  let expired = 0;
  for (const grant of due) if (await expireGrant(deps, call, grant)) expired += 1;
  return expired;
}

async function expireGrant(
  { database, audit, oauth, store, servers, matches }: SweepDeps,
  call: Call,
  grant: Authorization,
): Promise<boolean> {
  const { userId, status, revision } = grant;
  const tokens = store.open(grant);
  const isExpired = await database.write(call, async (tx) => {
    const { count } = await tx.db.authorization.updateMany({
      where: { userId, status, revision },
      data: { status: "expired", accessToken: null, refreshToken: null, tokenExpiresAt: null, endedAt: tx.now, revision: { increment: 1 } },
    });
    if (count === 0) return false;
    await servers.store(tx, userId, null);
    await matches.recomputeUser(tx, userId);
    audit.record(tx, {
      action: "authorization.expire",
      target: { kind: "authorization", id: userId },
      subjectUserId: userId,
      before: { status },
      after: { status: "expired" },
    });
    return true;
  });
  if (isExpired && tokens !== null) await revokeQuietly(oauth, tokens.accessToken);
  return isExpired;
}
