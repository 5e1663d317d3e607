import type { Deps } from "../../deps.ts";
import type { Prisma, WorkflowStep } from "../../../generated/sqlite/client.ts";
import { can, type Call } from "../../../kernel/call.ts";
import { toPage, withTotal, type Page } from "../../../kernel/page.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import { byKind, readsConfidential } from "../requests/visibility.ts";
import { sideOf, type Side } from "../comments/comments.policy.ts";
import { HistoryQuery as Query, type HistoryQuery, type StepView } from "./history.schema.ts";
import { policyOf } from "../policies/policies.ts";
import { isOpenStatus, verdicts } from "../state/table.ts";
import { hasVotedOn, statusAt, decidePermission, readPermission, type Request } from "../requests/workflows.policy.ts";
import { userRef } from "../requests/presenter.ts";
import { createVisibility, noClearance, seesRedactions, type Clearance, type FieldClasses } from "../../../kernel/visibility.ts";

export interface HistoryService {
  /** What was done, the oldest first. @throws ProblemError record_not_found, invalid_cursor */
  list(call: Call, type: string, key: string, query: HistoryQuery): Promise<Page<StepView>>;
}

export interface HistoryDeps extends Deps<"database" | "guildState" | "reach" | "cursors" | "clock"> {
  /** Read a request the caller may see. @throws ProblemError record_not_found */
  findVisible(call: Call, type: string, key: string): Promise<Request>;
}

/** What was done to a request, one row for each revision. */
export function createHistory({ database, guildState, reach, cursors, clock, findVisible }: HistoryDeps): HistoryService {
  /** Votes of others stay out of sight of anyone who has still to vote, where the policy says so. */
  async function blindness(call: Call, request: Request): Promise<Prisma.WorkflowStepWhereInput> {
    const { blind_votes: isBlind } = await policyOf(database.read, request.type as WorkflowKind);
    const actor = call.actor?.id ?? "";
    const hasVoted = hasVotedOn(request, actor);
    if (!isBlind || hasVoted || !isOpenStatus(statusAt(request, clock.now()))) return {};
    return { NOT: { action: { in: [...verdicts] }, actorId: { not: actor } } };
  }

  function present(row: WorkflowStep): StepView {
    return {
      revision: row.revision,
      action: row.action,
      actor: row.actorId === null ? null : userRef(guildState, row.actorId),
      client: row.clientId,
      via: row.via,
      at: row.at.toISOString(),
      from: row.from,
      to: row.to,
      note_public: row.notePublic,
      note_internal: row.noteInternal,
      data: row.data as StepView["data"],
    };
  }

  return {
    async list(call: Call, type: string, key: string, query: HistoryQuery): Promise<Page<StepView>> {
      const request = await findVisible(call, type, key);
      const { limit, cursor, count } = Query.parse(query);
      const bound = { requestId: request.id };
      const after = cursor === undefined ? 0 : Number(cursors.decode("workflow_history", bound, cursor)[0]);
      const where = { ...bound, ...(await blindness(call, request)) };
      const accounts = call.actor === null ? [] : await reach.linkedAccountsOf(database.read, call.actor.id);
      const as = { type: request.type, side: sideOf(call, request, accounts), requesterId: request.requesterId };
      const rows = await database.read.workflowStep.findMany({
        where: { ...where, revision: { gt: after } },
        orderBy: { revision: "asc" },
        take: limit + 1,
      });
      const page = toPage(
        rows,
        limit,
        (row) => visibleStep(call, row, present(row), as),
        (last) => cursors.encode("workflow_history", bound, [last.revision, request.id]),
      );
      return withTotal(page, { count }, () => database.read.workflowStep.count({ where }));
    },
  };
}

/** What of a step is for whom. Of the notes and of what was chosen, only what the requester was told is theirs. */
const stepFields = {
  revision: "public",
  action: "public",
  actor: "public",
  client: "staff",
  via: "public",
  at: "public",
  from: "public",
  to: "public",
  note_public: "requester",
  note_internal: "decider",
  data: {
    questions: "public",
    answer: "public",
    assignee: "staff",
    duplicate_of: "public",
    duration: "public",
    effects: "staff",
    break_glass: "public",
    lapsed: "public",
  },
} as const satisfies Omit<FieldClasses<StepView>, "data"> & { data: object };
const visibleOf = byKind((payload) =>
  createVisibility<StepView>({ ...stepFields, data: { ...stepFields.data, changed: { ...payload, "*": "public" } } }),
);

/** Actions whose note is written among staff. */
const amongStaff = new Set(["claim", "assign", "unassign", "escalate", "deescalate", "hold", "release"]);

export const isVerdict = (action: string): boolean => verdicts.some((verdict) => verdict === action);

/** Whether a verdict only counted among others: its note is for those who decide. */
function isVote({ action, from, to }: WorkflowStep): boolean {
  return (isVerdict(action) && !(to === "approved" || to === "denied")) || (action === "reverse" && from === to);
}

/** A step as a caller sees it who meets the request from one side. */
export function visibleStep(
  call: Call,
  row: WorkflowStep,
  view: StepView,
  { type, side, requesterId }: { type: string; side: Side; requesterId: string | null },
): StepView {
  const isStaff = side === "staff" && can(call, readPermission);
  const isDecider = isStaff && can(call, decidePermission(type as WorkflowKind));
  const isTold = isVote(row) ? isDecider : isStaff || !amongStaff.has(row.action);
  const confidential = readsConfidential(call, type as WorkflowKind, requesterId);
  const clearance: Clearance = { ...noClearance, requester: isTold, staff: isStaff, decider: isDecider, confidential };
  return visibleOf.get(type)?.(view, clearance, seesRedactions(call)) ?? view;
}
