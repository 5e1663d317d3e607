import { say } from "../../../kit/say.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import { jsonObject } from "../../../kernel/parsing.ts";
import type { Call } from "../../../kernel/call.ts";
import { isoOrNull, type UserRef } from "../../../kernel/fields.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import { checksOf } from "../checks/consented.ts";
import { presentEffect } from "../effects/effects.ts";
import type { Policy } from "../policies/policies.ts";
import { allowedActions, approvalsOf, requiredOf, actionsFrom, type Context, type State, type Refused } from "../state/transition.ts";
import { isOpenStatus, overridePermission, type Action } from "../state/table.ts";
import { hasVotedOn, isClaimLive, statusAt, stateOf, subjectsOf, type Request } from "./workflows.policy.ts";
import type { WorkflowDecision, WorkflowView, BlockerView } from "./workflows.schema.ts";
import { visibleRequest } from "./visibility.ts";
import { kinds } from "../kinds/kinds.ts";
import { serversIn } from "./where.ts";
import { lackText, ProblemError } from "../../../kernel/errors.ts";
import type { Blocker } from "../effects/types.ts";
import type { DecisionInput } from "./decision.ts";

interface Surroundings {
  guildState: GuildState;
  now: Date;
  /** How the acting user stands towards the request; null without one. */
  context: Context | null;
  /** Of the request's kind. */
  policy: Policy;
  commentsCount: number;
  /** Whether to say what keeps the acting user from other actions. */
  isWhyNotAsked?: boolean;
}

/** A request as this viewer sees it. */
export function presentRequest(call: Call, request: Request, surroundings: Surroundings): WorkflowView {
  const { guildState, now, policy, commentsCount } = surroundings;
  const state = stateOf(request, policy, now);
  const view: WorkflowView = {
    id: request.id,
    reference: request.reference,
    type: request.type as WorkflowKind,
    status: state.status,
    priority: request.priority as WorkflowView["priority"],
    urgent: request.urgent,
    title: request.title,
    summary: request.summary,
    payload: jsonObject(request.payload),
    payload_revision: request.payloadRevision,
    place: placeView(request, guildState),
    extra: request.extra as Record<string, unknown>,
    requester: request.requesterId === null ? null : userRef(guildState, request.requesterId, request.requesterName),
    requested_via: request.requestedVia,
    subjects: subjectsOf(request),
    evidence: request.evidence as WorkflowView["evidence"],
    related: request.related as string[],
    comments_count: commentsCount,
    origin: request.origin as WorkflowView["origin"],
    ...workView(request, surroundings),
    questions: (request.questions as string[] | null) ?? [],
    ...(request.checks !== null && { checks: checksOf(request.checks) }),
    approvals: approvalsView(request, state, surroundings),
    decision: decisionView(request.decision as WorkflowDecision | null),
    direct: request.isDirect,
    look: request.isDirect ? { due_at: isoOrNull(request.lookDueAt), at: isoOrNull(request.lookedAt), by: request.lookedBy } : null,
    effects: request.effects.map(presentEffect),
    ...clocksView(request, now),
    links: request.links as WorkflowView["links"],
    external_id: request.externalId,
    revision: request.revision,
    created_at: request.createdAt.toISOString(),
    updated_at: request.updatedAt.toISOString(),
    ...actionsView(request, state, surroundings),
  };
  return visibleRequest(call, view, surroundings.context?.isConflicted === true);
}

/** Which servers it names, as they are called now; of what applies everywhere, those the bot is in. */
function placeView({ type, payload: stored }: Request, guildState: Pick<GuildState, "guilds">): WorkflowView["place"] {
  const kind = kinds[type as WorkflowKind];
  const payload = jsonObject(stored);
  const whole = kind.place === undefined ? undefined : kind.payload.safeParse(payload);
  const isEverywhere = whole?.success === true && kind.place?.isEverywhere(whole.data) === true;
  const named = serversIn(kind, payload);
  if (!isEverywhere && named.length === 0) return null;
  const guilds = guildState.guilds();
  const ids = isEverywhere ? guilds.flatMap(({ id, present }) => (present ? [id] : [])) : named;
  return { everywhere: isEverywhere, servers: ids.map((id) => ({ id, name: guilds.find((guild) => guild.id === id)?.name ?? null })) };
}

/** What the acting user may do, and why not the rest when it is asked. */
function actionsView(request: Request, state: State, { context, isWhyNotAsked = false }: Surroundings) {
  if (context === null) return { allowed_actions: [] };
  if (!isWhyNotAsked) return { allowed_actions: allowedActions(state, context) };
  const why: WorkflowView["why_not"] = {};
  const allowed = allowedActions(state, context, (action, refused) => {
    const { code, detail = "" } = refusal(refused, { action, request, state });
    why[action] = { code, detail };
  });
  return { allowed_actions: allowed, why_not: why };
}

/** Until when the clock of a request runs: it stops where nobody decides any more. */
function endOf(request: Request, now: Date): Date {
  return request.status === "withdrawn" || request.status === "void" ? request.updatedAt : now;
}

function workView(request: Request, { guildState, now }: Surroundings): Pick<WorkflowView, "assignment" | "hold" | "escalation"> {
  const { assigneeId, assignedBy, assignedAt, leaseExpiresAt, escalatedAt, holdAt } = request;
  return {
    assignment:
      assigneeId === null || assignedAt === null
        ? null
        : {
            user: userRef(guildState, assigneeId),
            by: assignedBy,
            since: assignedAt.toISOString(),
            expires_at: isoOrNull(leaseExpiresAt),
            live: isClaimLive(request, now),
          },
    hold:
      isOpenStatus(statusAt(request, now)) && request.isHeld && holdAt !== null
        ? { by: request.holdBy, at: holdAt.toISOString(), reason: request.holdReason, reference: request.holdReference }
        : null,
    escalation:
      request.escalationTier === 0 || escalatedAt === null
        ? null
        : { tier: request.escalationTier, by: request.escalatedBy, at: escalatedAt.toISOString(), reason: request.escalationReason },
  };
}

/** Votes of others stay out of sight of anyone who has still to vote, where the policy says so. */
function approvalsView(request: Request, state: State, { guildState, context, policy }: Surroundings): WorkflowView["approvals"] {
  const hasVoted = context !== null && hasVotedOn(request, context.actorId);
  const isBlind = policy.blind_votes && isOpenStatus(state.status) && !hasVoted;
  const shown = isBlind ? request.votes.filter(({ actorId }) => actorId === context?.actorId) : request.votes;
  return {
    ...(!isBlind && { have: approvalsOf(state) }),
    required: requiredOf(state),
    reversals_required: state.reversalsRequired,
    votes: shown.map((vote) => ({
      actor: userRef(guildState, vote.actorId),
      verdict: vote.verdict as WorkflowView["approvals"]["votes"][number]["verdict"],
      at: vote.at.toISOString(),
      payload_revision: vote.payloadRevision,
      lapsed_at: isoOrNull(vote.lapsedAt),
      note: vote.note,
    })),
  };
}

function decisionView(decision: WorkflowDecision | null): WorkflowDecision | null {
  return decision === null ? null : { ...decision, reason_internal: decision.reason_internal ?? null };
}

function clocksView(request: Request, now: Date): Pick<WorkflowView, "timers" | "sla"> {
  const { dueFirstTouchAt, dueDecisionAt, expiresAt, firstTouchedAt, decidedAt, pausedAt } = request;
  return {
    timers: {
      due_first_touch_at: isoOrNull(dueFirstTouchAt),
      due_decision_at: isoOrNull(dueDecisionAt),
      expires_at: isoOrNull(expiresAt),
      info_due_at: isoOrNull(request.infoDueAt),
      paused_at: isoOrNull(pausedAt),
    },
    sla: {
      first_touched_at: isoOrNull(firstTouchedAt),
      claimed_at: isoOrNull(request.claimedAt),
      last_claimed_at: isoOrNull(request.lastClaimedAt),
      decided_at: isoOrNull(decidedAt),
      // While the requester is asked, the clock stands still.
      breached: dueDecisionAt !== null && (decidedAt ?? pausedAt ?? endOf(request, now)) > dueDecisionAt,
    },
  };
}

/** A person as an answer shows them. */
export function userRef(guildState: GuildState, id: string, snapshot?: string | null): UserRef {
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

interface Asked {
  action: Action;
  request: Request;
  state: State;
  blockers?: readonly Blocker[];
}

/** A move that is refused, as a problem. */
export function refusal({ refused, detail, required }: Refused, { action, request, state, blockers }: Asked): ProblemError {
  switch (refused) {
    case "permission_denied":
      return new ProblemError(refused, {
        detail: detail ?? lackText(required ?? "", "acting_user"),
        extra: { required, missing_in: "acting_user" },
      });
    case "conflict_of_interest":
      return new ProblemError(refused, {
        detail: detail ?? say("workflows.you-or-another-account-of-yours-filed"),
      });
    case "hierarchy_violation":
      return new ProblemError(refused, {
        detail: say("workflows.the-subject-stands-as-high-as-you"),
      });
    case "precondition_failed":
      return new ProblemError(refused, { extra: { current_etag: `"v${request.revision.toString()}"` } });
    case "already_decided": {
      const decided = request.decision as unknown as WorkflowDecision | null;
      const decision = decided === null ? null : { outcome: decided.outcome, by: decided.by, at: decided.at };
      return new ProblemError(refused, { extra: { decision } });
    }
    case "invalid_transition":
      return new ProblemError(refused, {
        ...(detail !== undefined && { detail }),
        extra: {
          from: state.status,
          action,
          allowed: actionsFrom(state.status),
          ...(blockers !== undefined && { blockers: blockers.map(presentBlocker) }),
        },
      });
  }
}

/** What is in the way, as answers name it. */
export function presentBlocker({ code, detail, isWaivable }: Blocker): BlockerView {
  return { code, detail, ...(isWaivable === true && { waivable: true }) };
}

/** Whether break-glass passes a blocker. */
export function isWaived({ isWaivable = false }: Blocker, { body }: DecisionInput, { can }: Pick<Context, "can">): boolean {
  return isWaivable && body.override === true && can(overridePermission);
}
