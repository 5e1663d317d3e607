import type { PermissionKey, RoutePermission } from "../../../kernel/permissions.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";

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
const reviewable = ["pending", "in_review", "escalated"] as const satisfies readonly Status[];

/** What a person can do to a request; `expire` is what time does. */
export const actions = [
  "claim",
  "assign",
  "unassign",
  "approve",
  "deny",
  "request_info",
  "provide_info",
  "amend",
  "escalate",
  "deescalate",
  "hold",
  "release",
  "withdraw",
  "void",
  "reopen",
  "reverse",
  "abstain",
  "object",
] as const;
export type Action = (typeof actions)[number];

/** Verdicts a person can give on a payload. */
export const verdicts = ["approve", "deny", "abstain", "object"] as const satisfies readonly Action[];
export type Verdict = (typeof verdicts)[number];

/** One line of the table of legal moves; a further action is a further line. */
export interface Move {
  from: readonly Status[];
  /** What the table of permissions asks for; `{type}` stands for the kind. null: the requester alone. */
  permission: RoutePermission | null;
  /** Whether the requester may, too. */
  isRequesters?: true;
  /** Whether deciding on a higher tier needs `workflows.decide_escalated` besides. */
  isDecision?: true;
  /** Where it leads, in words; the rules stand in `transition`. */
  to: string;
}

export const decideEscalated = "workflows.decide_escalated";
export const assignPermission = "workflows.assign";
export const amendPermission = "workflows.edit_any";
export const claimPermission = "workflows.claim";
export const overridePermission = "workflows.override";

/** The legal moves, in the order of {@link actions}. */
export const moves: Readonly<Record<Action, Move>> = {
  claim: { from: reviewable, permission: claimPermission, to: "in_review; escalated stays" },
  assign: { from: openStatuses, permission: assignPermission, to: "in_review; needs_info and escalated stay" },
  unassign: { from: openStatuses, permission: assignPermission, to: "pending; needs_info and escalated stay" },
  approve: {
    from: reviewable,
    permission: "workflows.{type}.decide",
    isDecision: true,
    to: "approved with enough approvals, else in_review; escalated stays",
  },
  deny: { from: openStatuses, permission: "workflows.{type}.decide", isDecision: true, to: "denied" },
  request_info: { from: reviewable, permission: "workflows.review", to: "needs_info" },
  provide_info: {
    from: ["needs_info"],
    permission: "workflows.review",
    isRequesters: true,
    to: "in_review if claimed, else pending; escalated if it was",
  },
  amend: { from: openStatuses, permission: amendPermission, isRequesters: true, to: "same; earlier votes lapse" },
  escalate: { from: ["pending", "in_review", "needs_info"], permission: "workflows.review", to: "escalated, one tier up" },
  deescalate: { from: ["escalated"], permission: decideEscalated, to: "in_review" },
  hold: { from: openStatuses, permission: "workflows.hold", to: "same, held" },
  release: { from: openStatuses, permission: "workflows.{type}.decide", isDecision: true, to: "same, not held" },
  withdraw: { from: openStatuses, permission: null, isRequesters: true, to: "withdrawn" },
  void: { from: openStatuses, permission: "workflows.void", to: "void" },
  reopen: { from: ["denied", "withdrawn", "expired"], permission: "workflows.reopen", to: "pending; earlier votes lapse" },
  reverse: { from: ["approved"], permission: "workflows.{type}.reverse", to: "reversed with enough reversals, else approved" },
  abstain: { from: openStatuses, permission: "workflows.{type}.decide", isDecision: true, to: "same" },
  object: {
    from: openStatuses,
    permission: "workflows.{type}.decide",
    isDecision: true,
    to: "same; escalated once the votes sum up to -2",
  },
};

/** The permission of an action for a kind of request; null: it is the requester's alone. */
export function permissionOf(action: Action, type: WorkflowKind): PermissionKey | null {
  return (moves[action].permission?.replace("{type}", type) as PermissionKey | undefined) ?? null;
}

export function isOpenStatus(status: string): boolean {
  return openStatuses.some((open) => open === status);
}
