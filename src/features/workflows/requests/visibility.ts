import { can, type Call } from "../../../kernel/call.ts";
import { createVisibility, noClearance, seesRedactions, type Clearance, type FieldClasses } from "../../../kernel/visibility.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import { decidePermission } from "./workflows.policy.ts";
import type { CreationAnswer, DecisionAnswer, EffectView, WorkflowView } from "./workflows.schema.ts";

/** The records behind effects are named to those who may read them. */
const effectFields: FieldClasses<EffectView> = {
  key: "public",
  status: "public",
  target: "staff",
  detail: "public",
  attempts: "public",
  last_error: "public",
  due_at: "public",
};

/** What of a request is for whom: notes, internal reasons, unknown fields and interviews are for its deciders. */
const requestFields: FieldClasses<WorkflowView> = {
  id: "public",
  reference: "public",
  type: "public",
  status: "public",
  priority: "public",
  urgent: "public",
  title: "public",
  summary: "public",
  payload: { interview: "decider", "*": "public" },
  payload_revision: "public",
  extra: "decider",
  requester: "public",
  requested_via: "public",
  subjects: "public",
  evidence: "public",
  related: "public",
  comments_count: "public",
  origin: "public",
  assignment: "public",
  hold: { by: "public", at: "public", reason: "staff", reference: "public" },
  escalation: { tier: "public", by: "public", at: "public", reason: "staff" },
  questions: "public",
  checks: "decider",
  approvals: {
    have: "public",
    required: "public",
    reversals_required: "public",
    votes: { actor: "public", verdict: "public", at: "public", note: "decider", payload_revision: "public" },
  },
  decision: {
    outcome: "public",
    by: "public",
    at: "public",
    reason_public: "public",
    reason_internal: "decider",
    break_glass: "public",
    policy_refs: "public",
    ruling: "public",
    reversal: { by: "public", at: "public", reason_public: "public", reason_internal: "decider", break_glass: "public" },
  },
  effects: effectFields,
  timers: "public",
  sla: "public",
  links: "public",
  external_id: "public",
  revision: "public",
  created_at: "public",
  updated_at: "public",
  allowed_actions: "public",
  why_not: "public",
};
const visible = createVisibility(requestFields);

/** What of the answer to a decision is for whom. */
const decisionFields: FieldClasses<DecisionAnswer> = {
  success: "public",
  id: "public",
  reference: "public",
  status: "public",
  final: "public",
  revision: "public",
  approvals: "public",
  effects: effectFields,
  dry_run: "public",
  blockers: "public",
  replayed: "public",
};
const visibleDecided = createVisibility(decisionFields);

/** What of the answer to a filing is for whom. */
const creationFields: FieldClasses<CreationAnswer> = {
  success: "public",
  id: "public",
  reference: "public",
  status: "public",
  joined: "public",
  warnings: "public",
  duplicates: "staff",
  effects_preview: "public",
};
const visibleCreated = createVisibility(creationFields);

/** Staff here are those who may read the records that a request led to. */
function clearanceFor(
  call: Call,
  type: WorkflowKind,
  { requesterId, isPartial }: { requesterId: string | null; isPartial: boolean },
): Clearance {
  return {
    ...noClearance,
    requester: requesterId !== null && call.actor?.id === requesterId,
    staff: can(call, "blacklist.read"),
    decider: !isPartial && can(call, decidePermission(type)),
  };
}

/** A request without what this viewer may not see. @param isPartial whether they are kept from deciding it: then they are no decider */
export function visibleRequest(call: Call, view: WorkflowView, isPartial: boolean): WorkflowView {
  return visible(view, clearanceFor(call, view.type, { requesterId: view.requester?.id ?? null, isPartial }), seesRedactions(call));
}

/** The answer to a decision, without what its caller may not see now. */
export function visibleDecision(call: Call, type: WorkflowKind, answer: DecisionAnswer): DecisionAnswer {
  return visibleDecided(answer, clearanceFor(call, type, { requesterId: null, isPartial: false }), seesRedactions(call));
}

/** The answer to a filing: other requests are named to those who may read requests. */
export function visibleCreation(call: Call, answer: CreationAnswer): CreationAnswer {
  const clearance = { ...noClearance, requester: true, staff: can(call, "workflows.read") };
  return visibleCreated(answer, clearance, seesRedactions(call));
}
