import { worded, say } from "../../../kit/say.ts";
import { urgencyFactor, remindAtOf, resumed } from "./timers.ts";
import type { RequestChanges, Request } from "./workflows.policy.ts";
import { jsonObject } from "../../../kernel/parsing.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import { Prisma, type WorkflowRequest } from "../../../generated/sqlite/client.ts";
import type { Tx } from "../../../database/database.ts";
import { addSeconds, never } from "../../../kernel/clock.ts";
import { fieldError } from "../../../kernel/errors.ts";
import type { Redescribed } from "../amend/fields.ts";
import { approvalsFor, type Policy } from "../policies/policies.ts";
import type { Moved } from "../state/transition.ts";
import { isOpenStatus, type Action } from "../state/table.ts";
import type { DecisionInput } from "./decision.ts";
import { maxEvidence, priorities } from "./fields.ts";
import { kinds } from "../kinds/kinds.ts";
import type { WorkflowDecision } from "./workflows.schema.ts";

/**
 * Where a request stands in the orders of the list that no column gives by itself: what has no date comes last, and both databases walk
 * an index in one direction.
 */
export function placesOf({ priority, dueDecisionAt }: Pick<WorkflowRequest, "priority" | "dueDecisionAt">) {
  const dueOrder = dueDecisionAt ?? never;
  const behind = priorities.length - 1 - (priorities as readonly string[]).indexOf(priority);
  return { dueOrder, queueOrder: `${behind.toString()}${dueOrder.toISOString()}` };
}

/** A move that is about to be written. */
export interface Move {
  tx: Tx;
  request: Request;
  input: DecisionInput;
  actorId: string;
  result: Moved;
  policy: Policy;
  /** The whole payload after an amendment. */
  amended?: Record<string, unknown> | undefined;
  /** What an amendment changes besides the payload. */
  redescribed?: Redescribed | undefined;
  /** Whose earlier votes no longer count. */
  lapsed: readonly string[];
  /** Whether its requester approves it, as a server's policy lets them. */
  isDirect?: boolean;
  /** Whether the person who decided directly takes it back alone. */
  isOwnUndo?: boolean;
}

/** How long somebody else should look at what one person decided alone. */
const lookSeconds = 7 * 86_400;

export const noHold = { holdBy: null, holdAt: null, holdReason: null, holdReference: null };
export const noEscalation = { escalatedBy: null, escalatedAt: null, escalationReason: null };
export const noClaim = { assigneeId: null, assignedBy: null, assignedAt: null, leaseExpiresAt: null };
const json = (value: unknown): Prisma.InputJsonValue => value as Prisma.InputJsonValue;

/** What each action writes besides where it leads. */
const writes: Partial<Readonly<Record<Action, (move: Move) => RequestChanges>>> = {
  claim: (move) => claimed(move, move.actorId),
  assign: (move) => claimed(move, move.result.next.assigneeId ?? move.actorId),
  unassign: () => noClaim,
  hold: ({ tx, actorId, input }) => ({ ...noHold, holdBy: actorId, holdAt: tx.now, holdReason: reasonOf(input) }),
  release: () => noHold,
  request_info: ({ tx, input, policy }) => ({
    questions: json(input.body.questions ?? []),
    pausedAt: tx.now,
    infoDueAt: addSeconds(tx.now, policy.info_seconds),
  }),
  provide_info: ({ request, input }) => ({
    ...(input.body.evidence !== undefined && { evidence: json(moreEvidence(request.evidence as unknown[], input.body.evidence)) }),
  }),
  deescalate: () => noEscalation,
  amend: ({ request, policy, amended, redescribed }) => {
    if (amended === undefined) return { ...redescribed?.changes };
    const type = request.type as WorkflowKind;
    const isOwnTitle = worded(request.title) === worded(kinds[type].title(jsonObject(request.payload)));
    return {
      payload: json(amended),
      approvalsRequired: approvalsFor(type, policy, amended),
      ...(isOwnTitle && { title: kinds[type].title(amended) }),
      ...redescribed?.changes,
    };
  },
  void: ({ request, input }) => {
    const kept = input.body.duplicate_of?.toUpperCase();
    return kept === undefined ? {} : { links: json([...(request.links as unknown[]), { rel: "duplicates", reference: kept }]) };
  },
  reopen: ({ tx, request, policy }) => ({
    ...noClaim,
    ...noEscalation,
    ...noHold,
    ...begun(tx.now, policy, request.urgent),
    decision: Prisma.DbNull,
    decidedAt: null,
    told: Prisma.DbNull,
  }),
};

/** @throws ProblemError validation_failed when a request would hold too many */
export function moreEvidence(kept: readonly unknown[], added: readonly unknown[]): unknown[] {
  if (kept.length + added.length <= maxEvidence) return [...kept, ...added];
  throw fieldError("/evidence", "too_many", say("workflows.the-request-holds-pieces-of-evidence-add", { count: maxEvidence }));
}

/** The clocks of a request that begins now. */
export function begun(now: Date, policy: Policy, isUrgent: boolean) {
  const haste = isUrgent ? urgencyFactor : 1;
  return {
    dueFirstTouchAt: addSeconds(now, policy.first_touch_seconds / haste),
    dueDecisionAt: addSeconds(now, policy.decision_seconds / haste),
    expiresAt: addSeconds(now, policy.expiry_seconds),
  };
}

/** Everything a move writes to the request itself. */
export function changesOf(move: Move): RequestChanges {
  const { tx, request, actorId, result, policy } = move;
  const { next } = result;
  const isOpen = isOpenStatus(next.status);
  const isEscalated = next.tier > request.escalationTier;
  const decision = decisionOf(move);
  const changes: RequestChanges = {
    status: next.status,
    payloadRevision: next.payloadRevision,
    escalationTier: next.tier,
    isHeld: next.isHeld,
    revision: request.revision + 1,
    updatedAt: tx.now,
    ...(request.firstTouchedAt === null && actorId !== request.requesterId && { firstTouchedAt: tx.now }),
    // Activity of anyone who has claimed it renews the lease.
    ...(request.assigneeId === actorId && { leaseExpiresAt: addSeconds(tx.now, policy.claim_seconds) }),
    ...(isEscalated && { escalatedBy: actorId, escalatedAt: tx.now, escalationReason: reasonOf(move.input) }),
    ...(!isOpen && noHold),
    ...(request.pausedAt !== null && next.status !== "needs_info" && nulled(resumed(request, tx.now))),
    ...(decision !== null && { decision: json(decision) }),
    ...((next.status === "approved" || next.status === "denied") && request.decidedAt === null && { decidedAt: tx.now }),
    ...(next.status === "reversed" && { reversedAt: tx.now }),
    ...(move.isDirect === true && { isDirect: true, lookDueAt: addSeconds(tx.now, lookSeconds) }),
    // Reversing it counts as having looked, but for its own author: then nothing is left to look at.
    ...(next.status === "reversed" && request.lookDueAt !== null && (move.isOwnUndo === true ? { lookDueAt: null } : looked(tx, actorId))),
    ...writes[move.input.action]?.(move),
  };
  const changed = { ...request, ...changes } as Request;
  return { ...changes, ...placesOf(changed), remindAt: remindAtOf(changed) };
}

/** Somebody else has looked at what one person decided alone. */
export function looked({ now }: Pick<Tx, "now">, actorId: string) {
  return { lookDueAt: null, lookedAt: now, lookedBy: actorId };
}

/** JSON columns are emptied in the database's own way. */
function nulled<Row extends { questions?: null }>(row: Row): Omit<Row, "questions"> & { questions: typeof Prisma.DbNull } {
  return { ...row, questions: Prisma.DbNull };
}

function claimed({ tx, request, actorId, policy }: Move, assigneeId: string): RequestChanges {
  return {
    assigneeId,
    assignedBy: actorId,
    assignedAt: request.assigneeId === assigneeId ? request.assignedAt : tx.now,
    leaseExpiresAt: addSeconds(tx.now, policy.claim_seconds),
    claimedAt: request.claimedAt ?? tx.now,
    lastClaimedAt: tx.now,
  };
}

/** The standing decision after a move; null: it stays as it is. */
function decisionOf({ tx, request, input, actorId, result }: Move): WorkflowDecision | null {
  const { status } = result.next;
  if (!result.isFinal || status === request.status) return null;
  const said = { by: actorId, at: tx.now.toISOString(), reason_public: input.reasonPublic, reason_internal: input.reasonInternal };
  if (status === "approved" || status === "denied") {
    const { new_duration: duration, new_severity: severity, new_points: points, instructions, message } = input.body;
    const ruling =
      input.ruling === undefined && message === undefined
        ? undefined
        : { outcome: input.ruling ?? null, duration, severity, points, instructions, message };
    const { policy_refs = [] } = input.body;
    return { outcome: status, ...said, policy_refs, break_glass: result.isBreakGlass, ...(ruling !== undefined && { ruling }) };
  }
  const decided = request.decision as WorkflowDecision | null;
  if (status === "reversed" && decided !== null) return { ...decided, reversal: { ...said, break_glass: result.isBreakGlass } };
  return null;
}

export function reasonOf({ reasonPublic, reasonInternal }: DecisionInput): string | null {
  return reasonPublic ?? reasonInternal;
}
