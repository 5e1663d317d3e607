import { say } from "../../../kit/say.ts";
import { statsPermission, StatsQuery, type StatsView } from "./stats.schema.ts";
import { conditionOf, sqlOrderOf } from "../../../database/where.ts";
import { orderOf } from "../../../kernel/keyset.ts";
import type { Position } from "../../../kernel/page.ts";
import type { Deps } from "../../deps.ts";
import { Prisma } from "../../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../../kernel/call.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { fieldError } from "../../../kernel/errors.ts";
import { workflowKinds, type WorkflowKind } from "../../../kernel/vocabulary.ts";
import { createTally, type CountedRow, type Tally } from "./numbers.ts";
import { openStatuses } from "../state/table.ts";
import { knownWhere, type Where } from "../requests/filters.ts";
import { viewerOf } from "../requests/workflows.policy.ts";
import type { WorkflowDecision } from "../requests/workflows.schema.ts";

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
