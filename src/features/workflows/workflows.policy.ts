import type { GuildState } from "../../discord/guild-state.ts";
import type { Prisma, WorkflowRequest, WorkflowSubject, WorkflowVote } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { can } from "../../kernel/call.ts";
import type { UserRef } from "../../kernel/fields.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import type { WorkflowKind } from "../../kernel/workflow-kinds.ts";
import type { Context, State, Status } from "./transition.ts";
import { allowedActions, approvalsOf, isOpenStatus } from "./transition.ts";
import type { Kind, Subject } from "./workflows.kinds.ts";
import type { EffectView, WorkflowDecision, WorkflowView } from "./workflows.schema.ts";

/** A request with what belongs to it. */
export type Request = WorkflowRequest & { subjects: WorkflowSubject[]; votes: WorkflowVote[] };
export const whole = { subjects: true, votes: true } as const;

/** Rows beside the subjects that say who may see a request and who may not: look-ups need no JSON on either database. */
const markers = new Set(["restricted", "reader", "excluded"]);

/** The subject rows of a request: what it is about, and for a restricted one its readers and those kept out. */
export function subjectRows(kind: Kind, payload: Record<string, unknown>): { kind: string; subjectId: string }[] {
  const readers = kind.readers?.(payload);
  const restricted =
    readers === undefined
      ? []
      : [
          { kind: "restricted", id: "*" },
          ...readers.map((id) => ({ kind: "reader", id })),
          ...(kind.conflicts?.(payload) ?? []).map((id) => ({ kind: "excluded", id })),
        ];
  const rows = [...kind.subjects(payload), ...restricted].map(
    ({ kind: what, id }) => [`${what}:${id}`, { kind: what, subjectId: id }] as const,
  );
  return [...new Map(rows).values()];
}

export function subjectsOf(request: { subjects: readonly WorkflowSubject[] }): Subject[] {
  return request.subjects
    .filter(({ kind }) => !markers.has(kind))
    .map(({ kind, subjectId }) => ({ kind: kind as Subject["kind"], id: subjectId }));
}

/** Whether a caller may know of a request: a confidential one is for its team, its requester and holders of cases.confidential, never for those it is about. */
export function canSee(call: Call, request: Pick<Request, "requesterId" | "subjects">): boolean {
  const has = (kind: string, id: string) => request.subjects.some((row) => row.kind === kind && row.subjectId === id);
  if (!has("restricted", "*")) return true;
  const actor = call.actor?.id;
  if (actor === undefined) return can(call, "cases.confidential");
  if (request.requesterId === actor) return true;
  if (has("user", actor) || has("excluded", actor)) return false;
  return has("reader", actor) || can(call, "cases.confidential");
}

/** {@link canSee} in the words of the database. */
export function visibleWhere(call: Call): Prisma.WorkflowRequestWhereInput {
  const isRestricted = { subjects: { some: { kind: "restricted" } } };
  const actor = call.actor?.id;
  if (actor === undefined) return can(call, "cases.confidential") ? {} : { NOT: isRestricted };
  const isKeptOut = { subjects: { some: { kind: { in: ["user", "excluded"] }, subjectId: actor } } };
  const reader = can(call, "cases.confidential") ? {} : { subjects: { some: { kind: "reader", subjectId: actor } } };
  return { OR: [{ NOT: isRestricted }, { requesterId: actor }, { AND: [reader, { NOT: isKeptOut }] }] };
}

/** The status that counts at a moment, whether or not the sweep has come by. */
export function statusAt(request: { status: string; expiresAt: Date | null }, now: Date): Status {
  const isOver = isOpenStatus(request.status) && request.expiresAt !== null && request.expiresAt <= now;
  return isOver ? "expired" : (request.status as Status);
}

export function stateOf(request: Request, now: Date): State {
  return {
    status: statusAt(request, now),
    revision: request.revision,
    payloadRevision: request.payloadRevision,
    approvalsRequired: request.approvalsRequired,
    votes: request.votes.map(({ actorId, verdict, payloadRevision }) => ({
      actorId,
      verdict: verdict as "approve" | "deny",
      payloadRevision,
    })),
  };
}

export function decidePermission(type: string): string {
  return `workflows.${type}.decide`;
}

/** A person as an answer shows them. */
function userRef(guildState: GuildState, id: string, snapshot?: string | null): UserRef {
  const members = guildState.members(id);
  const [member] = members;
  const name = member === undefined ? undefined : (member.nick ?? member.globalName ?? member.username);
  return {
    id,
    ...(typeof snapshot === "string" && { username_snapshot: snapshot }),
    ...(name !== undefined && { display_name: name }),
    in_community: members.some(({ present }) => present),
  };
}

/** A request as this viewer sees it. Notes, internal reasons, unknown fields and interviews are for its deciders. */
export function presentRequest(
  call: Call,
  request: Request,
  { guildState, now, context }: { guildState: GuildState; now: Date; context: Context | null },
): WorkflowView {
  const isDecider = can(call, decidePermission(request.type));
  const state = stateOf(request, now);
  const decision = request.decision as WorkflowDecision | null;
  return {
    id: request.id,
    reference: request.reference,
    type: request.type as WorkflowKind,
    status: state.status,
    priority: request.priority as WorkflowView["priority"],
    urgent: request.urgent,
    title: request.title,
    summary: request.summary,
    payload: payloadFor(request, isDecider),
    payload_revision: request.payloadRevision,
    ...(isDecider && { extra: request.extra as Record<string, unknown> }),
    requester: request.requesterId === null ? null : userRef(guildState, request.requesterId, request.requesterName),
    requested_via: request.requestedVia,
    subjects: subjectsOf(request),
    evidence: request.evidence as WorkflowView["evidence"],
    related: request.related as string[],
    comments_count: 0,
    assignment: null,
    hold: null,
    escalation: null,
    approvals: {
      have: approvalsOf(state),
      required: request.approvalsRequired,
      votes: request.votes.map((vote) => ({
        actor: userRef(guildState, vote.actorId),
        verdict: vote.verdict,
        at: vote.at.toISOString(),
        payload_revision: vote.payloadRevision,
        ...(isDecider && { note: vote.note }),
      })),
    },
    decision: decision === null ? null : decisionFor(decision, isDecider),
    effects: visibleEffects(call, request.effects as unknown as EffectView[]),
    timers: {
      due_first_touch_at: isoOrNull(request.dueFirstTouchAt),
      due_decision_at: isoOrNull(request.dueDecisionAt),
      expires_at: isoOrNull(request.expiresAt),
    },
    sla: {
      first_touched_at: isoOrNull(request.firstTouchedAt),
      claimed_at: null,
      last_claimed_at: null,
      decided_at: isoOrNull(request.decidedAt),
      breached: request.dueDecisionAt !== null && (request.decidedAt ?? now) > request.dueDecisionAt,
    },
    links: request.links as WorkflowView["links"],
    external_id: request.externalId,
    revision: request.revision,
    created_at: request.createdAt.toISOString(),
    updated_at: request.updatedAt.toISOString(),
    allowed_actions: context !== null && isDecider ? allowedActions(state, context) : [],
  };
}

/** The records behind effects are named to those who may read them. */
export function visibleEffects(call: Call, effects: readonly EffectView[]): EffectView[] {
  if (can(call, "blacklist.read")) return [...effects];
  return effects.map((effect) => (effect.target?.kind === "blacklist" ? { ...effect, target: null } : effect));
}

function payloadFor(request: Request, isDecider: boolean): Record<string, unknown> {
  const payload = request.payload as Record<string, unknown>;
  if (isDecider) return payload;
  const { interview: _interview, ...rest } = payload;
  return rest;
}

function decisionFor(decision: WorkflowDecision, isDecider: boolean): WorkflowDecision {
  const { reason_internal: internal, ...rest } = decision;
  return isDecider ? { ...rest, reason_internal: internal ?? null } : rest;
}
