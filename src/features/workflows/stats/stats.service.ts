import { say } from "../../../kit/say.ts";
import { statsPermission, StatsQuery, type StatsView, type NumbersView } from "./stats.schema.ts";
import { conditionOf, sqlOrderOf } from "../../../database/where.ts";
import { orderOf } from "../../../kernel/keyset.ts";
import type { Position } from "../../../kernel/page.ts";
import type { Deps } from "../../deps.ts";
import { Prisma } from "../../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../../kernel/call.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { fieldError } from "../../../kernel/errors.ts";
import { workflowKinds, type WorkflowKind } from "../../../kernel/vocabulary.ts";
import { openStatuses, isOpenStatus, type Status } from "../state/table.ts";
import { knownWhere, type Where } from "../requests/filters.ts";
import { viewerOf, statusAt } from "../requests/workflows.policy.ts";
import type { WorkflowDecision } from "../requests/workflows.schema.ts";

/** What the numbers are made from. */
interface CountedRow {
  status: string;
  createdAt: Date;
  firstTouchedAt: Date | null;
  decidedAt: Date | null;
  dueDecisionAt: Date | null;
  pausedAt: Date | null;
  expiresAt: Date | null;
  isBreakGlass: boolean;
}

interface Tally {
  /** Count a request that is open now, whenever it was filed. */
  addOpen(row: CountedRow): void;
  /** Count a request that was filed in the period. */
  addFiled(row: CountedRow): void;
  numbers(): NumbersView;
}

type Outcome = Exclude<Status, (typeof openStatuses)[number]>;

/** Adds requests up, one after the other; keeps a number of a few bytes per request. */
function createTally(now: Date): Tally {
  const open: Record<(typeof openStatuses)[number], number> = { pending: 0, in_review: 0, needs_info: 0, escalated: 0 };
  const outcomes: Record<Outcome, number> = { approved: 0, denied: 0, withdrawn: 0, expired: 0, void: 0, reversed: 0 };
  const [ages, firstTouches, decisions] = [createSpans(), createSpans(), createSpans()];
  const counts = { filed: 0, overdue: 0, timed: 0, breached: 0, breakGlass: 0 };

  return {
    addOpen(row: CountedRow): void {
      const status = statusAt(row, now);
      if (!isOpenStatus(status)) return;
      open[status as keyof typeof open] += 1;
      ages.add(row.createdAt, now);
      if (row.pausedAt === null && row.dueDecisionAt !== null && row.dueDecisionAt < now) counts.overdue += 1;
    },

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

const day = 86_400;
const usualPeriod = 90 * day;
const maxPeriod = 366 * day;
const slice = 500;

const columns = [
  "id",
  "type",
  "status",
  "createdAt",
  "firstTouchedAt",
  "decidedAt",
  "dueDecisionAt",
  "pausedAt",
  "expiresAt",
  "decision",
] as const;

/** How many requests an answer counts at most: filed in the period, of each kind; open, in each status. Tests set it lower. */
export const statsLimits = { counted: 5000 };

/** Numbers about requests: of confidential ones only for those who may know of them, as everybody else would see that there is one. */
export function createStats({ database, reach, clock }: Deps<"database" | "reach" | "clock">) {
  const { read } = database;

  /**
   * The rows a condition finds, the oldest first, a slice at a time: others have their turn between two slices.
   * @param leading what an index holds in this order; the rest is looked at row by row
   * @returns whether there are no more than are counted
   */
  async function each(leading: Where, rest: Where, see: (type: string, row: CountedRow) => void): Promise<boolean> {
    let position: Position | undefined;
    for (let left = statsLimits.counted; ; left -= slice) {
      const where: Where = { AND: [leading, { kept: rest }, position === undefined ? {} : oldestFirst.after(position)] };
      const rows = await read.$select(
        "WorkflowRequest",
        Prisma.sql`WHERE ${conditionOf("WorkflowRequest", where)} ORDER BY ${oldestFirst.by} LIMIT ${Math.min(slice, left) + 1}`,
        columns,
      );
      const seen = rows.slice(0, Math.min(slice, left));
      for (const row of seen) see(row.type, { ...row, isBreakGlass: isBreakGlass(row.decision) });
      const last = seen.at(-1);
      if (rows.length === seen.length || last === undefined) return true;
      if (left <= slice) return false;
      position = order.of(last);
    }
  }

  /** Since when no more requests of a kind were filed than are counted. */
  async function countedFrom(type: WorkflowKind, known: Where, { from, to }: Period): Promise<Date> {
    const where: Where = { AND: [{ type, createdAt: { gte: from, lt: to } }, { kept: known }] };
    const [beyond] = await read.$select(
      "WorkflowRequest",
      Prisma.sql`WHERE ${conditionOf("WorkflowRequest", where)} ORDER BY t.created_at DESC, t.id DESC LIMIT 1 OFFSET ${statsLimits.counted}`,
      ["createdAt"],
    );
    return beyond === undefined ? from : new Date(beyond.createdAt.getTime() + 1);
  }

  return {
    /** @throws ZodError, ProblemError permission_denied, validation_failed for a period that is empty or too long */
    async read(call: Call, query: StatsQuery): Promise<StatsView> {
      requirePermission(call, statsPermission);
      const now = clock.now();
      const { types, ...period } = understand(query, now);
      const { to } = period;
      const all = createTally(now);
      const byType = new Map<string, Tally>(types.map((type) => [type, createTally(now)]));
      const add = (verb: "addOpen" | "addFiled") => (type: string, row: CountedRow) => {
        const tally = byType.get(type);
        if (tally === undefined) return;
        all[verb](row);
        tally[verb](row);
      };
      const known = knownWhere(await viewerOf(database.read, reach, call));
      let isWhole = true;
      for (const status of openStatuses) isWhole = (await each({ status }, known, add("addOpen"))) && isWhole;
      const begins = await Promise.all(types.map((type) => countedFrom(type, known, period)));
      const from = new Date(Math.max(...begins.map((at) => at.getTime())));
      for (const type of types) await each({ type, createdAt: { gte: from, lt: to } }, known, add("addFiled"));
      return {
        from: from.toISOString(),
        to: to.toISOString(),
        evaluated_at: now.toISOString(),
        is_whole: isWhole && from.getTime() === period.from.getTime(),
        all: all.numbers(),
        types: types.map((type) => ({ type, ...(byType.get(type) ?? all).numbers() })),
      };
    },
  };
}

const order = orderOf("createdAt", "asc");
const oldestFirst = sqlOrderOf("WorkflowRequest", order);

interface Period {
  from: Date;
  to: Date;
}

function understand(query: StatsQuery, now: Date): Period & { types: WorkflowKind[] } {
  const { type, from: givenFrom, to: givenTo } = StatsQuery.parse(query);
  const to = givenTo === undefined ? now : new Date(givenTo);
  const from = givenFrom === undefined ? addSeconds(to, -usualPeriod) : new Date(givenFrom);
  if (from >= to) throw fieldError("/from", "not_before", say("workflows.the-period-ends-after-it-begins"), "query");
  if (to.getTime() - from.getTime() > maxPeriod * 1000)
    throw fieldError("/from", "too_early", say("workflows.a-period-has-366-days-at-most"), "query");
  return { types: type === undefined ? [...workflowKinds] : workflowKinds.filter((kind) => type.split(",").includes(kind)), from, to };
}

function isBreakGlass(decision: Prisma.JsonValue): boolean {
  const made = decision as WorkflowDecision | null;
  return made?.break_glass === true || made?.reversal?.break_glass === true;
}
