import type { GuildState } from "../../discord/guild-state.ts";
import type { Call } from "../../kernel/call.ts";
import { can } from "../../kernel/call.ts";
import type { UserRef } from "../../kernel/fields.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import type { WorkflowKind } from "../../kernel/workflow-kinds.ts";
import type { Context, State } from "./transition.ts";
import { allowedActions, approvalsOf } from "./transition.ts";
import type { Request } from "./workflows.policy.ts";
import { decidePermission, stateOf, subjectsOf } from "./workflows.policy.ts";
import type { EffectView, WorkflowDecision, WorkflowView } from "./workflows.schema.ts";
import { visibleRequest } from "./workflows.visibility.ts";

interface Surroundings {
  guildState: GuildState;
  now: Date;
  /** How the acting user stands towards the request; null without one. */
  context: Context | null;
}

/** A request as this viewer sees it. */
export function presentRequest(call: Call, request: Request, { guildState, now, context }: Surroundings): WorkflowView {
  const state = stateOf(request, now);
  const decides = context !== null && can(call, decidePermission(request.type));
  const view: WorkflowView = {
    id: request.id,
    reference: request.reference,
    type: request.type as WorkflowKind,
    status: state.status,
    priority: request.priority as WorkflowView["priority"],
    urgent: request.urgent,
    title: request.title,
    summary: request.summary,
    payload: request.payload as Record<string, unknown>,
    payload_revision: request.payloadRevision,
    extra: request.extra as Record<string, unknown>,
    requester: request.requesterId === null ? null : userRef(guildState, request.requesterId, request.requesterName),
    requested_via: request.requestedVia,
    subjects: subjectsOf(request),
    evidence: request.evidence as WorkflowView["evidence"],
    related: request.related as string[],
    comments_count: 0,
    assignment: null,
    hold: null,
    escalation: null,
    approvals: approvalsView(request, state, guildState),
    decision: decisionView(request.decision as WorkflowDecision | null),
    effects: request.effects as unknown as EffectView[],
    ...clocksView(request, now),
    links: request.links as WorkflowView["links"],
    external_id: request.externalId,
    revision: request.revision,
    created_at: request.createdAt.toISOString(),
    updated_at: request.updatedAt.toISOString(),
    allowed_actions: decides ? allowedActions(state, context) : [],
  };
  return visibleRequest(call, view);
}

function approvalsView(request: Request, state: State, guildState: GuildState): WorkflowView["approvals"] {
  return {
    have: approvalsOf(state),
    required: request.approvalsRequired,
    votes: request.votes.map((vote) => ({
      actor: userRef(guildState, vote.actorId),
      verdict: vote.verdict,
      at: vote.at.toISOString(),
      payload_revision: vote.payloadRevision,
      note: vote.note,
    })),
  };
}

function decisionView(decision: WorkflowDecision | null): WorkflowDecision | null {
  return decision === null ? null : { ...decision, reason_internal: decision.reason_internal ?? null };
}

function clocksView(request: Request, now: Date): Pick<WorkflowView, "timers" | "sla"> {
  const { dueFirstTouchAt, dueDecisionAt, expiresAt, firstTouchedAt, decidedAt } = request;
  return {
    timers: {
      due_first_touch_at: isoOrNull(dueFirstTouchAt),
      due_decision_at: isoOrNull(dueDecisionAt),
      expires_at: isoOrNull(expiresAt),
    },
    sla: {
      first_touched_at: isoOrNull(firstTouchedAt),
      claimed_at: null,
      last_claimed_at: null,
      decided_at: isoOrNull(decidedAt),
      breached: dueDecisionAt !== null && (decidedAt ?? now) > dueDecisionAt,
    },
  };
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
