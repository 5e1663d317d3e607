import type { Database } from "../../database/database.ts";
import type { Call } from "../../kernel/call.ts";
import { addSeconds, type Clock } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import type { Status } from "../workflows/state/table.ts";
import { daysBefore, refreshDueDays } from "./authorization.policy.ts";
import type { RefreshService } from "./refresh/refresh.service.ts";

export interface RefreshDueService {
  /** Refresh people an open request is about before they become stale; nobody else is refreshed unasked. Answers how many were. */
  refreshDue(call: Call): Promise<number>;
}

export interface RefreshDueDeps {
  database: Database;
  clock: Clock;
  refresh: RefreshService["refresh"];
}

const openStatuses: readonly Status[] = ["pending", "in_review", "needs_info", "escalated"];
const atOnce = 5;
const pauseSeconds = 3600;
/** As many ids as one statement takes on every database. */
const idsAtOnce = 500;

export function createRefreshDue({ database, clock, refresh }: RefreshDueDeps): RefreshDueService {
  const { read } = database;
  /** Who could not be refreshed, and from when it is tried again. */
  const pausing = new Map<string, Date>();

  /** Grants in force that nobody refreshed for days, oldest first, of people an open request is about. */
  async function findDue(now: Date): Promise<string[]> {
    const stale = { status: "active", expiresAt: { gt: now }, refreshedAt: { lt: daysBefore(now, refreshDueDays) } };
    if ((await read.authorization.findFirst({ where: stale, select: { userId: true } })) === null) return [];
    const subjects = await read.workflowSubject.findMany({
      where: { kind: "user", request: { status: { in: [...openStatuses] } } },
      distinct: ["subjectId"],
      select: { subjectId: true },
    });
    const ids = subjects.map(({ subjectId }) => subjectId).filter((id) => !pausing.has(id));
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
      for (const userId of await findDue(now)) {
        try {
          await refresh(call, userId, { reason: "An open request is about this person." });
          refreshed += 1;
        } catch (error) {
          if (!(error instanceof ProblemError)) throw error;
          pausing.set(userId, addSeconds(now, pauseSeconds));
          if (error.code === "discord_unavailable") break;
        }
      }
      return refreshed;
    },
  };
}
