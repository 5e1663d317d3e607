import { statsPermission, StatsQuery, type StatsView } from "./stats.schema.ts";
import type { Deps } from "../../deps.ts";
import type { Prisma } from "../../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../../kernel/call.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { fieldError } from "../../../kernel/errors.ts";
import { workflowKinds, type WorkflowKind } from "../../../kernel/vocabulary.ts";
import { createTally, type CountedRow, type Tally } from "./numbers.ts";
import { openStatuses } from "../state/table.ts";
import { knownWhere, viewerOf } from "../requests/workflows.policy.ts";
import type { WorkflowDecision } from "../requests/workflows.schema.ts";

const day = 86_400;
const usualPeriod = 90 * day;
const maxPeriod = 366 * day;
const slice = 500;

const columns = {
  id: true,
  type: true,
  status: true,
  createdAt: true,
  firstTouchedAt: true,
  decidedAt: true,
  dueDecisionAt: true,
  pausedAt: true,
  expiresAt: true,
  decision: true,
} as const;

/** Numbers about requests: of confidential ones only for those who may know of them, as everybody else would see that there is one. */
export function createStats({ database, reach, clock }: Deps<"database" | "reach" | "clock">) {
  /** Every row a condition finds, in the order they were filed, a slice at a time: others have their turn between two slices. */
  async function each(where: Prisma.WorkflowRequestWhereInput, see: (type: string, row: CountedRow) => void): Promise<void> {
    for (let after: { createdAt: Date; id: string } | undefined; ;) {
      const beyond =
        after === undefined
          ? {}
          : { createdAt: { gte: after.createdAt }, OR: [{ createdAt: { gt: after.createdAt } }, { id: { gt: after.id } }] };
      const rows = await database.read.workflowRequest.findMany({
        where: { AND: [where, beyond] },
        select: columns,
        orderBy: [{ createdAt: "asc" }, { id: "asc" }],
        take: slice,
      });
      for (const row of rows) see(row.type, { ...row, isBreakGlass: isBreakGlass(row.decision) });
      after = rows.at(-1);
      if (rows.length < slice) return;
    }
  }

  return {
    /** @throws ZodError, ProblemError permission_denied, validation_failed for a period that is empty or too long */
    async read(call: Call, query: StatsQuery): Promise<StatsView> {
      requirePermission(call, statsPermission);
      const now = clock.now();
      const { types, from, to } = understand(query, now);
      const all = createTally(now);
      const byType = new Map<string, Tally>(types.map((type) => [type, createTally(now)]));
      const add = (verb: "addOpen" | "addFiled") => (type: string, row: CountedRow) => {
        all[verb](row);
        byType.get(type)?.[verb](row);
      };
      const known = knownWhere(await viewerOf(database.read, reach, call));
      const counted = { AND: [known, types.length === workflowKinds.length ? {} : { type: { in: types } }] };
      await each({ ...counted, status: { in: [...openStatuses] } }, add("addOpen"));
      await each({ ...counted, createdAt: { gte: from, lt: to } }, add("addFiled"));
      return {
        from: from.toISOString(),
        to: to.toISOString(),
        evaluated_at: now.toISOString(),
        all: all.numbers(),
        types: types.map((type) => ({ type, ...(byType.get(type) ?? all).numbers() })),
      };
    },
  };
}

function understand(query: StatsQuery, now: Date): { types: WorkflowKind[]; from: Date; to: Date } {
  const { type, from: givenFrom, to: givenTo } = StatsQuery.parse(query);
  const to = givenTo === undefined ? now : new Date(givenTo);
  const from = givenFrom === undefined ? addSeconds(to, -usualPeriod) : new Date(givenFrom);
  if (from >= to) throw fieldError("/from", "not_before", "The period ends after it begins.", "query");
  if (to.getTime() - from.getTime() > maxPeriod * 1000) throw fieldError("/from", "too_early", "A period has 366 days at most.", "query");
  return { types: type === undefined ? [...workflowKinds] : workflowKinds.filter((kind) => type.split(",").includes(kind)), from, to };
}

function isBreakGlass(decision: Prisma.JsonValue): boolean {
  const made = decision as WorkflowDecision | null;
  return made?.break_glass === true || made?.reversal?.break_glass === true;
}
