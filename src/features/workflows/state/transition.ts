import { say } from "../../../kit/say.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import type { PermissionKey } from "../../../kernel/permissions.ts";
import {
  actions,
  assignPermission,
  claimPermission,
  decideEscalated,
  isOpenStatus,
  moves,
  overridePermission,
  permissionOf,
  type Action,
  type Status,
  type Verdict,
} from "./table.ts";

export interface Vote {
  actorId: string;
  verdict: Verdict | "reverse";
  payloadRevision: number;
}

/** A vote as it is counted, whatever else is known of it. */
type Ballot = Pick<Vote, "actorId" | "payloadRevision"> & { verdict: string };
interface Voted {
  votes: readonly Ballot[];
  payloadRevision: number;
}

/** What a move depends on. `approvalsRequired` counts different people on tier 0; every tier asks for one more. */
export interface State {
  type: WorkflowKind;
  status: Status;
  revision: number;
  payloadRevision: number;
  approvalsRequired: number;
  reversalsRequired: number;
  /** Whether a denial needs as many voices as an approval. */
  denyNeedsMajority: boolean;
  tier: number;
  isHeld: boolean;
  holdBy: string | null;
  assigneeId: string | null;
  /** Whether the claim still holds off others. */
  isClaimLive: boolean;
  votes: readonly Vote[];
  /** Seconds since it was denied, withdrawn or expired. */
  endedFor: number;
  /** What was done to it last, and by whom. */
  last: { action: string; actorId: string | null } | null;
}

/** How somebody stands towards a request. */
export interface Context {
  actorId: string;
  isRequester: boolean;
  /** Named as partial: requester, subject, a linked account of either, or kept out. */
  isConflicted: boolean;
  /** A subject is staff of the actor's rank or above. */
  isOutranked: boolean;
  /** Their further accounts: what one of them said, the same person said. */
  accounts?: readonly string[];
  /** It is their own direct decision, young enough for them to take back alone, and they may still make it. */
  isOwnDirectUndo?: boolean;
  can(permission: PermissionKey): boolean;
}

/** What a person asks for. */
export interface Attempt {
  action: Action;
  /** Whether they mean another revision than the stored one. */
  isOutdated?: boolean | undefined;
  /** Take a claim over that somebody else still holds. */
  steal?: boolean | undefined;
  /** Decide alone what needs more people: break-glass. */
  override?: boolean | undefined;
  /** Whom to assign, and why that person cannot be. */
  assignee?: { id: string; isEligible: boolean } | undefined;
  /** Whether an amendment changes the payload. */
  isChanged?: boolean | undefined;
  /** Whether an amendment changes what only describes the request: its title, its priority. */
  isDescribed?: boolean | undefined;
}

export type Refusal =
  | "permission_denied"
  | "conflict_of_interest"
  | "hierarchy_violation"
  | "precondition_failed"
  | "already_decided"
  | "invalid_transition";

/** Where a move leads. */
export type Next = Pick<State, "status" | "votes" | "tier" | "isHeld" | "assigneeId" | "payloadRevision">;

export interface Moved {
  ok: true;
  isReplay: boolean;
  next: Next;
  /** Whether the action is carried out, or is a vote that waits for others. */
  isFinal: boolean;
  /** Whether one person did what needs more. */
  isBreakGlass: boolean;
}

export interface Refused {
  ok: false;
  refused: Refusal;
  detail?: string;
  /** The permission that is missing. */
  required?: string;
}

export type Transition = Moved | Refused;

const day = 86_400;
const reopenableFor = 90 * day;
const objectionsThatEscalate = -2;

/** The one place that decides what an action does to a request. Pure: the same for every transport. */
export function transition(state: State, attempt: Attempt, context: Context): Transition {
  const { action } = attempt;
  if (isReplayed(state, attempt, context)) {
    // A decision is repeated by whoever has lost its answer; an amendment says what the request is to be, as every change does.
    const refused = action === "amend" ? refusedByRevision(attempt) : undefined;
    return refused ?? moved(state, {}, { isReplay: true, isFinal: !isOpenStatus(state.status) });
  }
  return (
    refusedByRight(state, attempt, context) ??
    refusedByPartiality(state, attempt, context) ??
    refusedByRevision(attempt) ??
    refusedByStatus(state, action) ??
    rules[action](state, attempt, context)
  );
}

/** What this person could do now, without taking a claim away from somebody; `why` says of the rest why not. */
export function allowedActions(state: State, context: Context, why?: (action: Action, refused: Refused) => void): Action[] {
  return actions.filter((action) => {
    const result = transition(state, { action, isChanged: true }, context);
    if (!result.ok) why?.(action, result);
    return result.ok && !result.isReplay;
  });
}

/** The actions that the status alone allows, for refusals. */
export function actionsFrom(status: Status): Action[] {
  return actions.filter((action) => moves[action].from.includes(status));
}

/** How many approve the current payload; each objection takes one away. */
export function approvalsOf(state: Pick<State, "votes" | "payloadRevision">): number {
  return Math.max(0, sumOf(state));
}

export function requiredOf({ approvalsRequired, tier }: Pick<State, "approvalsRequired" | "tier">): number {
  return approvalsRequired + tier;
}

/** The people who approved the current payload. */
export function approversOf(state: Voted): string[] {
  return current(state, "approve").map(({ actorId }) => actorId);
}

/**
 * Why somebody could not cast a vote now that they have cast; undefined: they could.
 * @param state as it was for them: on the tier of their vote
 */
export function refusedVote(state: State, verdict: Vote["verdict"], context: Context): Refused | undefined {
  return refusedByRight(state, { action: verdict }, context) ?? refusedByPartiality(state, { action: verdict }, context);
}

type Rule = (state: State, attempt: Attempt, context: Context) => Transition;

const rules: Readonly<Record<Action, Rule>> = {
  claim(state, { steal = false }, { actorId, can }) {
    const isOthers = state.assigneeId !== null && state.assigneeId !== actorId && state.isClaimLive;
    if (isOthers && !steal) return refuse("invalid_transition", say("workflows.somebody-else-has-claimed-it-say-steal"));
    if (isOthers && !can(assignPermission)) return missing(assignPermission);
    return moved(state, { status: unless(state, ["escalated"], "in_review"), assigneeId: actorId });
  },
  assign(state, { assignee }) {
    if (assignee === undefined) return moved(state, {});
    if (!assignee.isEligible) return refuse("conflict_of_interest", say("workflows.the-person-named-cannot-decide-this-request"));
    return moved(state, { status: unless(state, ["escalated", "needs_info"], "in_review"), assigneeId: assignee.id });
  },
  unassign: (state) => moved(state, { status: unless(state, ["escalated", "needs_info"], "pending"), assigneeId: null }),
  approve(state, { override = false }, { actorId, can }) {
    if (state.isHeld) return refuse("invalid_transition", say("workflows.it-is-held-it-has-to-be"));
    const votes = withVote(state, actorId, "approve");
    const isEnough = sumOf({ ...state, votes }) >= requiredOf(state);
    if (override && !isEnough && !can(overridePermission)) return missing(overridePermission);
    if (isEnough || override) return moved(state, { status: "approved", votes }, { isBreakGlass: !isEnough });
    // An escalated request keeps its tier while approvals gather: in_review would let the lower tier decide it.
    return moved(state, { status: unless(state, ["escalated"], "in_review"), votes }, { isFinal: false });
  },
  deny(state, { override = false }, { actorId, can }) {
    const votes = withVote(state, actorId, "deny");
    const isEnough = !state.denyNeedsMajority || current({ ...state, votes }, "deny").length >= requiredOf(state);
    if (override && !isEnough && !can(overridePermission)) return missing(overridePermission);
    if (isEnough || override) return moved(state, { status: "denied", votes }, { isBreakGlass: !isEnough });
    return moved(state, { status: unless(state, ["escalated", "needs_info"], "in_review"), votes }, { isFinal: false });
  },
  request_info: (state) => moved(state, { status: "needs_info" }),
  provide_info: (state) => moved(state, { status: state.tier > 0 ? "escalated" : state.assigneeId === null ? "pending" : "in_review" }),
  // What only describes a request was no ground of any vote.
  amend: (state, { isChanged }) => moved(state, { payloadRevision: state.payloadRevision + (isChanged === false ? 0 : 1) }),
  escalate: (state) => moved(state, { status: "escalated", tier: state.tier + 1 }),
  deescalate: (state) => moved(state, { status: "in_review", tier: 0 }),
  hold: (state) => (state.isHeld ? refuse("invalid_transition", say("workflows.it-is-held-already")) : moved(state, { isHeld: true })),
  release: (state) => (state.isHeld ? moved(state, { isHeld: false }) : refuse("invalid_transition", say("workflows.it-is-not-held"))),
  withdraw: (state) => moved(state, { status: "withdrawn" }),
  void: (state) => moved(state, { status: "void" }),
  reopen(state) {
    if (state.endedFor > reopenableFor) return refuse("invalid_transition", say("workflows.it-ended-more-than-90-days-ago"));
    const again = { status: "pending", payloadRevision: state.payloadRevision + 1, tier: 0, isHeld: false, assigneeId: null } as const;
    return moved(state, again);
  },
  reverse(state, { override = false }, { actorId, accounts = [], isOwnDirectUndo = false, can }) {
    const approvers = approversOf(state);
    const isSole = approvers.length > 0 && approvers.every((id) => id === actorId || accounts.includes(id));
    const votes = withVote(state, actorId, "reverse");
    if (isSole && isOwnDirectUndo) return moved(state, { status: "reversed", votes });
    const isEnough = current({ ...state, votes }, "reverse").length >= state.reversalsRequired;
    if (override && (isSole || !isEnough) && !can(overridePermission)) return missing(overridePermission);
    if (isSole && !override) return refuse("conflict_of_interest", say("workflows.whoever-decided-alone-does-not-reverse-the"));
    if (isEnough || override) return moved(state, { status: "reversed", votes }, { isBreakGlass: isSole || !isEnough });
    return moved(state, { votes }, { isFinal: false });
  },
  abstain: (state, _attempt, { actorId }) => moved(state, { votes: withVote(state, actorId, "abstain") }, { isFinal: false }),
  object(state, _attempt, { actorId }) {
    const votes = withVote(state, actorId, "object");
    const isEscalated = state.status !== "escalated" && sumOf({ ...state, votes }) <= objectionsThatEscalate;
    const next = isEscalated ? { status: "escalated" as const, tier: state.tier + 1, votes } : { votes };
    return moved(state, next, { isFinal: false });
  },
};

/** Whether the same person asks again for what they have done already. */
function isReplayed(state: State, attempt: Attempt, context: Context): boolean {
  const { action, assignee, isChanged, isDescribed = false } = attempt;
  const { actorId } = context;
  const isOpen = isOpenStatus(state.status);
  const hasSaid = (verdict: string): boolean => current(state, verdict).some((vote) => vote.actorId === actorId);
  switch (action) {
    case "approve":
      return hasSaid("approve") && (isOpen || state.status === "approved") && !(isOpen && state.isHeld);
    case "deny":
      return hasSaid("deny") && (isOpen || state.status === "denied");
    case "abstain":
    case "object":
      return isOpen && hasSaid(action);
    case "reverse":
      return hasSaid("reverse") && (state.status === "approved" || state.status === "reversed");
    case "claim":
      return isOpen && state.status !== "needs_info" && state.assigneeId === actorId && state.isClaimLive;
    case "assign":
      return isOpen && assignee !== undefined && state.assigneeId === assignee.id && state.isClaimLive;
    case "hold":
      return isOpen && state.isHeld && state.holdBy === actorId;
    case "withdraw":
    case "void":
      return state.status === moves[action].to && state.last?.action === action && state.last.actorId === actorId;
    case "amend":
      // Anyone who may not amend must not find out by guessing what the payload says.
      return isOpen && isChanged === false && !isDescribed && refusedByRight(state, attempt, context) === undefined;
    default:
      return false;
  }
}

function refusedByRight(state: State, { action }: Attempt, context: Context): Refused | undefined {
  const { isRequesters = false, isDecision = false } = moves[action];
  const permission = permissionOf(action, state.type);
  if (isRequesters && context.isRequester) return undefined;
  if (action === "reverse" && context.isOwnDirectUndo === true) return undefined;
  // Anyone who has claimed a request may let go of it.
  if (action === "unassign" && state.assigneeId === context.actorId && context.can(claimPermission)) return undefined;
  if (permission === null)
    return {
      ok: false,
      refused: "permission_denied",
      required: "requester",
      detail: say("workflows.only-its-requester-withdraws-a-request-staff"),
    };
  if (!context.can(permission)) return missing(permission);
  if (isDecision && state.tier > 0 && isOpenStatus(state.status) && !context.can(decideEscalated)) return missing(decideEscalated);
  return undefined;
}

function refusedByPartiality(state: State, { action }: Attempt, context: Context): Refused | undefined {
  if (moves[action].isRequesters === true && context.isRequester) return undefined;
  // To let go of a claim takes no part in the decision.
  if (action === "unassign" && state.assigneeId === context.actorId) return undefined;
  if (context.isConflicted) return refuse("conflict_of_interest");
  if (context.isOutranked) return refuse("hierarchy_violation");
  return undefined;
}

function refusedByRevision({ isOutdated = false }: Attempt): Refused | undefined {
  return isOutdated ? refuse("precondition_failed") : undefined;
}

function refusedByStatus(state: State, action: Action): Refused | undefined {
  if (moves[action].from.includes(state.status)) return undefined;
  const isDecided = state.status === "approved" || state.status === "denied";
  return refuse(isDecided && (action === "approve" || action === "deny") ? "already_decided" : "invalid_transition");
}

function moved(state: State, change: Partial<Next>, notes: { isReplay?: boolean; isFinal?: boolean; isBreakGlass?: boolean } = {}): Moved {
  const { status, votes, tier, isHeld, assigneeId, payloadRevision } = state;
  const next = { status, votes, tier, isHeld, assigneeId, payloadRevision, ...change };
  const isOpen = isOpenStatus(next.status);
  const { isReplay = false, isBreakGlass = false, isFinal = !isOpen } = notes;
  return { ok: true, isReplay, next: { ...next, isHeld: isOpen && next.isHeld }, isFinal, isBreakGlass };
}

function refuse(refused: Refusal, detail?: string): Refused {
  return { ok: false, refused, ...(detail !== undefined && { detail }) };
}

function missing(required: string): Refused {
  return { ok: false, refused: "permission_denied", required };
}

function unless({ status }: State, stay: readonly Status[], to: Status): Status {
  return stay.includes(status) ? status : to;
}

/** Votes of one kind on the current payload. */
function current({ votes, payloadRevision }: Voted, verdict: string): Ballot[] {
  return votes.filter((vote) => vote.verdict === verdict && vote.payloadRevision === payloadRevision);
}

function sumOf(state: Pick<State, "votes" | "payloadRevision">): number {
  return current(state, "approve").length - current(state, "object").length;
}

/** One vote per person and payload: who changes their mind replaces it. Reversals are votes of their own. */
function withVote(state: State, actorId: string, verdict: Vote["verdict"]): Vote[] {
  const isSameMatter = (vote: Vote): boolean => (vote.verdict === "reverse") === (verdict === "reverse");
  const isReplaced = (vote: Vote): boolean =>
    vote.actorId === actorId && vote.payloadRevision === state.payloadRevision && isSameMatter(vote);
  return [...state.votes.filter((vote) => !isReplaced(vote)), { actorId, verdict, payloadRevision: state.payloadRevision }];
}
