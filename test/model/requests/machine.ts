import {
  linkedAccountsOf,
  mayKnow,
  open,
  policies,
  reopenable,
  statusOf,
  targetOf,
  usersOf,
  day,
  type Model,
  type Request,
  type Status,
  type Vote,
} from "./model.ts";
import { has, isAtOrAbove } from "./rights.ts";
import { actions, type Act, type Action, type Person } from "./steps.ts";

interface Row {
  from: readonly Status[];
  /** null: the requester alone. */
  needs: string | null;
  isRequesters?: true;
  isDecision?: true;
}
const seen: readonly Status[] = ["pending", "in_review", "escalated"];

/** domain.md §2.4. */
const table: Readonly<Record<Action, Row>> = {
  claim: { from: seen, needs: "workflows.claim" },
  assign: { from: open, needs: "workflows.assign" },
  unassign: { from: open, needs: "workflows.assign" },
  approve: { from: seen, needs: "decide", isDecision: true },
  deny: { from: open, needs: "decide", isDecision: true },
  request_info: { from: seen, needs: "workflows.review" },
  provide_info: { from: ["needs_info"], needs: "workflows.review", isRequesters: true },
  amend: { from: open, needs: "workflows.edit_any", isRequesters: true },
  escalate: { from: ["pending", "in_review", "needs_info"], needs: "workflows.review" },
  deescalate: { from: ["escalated"], needs: "workflows.decide_escalated" },
  hold: { from: open, needs: "workflows.hold" },
  release: { from: open, needs: "decide", isDecision: true },
  withdraw: { from: open, needs: null, isRequesters: true },
  void: { from: open, needs: "workflows.void" },
  reopen: { from: reopenable, needs: "workflows.reopen" },
  reverse: { from: ["approved"], needs: "reverse" },
  abstain: { from: open, needs: "decide", isDecision: true },
  object: { from: open, needs: "decide", isDecision: true },
};

export type Refused = { refused: readonly [status: number, code: string] };
/** Where a move leads; what is absent stays. */
export interface Next {
  status?: Status;
  vote?: Vote["verdict"];
  tier?: number;
  payload?: number;
  assignee?: Person | null;
}
export type Judged = Refused | { replayed: true } | { next: Next };

/** What of an action matters to whether it is legal. */
export type Attempt = Pick<Act, "action" | "steal" | "override" | "revision"> & {
  /** Absent: nobody in particular. */
  assignee?: Person;
  isChanged: boolean;
};

const refuse = (status: number, code: string): Refused => ({ refused: [status, code] });
const denied = refuse(403, "permission_denied");
const illegal = refuse(409, "invalid_transition");
const needOf = (request: Request, { needs }: Row): string | null =>
  needs === "decide" || needs === "reverse" ? `workflows.${request.draft.kind}.${needs}` : needs;

/** Everything an action comes to, domain.md §2.4 and the rules of §1 about interest and rank. */
export function judge(model: Model, request: Request, by: Person, attempt: Attempt): Judged {
  const status = statusOf(model, request);
  const row = table[attempt.action];
  const isOutdated = attempt.revision === "wrong";
  if (isRepeated(model, request, by, attempt))
    return isOutdated && attempt.action === "amend" ? refuse(412, "precondition_failed") : { replayed: true };
  const isOwn = row.isRequesters === true && request.by === by;
  const letsGo = attempt.action === "unassign" && request.assignee === by;
  if (!isOwn && !(letsGo && has(by, "workflows.claim"))) {
    const need = needOf(request, row);
    if (need === null || !has(by, need)) return denied;
    if (row.isDecision === true && request.tier > 0 && open.includes(status) && !has(by, "workflows.decide_escalated")) return denied;
  }
  if (!isOwn && !letsGo) {
    if (isPartial(model, request, by)) return refuse(403, "conflict_of_interest");
    if (isOutranked(model, request, by)) return refuse(403, "hierarchy_violation");
  }
  if (isOutdated) return refuse(412, "precondition_failed");
  if (!row.from.includes(status)) {
    const isLate = (status === "approved" || status === "denied") && (attempt.action === "approve" || attempt.action === "deny");
    return isLate ? refuse(409, "already_decided") : illegal;
  }
  return lead(model, lapse(model, request, by, attempt.action), by, attempt, status);
}

const isVote = (action: Action): boolean => ["approve", "deny", "abstain", "object", "reverse"].includes(action);

/** With each vote those before it are judged: of who is partial or outranked by now, and of a person who voted by two accounts the last counts. */
export function lapse<Voted extends Request>(model: Model, request: Voted, by: Person, action: Action): Voted {
  const status = statusOf(model, request);
  const isReversal = action === "reverse";
  if (!isVote(action) || !(isReversal ? status === "approved" : open.includes(status))) return request;
  const counted = new Set<string>([by, ...linkedAccountsOf(model, by)]);
  const votes = request.votes.toReversed().map((vote) => {
    const isJudged = vote.payload === request.payload && (vote.verdict === "reverse") === isReversal && vote.by !== by;
    if (!isJudged || vote.isLapsed === true) return vote;
    if (counted.has(vote.by) || isPartial(model, request, vote.by) || isOutranked(model, request, vote.by))
      return { ...vote, isLapsed: true };
    for (const name of [vote.by, ...linkedAccountsOf(model, vote.by)]) counted.add(name);
    return vote;
  });
  return { ...request, votes: votes.toReversed() };
}

/** Whether the same was done by the same person. */
function isRepeated(model: Model, request: Request, by: Person, { action, assignee, isChanged }: Attempt): boolean {
  const status = statusOf(model, request);
  const isOpen = open.includes(status);
  const isClaimed = request.leaseUntil > model.now;
  const said = (verdict: Vote["verdict"]) =>
    request.votes.some((vote) => vote.by === by && vote.verdict === verdict && vote.payload === request.payload && vote.isLapsed !== true);
  switch (action) {
    case "approve":
      return said("approve") && (isOpen ? request.held === null : status === "approved");
    case "deny":
      return said("deny") && (isOpen || status === "denied");
    case "abstain":
    case "object":
      return isOpen && said(action);
    case "reverse":
      return said("reverse") && (status === "approved" || status === "reversed");
    case "claim":
      return isOpen && status !== "needs_info" && request.assignee === by && isClaimed;
    case "assign":
      return isOpen && assignee !== undefined && request.assignee === assignee && isClaimed;
    case "hold":
      return isOpen && request.held?.by === by;
    case "withdraw":
      return status === "withdrawn" && request.last?.action === action && request.last.by === by;
    case "void":
      return status === "void" && request.last?.action === action && request.last.by === by;
    case "amend":
      // Nobody finds out by guessing what a payload says that they may not amend.
      return isOpen && !isChanged && (request.by === by || has(by, "workflows.edit_any"));
    default:
      return false;
  }
}

/** Requester, joined, subjects, whom the payload keeps out, the deciders and subjects of what is appealed against; with every account. */
export function isPartial(model: Model, request: Request, by: Person): boolean {
  const { draft } = request;
  const target = targetOf(model, request);
  const partial = new Set<string>([
    request.by,
    ...request.joined,
    ...usersOf(model, draft),
    ...(draft.kind === "investigation" && draft.kept !== null ? [draft.kept] : []),
    ...(target === undefined ? [] : [...usersOf(model, target.draft), ...target.votes.map((vote) => vote.by)]),
  ]);
  return [by, ...linkedAccountsOf(model, by)].some((name) => partial.has(name));
}

export function isOutranked(model: Model, request: Request, by: Person): boolean {
  const target = targetOf(model, request);
  return [...usersOf(model, request.draft), ...(target === undefined ? [] : usersOf(model, target.draft))].some((name) =>
    isAtOrAbove(name, by),
  );
}

const counting = ({ votes, payload }: Pick<Request, "votes" | "payload">, verdict: Vote["verdict"]): Vote[] =>
  votes.filter((vote) => vote.payload === payload && vote.verdict === verdict && vote.isLapsed !== true);

export const sumOf = (request: Pick<Request, "votes" | "payload">): number =>
  counting(request, "approve").length - counting(request, "object").length;

/** One vote per person and payload; a reversal is a matter of its own. */
export function withVote({ votes, payload }: Request, by: Person, verdict: Vote["verdict"]): Vote[] {
  const others = votes.filter(
    (vote) => vote.by !== by || vote.payload !== payload || (vote.verdict === "reverse") !== (verdict === "reverse"),
  );
  return [...others, { by, verdict, payload }];
}

function lead(model: Model, request: Request, by: Person, { action, steal, override, assignee }: Attempt, status: Status): Judged {
  const stays = (...kept: Status[]) => (kept.includes(status) ? status : undefined);
  const mayOverride = has(by, "workflows.override");
  switch (action) {
    case "claim": {
      const isOthers = request.assignee !== null && request.assignee !== by && request.leaseUntil > model.now;
      if (isOthers && !steal) return illegal;
      if (isOthers && !has(by, "workflows.assign")) return denied;
      return { next: { status: stays("escalated") ?? "in_review", assignee: by } };
    }
    case "assign": {
      if (assignee === undefined) return { next: {} };
      const isEligible = has(assignee, "workflows.claim") && !isPartial(model, request, assignee) && !isOutranked(model, request, assignee);
      if (!isEligible) return refuse(403, "conflict_of_interest");
      return { next: { status: stays("escalated", "needs_info") ?? "in_review", assignee } };
    }
    case "unassign":
      return { next: { status: stays("escalated", "needs_info") ?? "pending", assignee: null } };
    case "approve": {
      if (request.held !== null) return illegal;
      const isEnough = sumOf({ votes: withVote(request, by, "approve"), payload: request.payload }) >= request.required + request.tier;
      if (override && !isEnough && !mayOverride) return denied;
      return { next: { status: isEnough || override ? "approved" : (stays("escalated") ?? "in_review"), vote: "approve" } };
    }
    case "deny":
      return { next: { status: "denied", vote: "deny" } };
    case "request_info":
      return { next: { status: "needs_info" } };
    case "provide_info":
      return { next: { status: request.tier > 0 ? "escalated" : request.assignee === null ? "pending" : "in_review" } };
    case "amend":
      return { next: { payload: request.payload + 1 } };
    case "escalate":
      return { next: { status: "escalated", tier: request.tier + 1 } };
    case "deescalate":
      return { next: { status: "in_review", tier: 0 } };
    case "hold":
      return request.held === null ? { next: {} } : illegal;
    case "release":
      return request.held === null ? illegal : { next: {} };
    case "withdraw":
      return { next: { status: "withdrawn" } };
    case "void":
      return { next: { status: "void" } };
    case "reopen": {
      const endedAt = request.status === "expired" || status !== "expired" ? request.endedAt : request.endsAt;
      if (model.now - endedAt > 90 * day) return illegal;
      return { next: { status: "pending", payload: request.payload + 1, tier: 0, assignee: null } };
    }
    case "reverse":
      return reverse(model, request, by, override, mayOverride);
    case "abstain":
      return { next: { vote: "abstain" } };
    case "object": {
      const isTooMuch = status !== "escalated" && sumOf({ votes: withVote(request, by, "object"), payload: request.payload }) <= -2;
      return { next: { vote: "object", ...(isTooMuch && { status: "escalated", tier: request.tier + 1 }) } };
    }
  }
}

function reverse(model: Model, request: Request, by: Person, override: boolean, mayOverride: boolean): Judged {
  const own = new Set<string>([by, ...linkedAccountsOf(model, by)]);
  const approvers = counting(request, "approve");
  const isSole = approvers.length > 0 && approvers.every((vote) => own.has(vote.by));
  const isEnough =
    counting({ ...request, votes: withVote(request, by, "reverse") }, "reverse").length >= policies[request.draft.kind].reversals;
  if (override && (isSole || !isEnough) && !mayOverride) return denied;
  if (isSole && !override) return refuse(403, "conflict_of_interest");
  return { next: { vote: "reverse", ...((isEnough || override) && { status: "reversed" }) } };
}

/** What somebody could do now. */
export function allowedTo(model: Model, request: Request, by: Person): Action[] {
  return actions.filter(
    (action) => "next" in judge(model, request, by, { action, steal: false, override: false, revision: "none", isChanged: true }),
  );
}

export function canSee(model: Model, request: Request, by: Person): boolean {
  const isOwn = request.by === by || request.joined.includes(by);
  return (isOwn || has(by, "workflows.read")) && mayKnow(model, request, by, has(by, "cases.confidential"));
}

/** Whether the permission alone lets somebody ask at all, before the request is looked for. */
export function mayAsk(request: Request, by: Person, action: Action): boolean {
  const row = table[action];
  const need = needOf(request, row);
  return row.isRequesters === true || need === null || action === "unassign" || has(by, need);
}
