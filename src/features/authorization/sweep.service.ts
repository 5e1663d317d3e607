import { say } from "../../kit/say.ts";
import type { Logger } from "pino";
import type { Deps } from "../deps.ts";
import { earliestOf, firstOf } from "../../database/earliest.ts";
import type { Authorization, AuthorizationSession } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { daysBefore, retentionDays, retentionEnd, sessionRetentionDays, refreshDueDays } from "./authorization.policy.ts";
import { endGrant, type EndDeps } from "./revoke.service.ts";
import { lockGrant } from "./grants/store.ts";
import { endSession } from "./sessions/end.ts";
import { forEachIsolated, partByPart, requireNoneFailed, sweepIsolated } from "../../kernel/isolated.ts";
import { ProblemError } from "../../kernel/errors.ts";
import type { Status } from "../workflows/state/table.ts";
import type { RefreshService } from "./refresh/refresh.service.ts";

/** What one sweep did. */
export interface Swept {
  sessions_expired: number;
  sessions_deleted: number;
  grants_expired: number;
  grants_deleted: number;
  grants_refreshed: number;
  /** How often Discord was told at last that a grant is over. */
  revocations_told: number;
}

export interface SweepService {
  /**
   * Expire sessions and grants whose time is over, forget what is past its retention, refresh whom somebody needs, and tell Discord
   * what it could not be told before; a bounded part at a time.
   */
  sweep(call: Call): Promise<Swept>;
  /** When the next session or grant expires. */
  nextDue(): Promise<Date | null>;
}

export interface SweepDeps extends EndDeps, Deps<"database" | "audit" | "events" | "clock"> {
  refreshDue: RefreshDueService["refreshDue"];
  logger: Logger;
}

const sessionsAtOnce = 200;
const grantsAtOnce = 20;
/** In seconds: sessions that have been over for longer wait for the minute, and are not looked for among those that were ended. */
const lateSeconds = 3600;

export function createSweepService(deps: SweepDeps): SweepService {
  return {
    async sweep(call) {
      const now = deps.clock.now();
      return await partByPart({
        sessions_expired: () => expireSessions(deps, call, now),
        sessions_deleted: () => deleteSessions(deps, call, now),
        grants_expired: () => expireGrants(deps, call, now),
        grants_deleted: () => deleteGrants(deps, call, now),
        revocations_told: () => deps.revocations.tasks.runDue(call),
        grants_refreshed: () => deps.refreshDue(call),
      });
    },

    async nextDue() {
      const { read } = deps.database;
      const expiresAt = { gt: addSeconds(deps.clock.now(), -lateSeconds) };
      const open = [
        { status: "pending", expiresAt },
        { status: "opened", expiresAt },
      ];
      const refreshedAt = await earliestOf(read, "Authorization", "refreshedAt", [{ status: "active" }]);
      const session = await earliestOf(read, "AuthorizationSession", "expiresAt", open);
      return firstOf(session, refreshedAt && retentionEnd(refreshedAt));
    },
  };
}

async function expireSessions(deps: SweepDeps, call: Call, now: Date): Promise<number> {
  const { database, logger } = deps;
  return await sweepIsolated<AuthorizationSession>({
    size: sessionsAtOnce,
    find: (after) => {
      const behind = after && { OR: [{ expiresAt: { gt: after.expiresAt } }, { expiresAt: after.expiresAt, id: { gt: after.id } }] };
      return database.read.authorizationSession.findMany({
        where: { status: { in: ["pending", "opened"] }, expiresAt: { lte: now }, ...behind },
        orderBy: [{ expiresAt: "asc" }, { id: "asc" }],
        take: sessionsAtOnce,
      });
    },
    work: (due) =>
      database.write(call, async (tx) => {
        let expired = 0;
        for (const session of due) if (await endSession(tx, deps, session, { status: "expired" })) expired += 1;
        return expired;
      }),
    logger,
    failure: "a session that is over could not be ended; it is tried again in a minute",
    idsOf: ({ id }) => ({ authorization_session: id }),
  });
}

async function deleteSessions({ database }: SweepDeps, call: Call, now: Date): Promise<number> {
  const where = { endedAt: { lte: daysBefore(now, sessionRetentionDays) } };
  if ((await database.read.authorizationSession.findFirst({ where, select: { id: true } })) === null) return 0;
  return database.write(call, async (tx) => (await tx.db.authorizationSession.deleteMany({ where })).count);
}

/** That there was a grant is forgotten as long after its end as its servers were kept; the audit tells of it. */
async function deleteGrants({ database, consentEnds, logger }: SweepDeps, call: Call, now: Date): Promise<number> {
  const where = { status: { in: ["expired", "revoked"] }, endedAt: { lte: daysBefore(now, retentionDays) } };
  return await sweepIsolated<{ userId: string }>({
    size: sessionsAtOnce,
    find: (after) =>
      database.read.authorization.findMany({
        where: { ...where, ...(after !== undefined && { userId: { gt: after.userId } }) },
        select: { userId: true },
        orderBy: { userId: "asc" },
        take: sessionsAtOnce,
      }),
    work: (due) =>
      database.write(call, async (tx) => {
        for (const { userId } of due) await consentEnds.end(tx, { userId });
        return (await tx.db.authorization.deleteMany({ where: { ...where, userId: { in: due.map(({ userId }) => userId) } } })).count;
      }),
    logger,
    failure: "a grant that was over long ago could not be forgotten; it is tried again in a minute",
    idsOf: ({ userId }) => ({ user_id: userId }),
  });
}

/** A grant nobody refreshed for the whole retention, or that was lost that long ago: its servers and tokens go. */
async function expireGrants(deps: SweepDeps, call: Call, now: Date): Promise<number> {
  let expired = 0;
  /** One that cannot be ended is passed over: what is bounded is how many end. */
  async function* due(): AsyncGenerator<Authorization> {
    for (let after = ""; ;) {
      const page = await deps.database.read.authorization.findMany({
        where: {
          userId: { gt: after },
          OR: [
            { status: "active", expiresAt: { lte: now } },
            { status: "reauthorization_required", endedAt: { lte: daysBefore(now, retentionDays) } },
          ],
        },
        orderBy: { userId: "asc" },
        take: grantsAtOnce,
      });
      yield* page;
      if (page.length < grantsAtOnce || expired >= grantsAtOnce) return;
      after = page.at(-1)?.userId ?? "";
    }
  }
  const idsOf = ({ userId }: Authorization) => ({ user_id: userId });
  const isolation = { logger: deps.logger, failure: "a grant that is over could not be ended; it is tried again in a minute", idsOf };
  const work = async (grant: Authorization): Promise<void> => void (expired += (await expireGrant(deps, call, grant)) ? 1 : 0);
  requireNoneFailed(await forEachIsolated(due(), work, isolation));
  return expired;
}

async function expireGrant(deps: SweepDeps, call: Call, grant: Authorization): Promise<boolean> {
  const { userId, status } = grant;
  const isExpired = await deps.database.write(call, async (tx) => {
    await lockGrant(tx, userId);
    const gone = await endGrant(tx, deps, grant, "expired");
    if (gone === null) return false;
    deps.audit.record(tx, {
      action: "authorization.expire",
      target: { kind: "authorization", id: userId },
      subjectUserId: userId,
      before: { status },
      after: { status: "expired" },
    });
    deps.events.emit(tx, { type: "authorization.expired", data: { user_id: userId } });
    return true;
  });
  if (isExpired) await deps.revocations.tell(call, userId);
  return isExpired;
}

export interface RefreshDueService {
  /** Refresh people an open request is about before they become stale; nobody else is refreshed unasked. Answers how many were. */
  refreshDue(call: Call): Promise<number>;
}

export interface RefreshDueDeps extends Deps<"database" | "clock" | "logger"> {
  refresh: RefreshService["refresh"];
}

const openStatuses: readonly Status[] = ["pending", "in_review", "needs_info", "escalated"];
const atOnce = 5;
const pauseSeconds = 3600;
/** As many ids as one statement takes on every database. */
const idsAtOnce = 500;

export function createRefreshDue({ database, clock, refresh, logger }: RefreshDueDeps): RefreshDueService {
  const { read } = database;
  /** Who could not be refreshed, and from when it is tried again. */
  const pausing = new Map<string, Date>();

  /** Grants in force that nobody refreshed for days, oldest first, of people an open request is about. */
  async function findDue(now: Date): Promise<string[]> {
    const stale = { status: "active", expiresAt: { gt: now }, refreshedAt: { lt: daysBefore(now, refreshDueDays) } };
    if ((await read.authorization.findFirst({ where: stale, select: { userId: true } })) === null) return [];
    // By the requests, which an index knows: most people are the subject of none that is open.
    const open = await read.workflowRequest.findMany({
      where: { status: { in: [...openStatuses] } },
      select: { subjects: { where: { kind: "user" }, select: { subjectId: true } } },
    });
    const subjects = new Set(open.flatMap((request) => request.subjects.map(({ subjectId }) => subjectId)));
    const ids = [...subjects].filter((id) => !pausing.has(id));
    const due: { userId: string; refreshedAt: Date | null }[] = [];
    for (let from = 0; from < ids.length; from += idsAtOnce) {
      const where = { ...stale, userId: { in: ids.slice(from, from + idsAtOnce) } };
      due.push(...(await read.authorization.findMany({ where, orderBy: { refreshedAt: "asc" }, take: atOnce })));
    }
    const age = ({ refreshedAt }: { refreshedAt: Date | null }): number => refreshedAt?.getTime() ?? 0;
    return due
      .toSorted((a, b) => age(a) - age(b))
      .slice(0, atOnce)
      .map(({ userId }) => userId);
  }

  return {
    async refreshDue(call) {
      const now = clock.now();
      for (const [userId, until] of pausing) if (until <= now) pausing.delete(userId);
      let refreshed = 0;
      const outage = new AbortController();
      const work = async (userId: string): Promise<void> => {
        try {
          await refresh(call, userId, { reason: say("authorization.an-open-request-is-about-this-person") });
          refreshed += 1;
        } catch (error) {
          pausing.set(userId, addSeconds(now, pauseSeconds));
          if (!(error instanceof ProblemError)) throw error;
          if (error.code === "discord_unavailable") outage.abort();
        }
      };
      const failure = "somebody an open request is about could not be refreshed; it is tried again in an hour";
      const isolation = { logger, failure, idsOf: (userId: string) => ({ user_id: userId }), signal: outage.signal };
      requireNoneFailed(await forEachIsolated(await findDue(now), work, isolation));
      return refreshed;
    },
  };
}
