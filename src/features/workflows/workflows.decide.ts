import type { Database, Tx } from "../../database/database.ts";
import type { Prisma } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { requireWrite } from "../../kernel/call.ts";
import { ProblemError, recordNotFound } from "../../kernel/errors.ts";
import type { WorkflowKind } from "../../kernel/workflow-kinds.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { MatchesService } from "../intelligence/matches.service.ts";
import type { LinkReach } from "../links/links.reach.ts";
import type { Effects } from "./effects.ts";
import type { Refusal, Transition } from "./transition.ts";
import { approvalsOf, transition } from "./transition.ts";
import type { Ranks } from "./workflows.context.ts";
import { contextOf } from "./workflows.context.ts";
import type { DecisionInput } from "./workflows.decision.ts";
import { understandDecision } from "./workflows.decision.ts";
import { kinds } from "./workflows.kinds.ts";
import type { Request } from "./workflows.policy.ts";
import { canSee, decidePermission, stateOf, whole } from "./workflows.policy.ts";
import type { DecisionAnswer, EffectView, WorkflowDecision } from "./workflows.schema.ts";
import { visibleDecision } from "./workflows.visibility.ts";

export interface DecideParts {
  database: Database;
  audit: AuditService;
  effects: Effects;
  standing: Ranks;
  reach: Pick<LinkReach, "groupOf">;
  matches: Pick<MatchesService, "recomputeUser">;
}

/** A vote that counts, and what it leads to. */
interface Verdict {
  request: Request;
  input: DecisionInput;
  actorId: string;
  result: Extract<Transition, { ok: true }>;
}

export function createDecisions({ database, audit, effects, standing, reach, matches }: DecideParts) {
  /** Everything of one decision: vote, status, effects and audit, together or not at all. */
  async function settle(tx: Tx, { request, input, actorId, result }: Verdict): Promise<EffectView[]> {
    const permission = decidePermission(request.type);
    const isApproved = result.next.status === "approved";
    const approvedBy = result.next.votes
      .filter((vote) => vote.verdict === "approve" && vote.payloadRevision === request.payloadRevision)
      .map((vote) => vote.actorId);
    const key = { requestId: request.id, actorId, payloadRevision: request.payloadRevision };
    const vote = { verdict: input.action, note: input.reasonInternal ?? input.reasonPublic, at: tx.now };
    await tx.db.workflowVote.upsert({ where: { requestId_actorId_payloadRevision: key }, create: { ...key, ...vote }, update: vote });
    const done = isApproved ? await applyEffects(tx, effects, { request, input, approvedBy, permission }) : [];
    const decision: WorkflowDecision | null = result.isFinal
      ? {
          outcome: isApproved ? "approved" : "denied",
          by: actorId,
          at: tx.now.toISOString(),
          reason_public: input.reasonPublic,
          reason_internal: input.reasonInternal,
          policy_refs: [],
        }
      : null;
    const changes = {
      status: result.next.status,
      revision: request.revision + 1,
      updatedAt: tx.now,
      firstTouchedAt: request.firstTouchedAt ?? tx.now,
      ...(decision !== null && { decision, decidedAt: tx.now, effects: done as unknown as Prisma.InputJsonArray }),
    };
    // The lock makes this hold; should anything write past the lock, the decision is taken back rather than doubled.
    const { count } = await tx.db.workflowRequest.updateMany({ where: { id: request.id, revision: request.revision }, data: changes });
    if (count !== 1) throw new ProblemError("storage_busy", { retryAfter: 1 });
    const about = request.subjects.find((subject) => subject.kind === "user")?.subjectId;
    audit.record(tx, {
      action: result.isFinal ? `workflow.${input.action}` : "workflow.vote",
      target: { kind: "workflow", id: request.id, reference: request.reference },
      ...(about !== undefined && { subjectUserId: about }),
      ...(input.reasonPublic !== null && { reason: input.reasonPublic }),
      before: { status: request.status },
      after: { status: result.next.status, verdict: input.action, have: approvedBy.length, required: request.approvalsRequired },
      permission,
    });
    if (result.isFinal && kinds[request.type as WorkflowKind].isRemembered === true) {
      for (const { kind, subjectId } of request.subjects) if (kind === "user") await matches.recomputeUser(tx, subjectId);
    }
    return done;
  }

  /**
   * Approve or deny a request. The same decision by the same person again answers as before, with `replayed`.
   * @param key id or reference
   * @throws ZodError, ProblemError acting_user_required, record_not_found, conflict_of_interest, hierarchy_violation,
   * precondition_failed, already_decided, invalid_transition
   */
  async function decide(call: Call, type: WorkflowKind, key: string, body: unknown, ifMatch?: number): Promise<DecisionAnswer> {
    const permission = decidePermission(type);
    requireWrite(call, permission);
    const actor = call.actor;
    if (actor === null) throw new ProblemError("acting_user_required", { detail: "A decision is a person's: name them in X-Acting-User." });
    const input = understandDecision(body);
    const answer = await database.write(call, async (tx): Promise<DecisionAnswer> => {
      const request = await openRequest(tx, type, key);
      const accounts = await reach.groupOf(tx.db, actor.id);
      const context = await contextOf(tx.db, standing, { actor, accounts }, request);
      const result = transition(stateOf(request, tx.now), input.action, { ...context, expectedRevision: input.revision ?? ifMatch });
      if (!result.ok) throw refusal(result, input, request, stateOf(request, tx.now).status);
      const done = result.isReplay
        ? (request.effects as unknown as EffectView[])
        : await settle(tx, { request, input, actorId: actor.id, result });
      return {
        success: true,
        id: request.id,
        reference: request.reference,
        status: result.next.status,
        final: result.isFinal,
        approvals: {
          have: approvalsOf({ votes: result.next.votes, payloadRevision: request.payloadRevision }),
          required: request.approvalsRequired,
        },
        effects: done,
        ...(result.isReplay && { replayed: true }),
      };
    });
    return visibleDecision(call, type, answer);
  }
  return { decide };
}

/** Read a request to change it, under its lock. What the caller may not see is not there. */
async function openRequest(tx: Tx, type: WorkflowKind, key: string): Promise<Request> {
  const found = await tx.db.workflowRequest.findFirst({
    where: { type, OR: [{ id: key.toLowerCase() }, { reference: key.toUpperCase() }] },
    select: { id: true },
  });
  if (found === null) throw recordNotFound();
  await tx.lock(`workflow:${found.id}`);
  const request = await tx.db.workflowRequest.findUniqueOrThrow({ where: { id: found.id }, include: whole });
  if (!canSee(tx.call, request)) throw recordNotFound();
  return request;
}

async function applyEffects(
  tx: Tx,
  effects: Effects,
  { request, input, approvedBy, permission }: { request: Request; input: DecisionInput; approvedBy: readonly string[]; permission: string },
): Promise<EffectView[]> {
  const kind = kinds[request.type as WorkflowKind];
  const payload = kind.payload.safeParse(request.payload);
  if (!payload.success) {
    const detail = "The payload no longer fits its kind, so its effects cannot be carried out.";
    throw new ProblemError("invalid_transition", { detail, extra: { from: request.status, action: input.action, allowed: ["deny"] } });
  }
  return effects.apply(kind, { tx, row: request, payload: payload.data, reasonPublic: input.reasonPublic, approvedBy, permission });
}

function refusal(
  { refused, allowed }: { refused: Refusal; allowed: string[] },
  input: DecisionInput,
  request: Request,
  from: string,
): ProblemError {
  switch (refused) {
    case "conflict_of_interest":
      return new ProblemError(refused, {
        detail: "Whoever filed a request, is its subject, or is otherwise partial never decides it, with no account of theirs.",
      });
    case "hierarchy_violation":
      return new ProblemError(refused, { detail: "The subject is staff of equal or higher rank." });
    case "precondition_failed":
      return new ProblemError(refused, { extra: { current_etag: `"v${request.revision.toString()}"` } });
    case "already_decided": {
      const { outcome, by, at } = request.decision as unknown as WorkflowDecision;
      return new ProblemError(refused, { extra: { decision: { outcome, by, at } } });
    }
    case "invalid_transition":
      return new ProblemError(refused, { extra: { from, action: input.action, allowed } });
  }
}
