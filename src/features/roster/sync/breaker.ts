import type { Database } from "../../../database/database.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { liveStatuses } from "../states.ts";

/** So many may change in ten minutes however small the roster is. */
const always = 5;
const share = 0.2;
const windowMs = 600_000;

/** What may change by itself at the moment. */
export interface Allowance {
  live: number;
  /** More people than this are not changed within ten minutes. */
  limit: number;
  /** Those who were changed by what Discord shows in the last ten minutes, unless somebody asked for it. */
  changed: ReadonlySet<string>;
  /** Whether there is no entry yet but those the filling has just begun with: what Discord shows is what the roster begins with. */
  isFirstFilling: boolean;
}

/** The most people whose entries may change by themselves within ten minutes: a fifth of those on the roster. */
export function limitFor(live: number): number {
  return Math.max(always, share * live);
}

/** Whether changing these people would be too much at once. */
export function isTooMuch({ limit, changed, isFirstFilling }: Allowance, userIds: readonly string[]): boolean {
  return !isFirstFilling && new Set([...changed, ...userIds]).size > limit;
}

/** Counts what Discord has changed lately. `countFrom` leaves out what came before. */
export function createBreaker(database: Database, clock: Clock) {
  let from = 0;
  return {
    /** The first filling of the roster is no change of it. */
    countFrom: (at: Date): void => void (from = at.getTime()),

    async allowance(): Promise<Allowance> {
      const { rosterEntry, rosterEvent } = database.read;
      const began = new Date(clock.now().getTime() - windowMs);
      const since = new Date(Math.max(from, began.getTime()));
      const where = { source: "discord", actorId: null, recordedAt: { gt: since } };
      const isOther = [{ event: { not: "hired" } }, { source: { not: "discord" } }, { actorId: { not: null } }];
      const [live, first, lines, other] = await Promise.all([
        rosterEntry.count({ where: { status: { in: [...liveStatuses] } } }),
        rosterEntry.findFirst({ select: { id: true } }),
        rosterEvent.findMany({ where, distinct: ["userId"], select: { userId: true } }),
        rosterEvent.findFirst({ where: { OR: [...isOther, { recordedAt: { lte: began } }] }, select: { id: true } }),
      ]);
      // Members become known part by part: the filling goes on for as long as lines count, also after a restart.
      const isFirstFilling = first === null || other === null;
      return { live, limit: limitFor(live), changed: new Set(lines.map(({ userId }) => userId)), isFirstFilling };
    },
  };
}
