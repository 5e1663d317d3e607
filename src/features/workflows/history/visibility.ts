import type { WorkflowKind } from "../../../kernel/workflow-kinds.ts";
import type { WorkflowStep } from "../../../generated/sqlite/client.ts";
import { can, type Call } from "../../../kernel/call.ts";
import { createVisibility, noClearance, seesRedactions, type Clearance, type FieldClasses } from "../../../kernel/visibility.ts";
import type { Side } from "../comments/comments.policy.ts";
import type { StepView } from "./history.schema.ts";
import { verdicts } from "../state/table.ts";
import { decidePermission, readPermission } from "../requests/workflows.policy.ts";

/** What of a step is for whom. Of the notes and of what was chosen, only what the requester was told is theirs. */
const stepFields: FieldClasses<StepView> = {
  revision: "public",
  action: "public",
  actor: "public",
  client: "staff",
  via: "public",
  at: "public",
  from: "public",
  to: "public",
  note_public: "requester",
  note_internal: "decider",
  data: {
    questions: "public",
    answer: "public",
    assignee: "staff",
    duplicate_of: "public",
    duration: "public",
    effects: "staff",
    changed: { interview: "decider", "*": "public" },
    break_glass: "public",
  },
};
const visible = createVisibility(stepFields);

/** Actions whose note is written among staff. */
const amongStaff = new Set(["claim", "assign", "unassign", "escalate", "deescalate", "hold", "release"]);

export const isVerdict = (action: string): boolean => verdicts.some((verdict) => verdict === action);

/** Whether a verdict only counted among others: its note is for those who decide. */
function isVote({ action, from, to }: WorkflowStep): boolean {
  return (isVerdict(action) && !(to === "approved" || to === "denied")) || (action === "reverse" && from === to);
}

/** A step as a caller sees it who meets the request from one side. */
export function visibleStep(call: Call, row: WorkflowStep, view: StepView, { type, side }: { type: string; side: Side }): StepView {
  const isStaff = side === "staff" && can(call, readPermission);
  const isDecider = isStaff && can(call, decidePermission(type as WorkflowKind));
  const isTold = isVote(row) ? isDecider : isStaff || !amongStaff.has(row.action);
  const clearance: Clearance = { ...noClearance, requester: isTold, staff: isStaff, decider: isDecider };
  return visible(view, clearance, seesRedactions(call));
}
