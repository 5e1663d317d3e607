/** Where a request can stand. */
export const statuses = [
  "pending",
  "in_review",
  "needs_info",
  "escalated",
  "approved",
  "denied",
  "withdrawn",
  "expired",
  "void",
  "reversed",
] as const;
export type Status = (typeof statuses)[number];

export const openStatuses = ["pending", "in_review", "needs_info", "escalated"] as const satisfies readonly Status[];

export const actions = ["approve", "deny"] as const;
export type Action = (typeof actions)[number];

export interface Vote {
  actorId: string;
  verdict: Action;
  payloadRevision: number;
}

/** What a decision depends on. `approvalsRequired` counts different people. */
export interface State {
  status: Status;
  revision: number;
  payloadRevision: number;
  approvalsRequired: number;
  votes: readonly Vote[];
}

export interface Context {
  actorId: string;
  /** The actor is the requester, a subject, or otherwise named as partial. */
  isConflicted: boolean;
  /** A subject is staff of the actor's rank or above. */
  isOutranked: boolean;
  /** The revision the actor has seen, when they say so. */
  expectedRevision?: number | undefined;
}

export type Refusal = "conflict_of_interest" | "hierarchy_violation" | "precondition_failed" | "already_decided" | "invalid_transition";

export type Transition =
  | { ok: true; isReplay: boolean; next: Pick<State, "status" | "votes">; isFinal: boolean }
  | { ok: false; refused: Refusal; allowed: Action[] };

interface Row {
  from: readonly Status[];
  /** The decision that ends the request. */
  outcome: Status;
  /** Whether one voice suffices, or the request's number of approvals counts. */
  isSingle: boolean;
}

/** The legal moves; a further action is a further row. */
const table: Readonly<Record<Action, Row>> = {
  approve: { from: ["pending", "in_review", "escalated"], outcome: "approved", isSingle: false },
  deny: { from: openStatuses, outcome: "denied", isSingle: true },
};

/** The one place that decides what an action does to a request. Pure: the same for every door. */
export function transition(state: State, action: Action, context: Context): Transition {
  const row = table[action];
  const refuse = (refused: Refusal): Transition => ({
    ok: false,
    refused,
    allowed: actions.filter((other) => table[other].from.includes(state.status)),
  });
  const isOpen = isOpenStatus(state.status);

  if (hasVoted(state, action, context.actorId) && (isOpen || state.status === row.outcome)) {
    return { ok: true, isReplay: true, next: { status: state.status, votes: state.votes }, isFinal: !isOpen };
  }
  if (context.isConflicted) return refuse("conflict_of_interest");
  if (context.isOutranked) return refuse("hierarchy_violation");
  if (context.expectedRevision !== undefined && context.expectedRevision !== state.revision) return refuse("precondition_failed");
  if (state.status === "approved" || state.status === "denied") return refuse("already_decided");
  if (!row.from.includes(state.status)) return refuse("invalid_transition");

  const votes = withVote(state, { actorId: context.actorId, verdict: action, payloadRevision: state.payloadRevision });
  const isFinal = row.isSingle || approvalsOf({ ...state, votes }) >= state.approvalsRequired;
  // An escalated request keeps its tier while approvals gather: in_review would let the lower tier decide it.
  const waiting = state.status === "escalated" ? "escalated" : "in_review";
  return { ok: true, isReplay: false, next: { status: isFinal ? row.outcome : waiting, votes }, isFinal };
}

/** What this person could do now. */
export function allowedActions(state: State, context: Context): Action[] {
  return actions.filter((action) => {
    const result = transition(state, action, context);
    return result.ok && !result.isReplay;
  });
}

/** How many approve the payload as it is now. */
export function approvalsOf(state: Pick<State, "votes" | "payloadRevision">): number {
  return state.votes.filter((vote) => vote.verdict === "approve" && vote.payloadRevision === state.payloadRevision).length;
}

export function isOpenStatus(status: string): boolean {
  return openStatuses.some((open) => open === status);
}

function hasVoted(state: State, verdict: Action, actorId: string): boolean {
  return state.votes.some((vote) => vote.actorId === actorId && vote.verdict === verdict && vote.payloadRevision === state.payloadRevision);
}

/** One vote per person and payload: who changes their mind replaces it. */
function withVote(state: State, vote: Vote): Vote[] {
  return [...state.votes.filter((other) => other.actorId !== vote.actorId || other.payloadRevision !== vote.payloadRevision), vote];
}
