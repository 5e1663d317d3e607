import { isOpenStatus, type openStatuses, type Status } from "../state/table.ts";
import type { NumbersView } from "./stats.schema.ts";
import { statusAt } from "../requests/workflows.policy.ts";

/** What the numbers are made from. */
export interface CountedRow {
  status: string;
  createdAt: Date;
  firstTouchedAt: Date | null;
  decidedAt: Date | null;
  dueDecisionAt: Date | null;
  pausedAt: Date | null;
  expiresAt: Date | null;
  isBreakGlass: boolean;
}

export type Tally = ReturnType<typeof createTally>;

type Outcome = Exclude<Status, (typeof openStatuses)[number]>;

/** Adds requests up, one after the other; keeps a number of a few bytes per request. */
export function createTally(now: Date) {
  const open: Record<(typeof openStatuses)[number], number> = { pending: 0, in_review: 0, needs_info: 0, escalated: 0 };
  const outcomes: Record<Outcome, number> = { approved: 0, denied: 0, withdrawn: 0, expired: 0, void: 0, reversed: 0 };
  const [ages, firstTouches, decisions] = [createSpans(), createSpans(), createSpans()];
  const counts = { filed: 0, overdue: 0, timed: 0, breached: 0, breakGlass: 0 };

  return {
    /** Count a request that is open now, whenever it was filed. */
    addOpen(row: CountedRow): void {
      const status = statusAt(row, now);
      if (!isOpenStatus(status)) return;
      open[status as keyof typeof open] += 1;
      ages.add(row.createdAt, now);
      if (row.pausedAt === null && row.dueDecisionAt !== null && row.dueDecisionAt < now) counts.overdue += 1;
    },

    /** Count a request that was filed in the period. */
    addFiled(row: CountedRow): void {
      const status = statusAt(row, now);
      counts.filed += 1;
      if (!isOpenStatus(status)) outcomes[status as Outcome] += 1;
      if (row.firstTouchedAt !== null) firstTouches.add(row.createdAt, row.firstTouchedAt);
      if (row.decidedAt !== null) decisions.add(row.createdAt, row.decidedAt);
      if (row.isBreakGlass) counts.breakGlass += 1;
      const until = timedUntil(row, status, now);
      if (until === null || row.dueDecisionAt === null) return;
      counts.timed += 1;
      if (until > row.dueDecisionAt) counts.breached += 1;
    },

    numbers: (): NumbersView => {
      const approvals = outcomes.approved + outcomes.reversed;
      return {
        filed: counts.filed,
        open: { ...open, total: ages.size() },
        open_age: { p50: ages.at(0.5), p90: ages.at(0.9), max: ages.at(1) },
        overdue: counts.overdue,
        first_touch: { p50: firstTouches.at(0.5), p90: firstTouches.at(0.9) },
        decision: { p50: decisions.at(0.5), p90: decisions.at(0.9) },
        outcomes: { ...outcomes },
        approval_rate: share(approvals, approvals + outcomes.denied),
        reversal_rate: share(outcomes.reversed, approvals),
        breached_share: share(counts.breached, counts.timed),
        break_glass: counts.breakGlass,
      };
    },
  };
}

/** Until when the date of decision was to be kept: what was taken back before it was decided has none. */
function timedUntil({ decidedAt, pausedAt, expiresAt }: CountedRow, status: Status, now: Date): Date | null {
  if (decidedAt !== null) return decidedAt;
  if (isOpenStatus(status)) return pausedAt ?? now;
  return status === "expired" ? expiresAt : null;
}

/** Lengths of time, and what share of them is no longer than which. */
function createSpans() {
  const spans: number[] = [];
  let isSorted = true;
  return {
    size: () => spans.length,
    add(from: Date, to: Date): void {
      spans.push(to.getTime() - from.getTime());
      isSorted = false;
    },
    /** The shortest length that at least this share of them does not exceed, in whole seconds; null without any. */
    at(part: number): number | null {
      if (!isSorted) spans.sort((a, b) => a - b);
      isSorted = true;
      const span = spans[Math.max(0, Math.ceil(part * spans.length) - 1)];
      return span === undefined ? null : Math.round(span / 1000);
    },
  };
}

function share(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}
