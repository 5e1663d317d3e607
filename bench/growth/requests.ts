import { placesOf } from "../../src/features/workflows/requests/changes.ts";
import { isRestricted } from "../../src/features/workflows/requests/workflows.policy.ts";
import { openStatuses, type Status } from "../../src/features/workflows/state/table.ts";
import type { WorkflowKind } from "../../src/kernel/vocabulary.ts";
import type { GrowthStore, People } from "./list.ts";
import { arbitrary, days, few, idOf, oneOf, sentence, snowflake, timeOf } from "./values.ts";

const filer = snowflake(1);
const isOpen = (status: Status): boolean => (openStatuses as readonly Status[]).includes(status);

/** Of the oldest ones each has a value that hardly another has; half of the others are pending reports about one person. */
function requestOf(index: number, rows: number, { ordinary }: People) {
  const isRare = index < few;
  const isUsual = arbitrary(index, 2) === 0;
  const at = timeOf(index, rows);
  const others = ["approved", "denied", "withdrawn", "in_review"] as const satisfies readonly Status[];
  const status: Status = isRare ? "void" : isUsual ? "pending" : oneOf(others, index, 1);
  const type: WorkflowKind = isRare ? "appeal" : isUsual ? "blacklist-user" : oneOf(["punishment", "poach"], index, 2);
  const priority = isRare ? "critical" : isUsual ? "normal" : "low";
  const decidedAt = isOpen(status) ? null : new Date(at.getTime() + 3_600_000);
  const dueDecisionAt = isUsual ? days(-1) : arbitrary(index, 3, 4) === 0 ? null : new Date(at.getTime() + 86_400_000);
  return {
    id: idOf(index),
    reference: `BLU-REQ-${(index + 1).toString().padStart(6, "0")}`,
    type,
    status,
    priority,
    urgent: isUsual,
    title: `${sentence(index, 3)}${isRare ? " zeppelin" : ""}${isUsual ? " lantern" : ""}`,
    summary: sentence(index, 8, 1),
    payload: { user_id: snowflake(index), category: "raid", reason: sentence(index, 12, 1), severity: "high" },
    extra: {},
    requesterId: isRare ? ordinary : isUsual ? filer : snowflake(1000 + arbitrary(index, 900, 3)),
    requestedVia: "rest",
    evidence: [],
    related: [],
    externalId: isRare ? `ext-${index.toString()}` : null,
    approvalsRequired: 2,
    links: [],
    assigneeId: isRare ? ordinary : isUsual ? null : filer,
    isHeld: isUsual,
    lookDueAt: isRare ? days(5) : null,
    escalationTier: isUsual ? 1 + arbitrary(index, 2, 7) : 0,
    dueDecisionAt,
    ...placesOf({ priority, dueDecisionAt }),
    isRestricted: isRestricted(subjectsOf(index)),
    expiresAt: isRare ? days(-200) : days(200 + arbitrary(index, 100, 5)),
    remindAt: null,
    decidedAt,
    firstTouchedAt: decidedAt,
    createdAt: at,
    updatedAt: isRare ? days(1) : arbitrary(index, 2, 6) === 0 ? days(-0.5) : at,
  };
}

/** Restricted ones are the confidential investigations among those of nobody's interest. */
function subjectsOf(index: number) {
  const requestId = idOf(index);
  const isUsual = index >= few && arbitrary(index, 2) === 0;
  const about = { requestId, kind: "user", subjectId: isUsual ? snowflake(5) : snowflake(index + 100) };
  return !isUsual && index >= few && arbitrary(index, 10, 8) === 0 ? [about, { requestId, kind: "restricted", subjectId: "*" }] : [about];
}

export const store: GrowthStore = {
  ordinary: "moderator",
  rowsOf: (index, rows, people) => [
    { model: "WorkflowRequest", rows: [requestOf(index, rows, people)] },
    { model: "WorkflowSubject", rows: subjectsOf(index) },
  ],
  counters: (rows) => ({ "workflow:BLU": rows }),
  lists: [
    {
      path: "/workflows",
      cases: [
        { query: "" },
        { query: "", isDeep: true },
        { query: "sort=-created_at", isDeep: true },
        { query: "sort=created_at" },
        { query: "sort=created_at", isDeep: true },
        { query: "sort=due_decision_at" },
        { query: "sort=due_decision_at", isDeep: true },
        { query: "sort=-updated_at" },
        { query: "sort=-updated_at", isDeep: true },
        { query: "sort=-priority" },
        { query: "sort=-priority", isDeep: true },
        { query: "type=blacklist-user", note: "half" },
        { query: "type=blacklist-user", note: "half", isDeep: true },
        { query: "type=appeal", note: "five" },
        { query: "type=server-merge", note: "none" },
        { query: "type=appeal,server-merge,poach,punishment", note: "half" },
        { query: "type=investigation,recruitment", note: "none" },
        { query: "status=pending", note: "half" },
        { query: "status=pending", note: "half", isDeep: true },
        { query: "status=void", note: "five" },
        { query: "status=reversed", note: "none" },
        { query: "status=expired", note: "none" },
        { query: "status=open", note: "five eighths" },
        { query: "status=open", note: "five eighths", isDeep: true },
        { query: "status=approved,denied", note: "a quarter" },
        { query: "status=needs_info,escalated", note: "none" },
        { query: "status=open&sort=due_decision_at", note: "five eighths" },
        { query: "status=open&sort=-priority", note: "five eighths" },
        { query: "status=open&sort=-updated_at", note: "five eighths" },
        { query: "status=open&type=blacklist-user", note: "half" },
        { query: "status=open&type=appeal", note: "none, five eighths and five" },
        { query: "assignee=none", note: "half" },
        { query: "assignee=@me", note: "five" },
        { query: "assignee=1234567890123456789", note: "none" },
        { query: "requester=@me", note: "five" },
        { query: `requester=${filer}`, note: "half" },
        { query: "requester=1234567890123456789", note: "none" },
        { query: `subject=${snowflake(5)}`, note: "half" },
        { query: `subject=${snowflake(5)}`, note: "half", isDeep: true },
        { query: `subject=${snowflake(103)}`, note: "one" },
        { query: "subject=1234567890123456789", note: "none" },
        { query: "overdue=true", note: "half" },
        { query: "overdue=true&status=approved", note: "none" },
        { query: "overdue=false", note: "half" },
        { query: "review_later=true", note: "five" },
        { query: "review_later=false", note: "all but five" },
        { query: "priority=normal", note: "half" },
        { query: "priority=critical", note: "five" },
        { query: "priority=high", note: "none" },
        { query: "priority=high,critical", note: "five" },
        { query: "urgent=true", note: "half" },
        { query: "urgent=false", note: "half" },
        { query: "held=true", note: "half" },
        { query: "held=false", note: "half" },
        { query: "escalated=true", note: "half" },
        { query: "escalated=false", note: "half" },
        { query: "external_id=ext-3", note: "one" },
        { query: "external_id=ext-none", note: "none" },
        { query: `created_from=${days(-3).toISOString()}`, note: "864" },
        { query: `created_from=${days(1).toISOString()}`, note: "none" },
        { query: `created_to=${days(-2).toISOString()}`, note: "nearly all" },
        { query: `created_to=${days(-2000).toISOString()}`, note: "none" },
        { query: "q=zeppelin", note: "five" },
        { query: "q=lantern", note: "half" },
        { query: "q=unheard", note: "none" },
      ],
    },
  ],
};
