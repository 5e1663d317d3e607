import { catalog, levelOrder, type Level } from "../../src/kernel/permissions.ts";
import { transition, type Attempt, type Context, type State, type Vote } from "../../src/features/workflows/state/transition.ts";
import type { Action } from "../../src/features/workflows/state/table.ts";
import type { Cell, Role, StatusName } from "./workflows-table.ts";

/** How high each role of the table stands. */
export const levelOfRole: Readonly<Record<Role, Level>> = {
  filer: "none",
  requester: "admin",
  subject: "admin",
  linked: "admin",
  joined: "admin",
  reviewer: "moderator",
  decider: "senior",
  higher: "admin",
  owner: "owner",
  outranked: "admin",
  bystander: "viewer",
  stranger: "none",
  assignee: "moderator",
  first: "admin",
  sole: "admin",
};

const held = new Map<Level, ReadonlySet<string>>();

/** Whether a level has a permission unless told otherwise. */
export function levelCan(level: Level, permission: string): boolean {
  const found =
    held.get(level) ??
    new Set(catalog.filter(({ default_level: least }) => least !== "none" && levelOrder[least] <= levelOrder[level]).map(({ key }) => key));
  held.set(level, found);
  return found.has(permission);
}

/** The votes that a role has given, and by whom else. */
export function votesOf(
  role: Role,
  status: StatusName,
  actorId: string,
  other: string,
): { votes: Vote[]; payloadRevision: number; required: number } {
  if (role === "first") {
    const both = ["approved", "reversed"].includes(status) ? [actorId, other] : [actorId];
    return { votes: both.map((id) => ({ actorId: id, verdict: "approve", payloadRevision: 1 })), payloadRevision: 1, required: 2 };
  }
  if (role === "sole")
    return { votes: [{ actorId, verdict: "approve", payloadRevision: 1 }], payloadRevision: status === "approved" ? 1 : 2, required: 1 };
  const votes: Vote[] = status === "approved" || status === "reversed" ? [{ actorId: other, verdict: "approve", payloadRevision: 1 }] : [];
  return { votes, payloadRevision: 1, required: 1 };
}

export function stateOfCell(role: Role, action: string, status: StatusName): State {
  const { votes, payloadRevision, required } = votesOf(role, status, "me", "other");
  return {
    type: "punishment",
    status,
    revision: 3,
    payloadRevision,
    approvalsRequired: required,
    reversalsRequired: 1,
    denyNeedsMajority: false,
    tier: status === "escalated" ? 1 : 0,
    isHeld: action === "release" && ["pending", "in_review", "needs_info", "escalated"].includes(status),
    holdBy: "other",
    assigneeId: role === "assignee" ? "me" : null,
    isClaimLive: role === "assignee",
    votes,
    endedFor: 3600,
    last: { action: "create", actorId: "other" },
  };
}

export function contextOfRole(role: Role): Context {
  return {
    actorId: "me",
    isRequester: role === "filer" || role === "requester",
    isConflicted: ["filer", "requester", "subject", "linked", "joined"].includes(role),
    isOutranked: role === "outranked" || role === "subject",
    can: (permission) => levelCan(levelOfRole[role], permission),
  };
}

/** What the function of moves makes of a cell. */
export function describeCell(role: Role, action: string, status: StatusName): Cell {
  const attempt: Attempt = {
    action: action as Action,
    isChanged: true,
    ...(action === "assign" && { assignee: { id: "colleague", isEligible: true } }),
  };
  const result = transition(stateOfCell(role, action, status), attempt, contextOfRole(role));
  if (!result.ok) return { is: "refused", code: result.refused };
  return result.isReplay ? { is: "replayed" } : { is: "moves", to: result.next.status };
}
