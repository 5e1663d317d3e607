import { can, type Call } from "../../../kernel/call.ts";
import { createVisibility, noClearance, seesRedactions, type Clearance, type FieldClasses } from "../../../kernel/visibility.ts";
import { workflowKinds, type WorkflowKind } from "../../../kernel/vocabulary.ts";
import type { Kind } from "../kinds/kind.ts";
import { kinds } from "../kinds/kinds.ts";
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
  error: "public",
  changed: "public",
  due_at: "public",
};

/** What of a request is for whom: notes, internal reasons, unknown fields and interviews are for its deciders. */
const requestFields: Omit<FieldClasses<WorkflowView>, "payload"> = {
  id: "public",
  reference: "public",
  type: "public",
  status: "public",
  priority: "public",
  urgent: "public",
  title: "public",
  summary: "public",
  payload_revision: "public",
  place: "public",
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
    votes: { actor: "public", verdict: "public", at: "public", note: "decider", payload_revision: "public", lapsed_at: "public" },
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
  direct: "public",
  look: "public",
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
const visibleOf = byKind((payload) => createVisibility<WorkflowView>({ ...requestFields, payload }));
const payloadOf = byKind((payload) => createVisibility<{ payload: Record<string, unknown> }>({ payload }));

/** What is made once for each kind from the classes of its payload. */
export function byKind<Made>(make: (classes: Kind["classes"]) => Made): ReadonlyMap<string, Made> {
  return new Map(workflowKinds.map((type) => [type, make(kinds[type].classes)]));
}

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
    confidential: readsConfidential(call, type, requesterId),
  };
}

/** Whether a caller reads the confidential fields of a request: as those of the record it leads to, and what they wrote themselves. */
export function readsConfidential(call: Call, type: WorkflowKind, requesterId: string | null): boolean {
  const { confidential } = kinds[type];
  return (requesterId !== null && call.actor?.id === requesterId) || (confidential !== undefined && can(call, confidential));
}

/** The fields of a suggested request that a caller may read. */
export function visibleSuggestion(call: Call, type: WorkflowKind, payload: Record<string, unknown>): Record<string, unknown> {
  const clearance = clearanceFor(call, type, { requesterId: null, isPartial: false });
  return payloadOf.get(type)?.({ payload }, clearance, false).payload ?? {};
}

/** The fields of a payload that a caller may not read, and so may not change. @param isPartial as in {@link visibleRequest} */
export function unreadableFields(
  call: Call,
  type: WorkflowKind,
  { requesterId, isPartial }: { requesterId: string | null; isPartial: boolean },
) {
  const clearance = clearanceFor(call, type, { requesterId, isPartial });
  return new Set(
    Object.entries(kinds[type].classes).flatMap(([field, of]) => (of === "public" || (of !== "secret" && clearance[of]) ? [] : [field])),
  );
}

/** A request without what this viewer may not see. @param isPartial whether they are kept from deciding it: then they are no decider */
export function visibleRequest(call: Call, view: WorkflowView, isPartial: boolean): WorkflowView {
  const clearance = clearanceFor(call, view.type, { requesterId: view.requester?.id ?? null, isPartial });
  return visibleOf.get(view.type)?.(view, clearance, seesRedactions(call)) ?? view;
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
