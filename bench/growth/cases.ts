import { caseReference } from "../../src/kernel/parsing.ts";
import { never } from "../../src/kernel/clock.ts";
import { wordRows } from "../../src/features/cases/records.ts";
import type { CaseStatus } from "../../src/features/cases/states.ts";
import type { GrowthStore, People } from "./list.ts";
import { arbitrary, days, few, idOf, oneOf, sentence, snowflake, timeOf } from "./values.ts";

const lead = snowflake(1);

/** Of the oldest ones each has a value that hardly another has; half of the others are open investigations about one person. */
function caseOf(index: number, rows: number, { ordinary }: People) {
  const isRare = index < few;
  const isUsual = !isRare && arbitrary(index, 2) === 0;
  const createdAt = timeOf(index, rows);
  const status: CaseStatus = isRare ? "waiting" : isUsual ? "open" : oneOf(["closed", "active"], index, 1);
  const dueAt = isUsual ? days(-1) : arbitrary(index, 3, 4) === 0 ? null : days(30 + arbitrary(index, 100, 5));
  return {
    id: idOf(index),
    number: index + 1,
    type: isRare ? "appeal" : isUsual ? "investigation" : "general",
    title: `${sentence(index, 4)}${isRare ? " zeppelin" : ""}${isUsual ? " lantern" : ""}`,
    status,
    priority: isRare ? "critical" : isUsual ? "normal" : "low",
    isConfidential: isRare,
    openedBy: isRare ? ordinary : isUsual ? snowflake(2) : snowflake(1000 + arbitrary(index, 900, 3)),
    leadId: isRare ? ordinary : isUsual ? lead : null,
    policies: [],
    originReference: isRare ? `OLD-${index.toString()}00` : null,
    closedAt: status === "closed" ? createdAt : null,
    dueAt,
    dueOrder: dueAt ?? never,
    deletedAt: isRare && index === 1 ? days(-1) : null,
    createdAt,
    updatedAt: createdAt,
  };
}

export const store: GrowthStore = {
  ordinary: "moderator",
  rowsOf(index, rows, people) {
    const row = caseOf(index, rows, people);
    const isUsual = row.leadId === lead;
    return [
      { model: "Case", rows: [row] },
      {
        model: "CaseSubject",
        rows: [{ caseId: row.id, kind: "user", subjectId: isUsual ? snowflake(5) : snowflake(index + 100), name: null }],
      },
      { model: "CaseMember", rows: [{ caseId: row.id, userId: isUsual ? snowflake(6) : snowflake(2000 + arbitrary(index, 900, 6)) }] },
      { model: "CaseLabel", rows: [{ caseId: row.id, label: isUsual ? "harassment" : index < few ? "arson" : "spam" }] },
      { model: "CaseWord", rows: wordRows(row.id, "case", row.title) },
    ];
  },
  counters: (rows) => ({ case: rows }),
  lists: [
    {
      path: "/cases",
      cases: [
        { query: "" },
        { query: "", isDeep: true },
        { query: "sort=-created_at", isDeep: true },
        { query: "sort=due_at" },
        { query: "sort=due_at", isDeep: true },
        { query: "status=open", note: "half" },
        { query: "status=open", note: "half", isDeep: true },
        { query: "status=waiting", note: "four" },
        { query: "status=archived", note: "none" },
        { query: "type=investigation", note: "half" },
        { query: "type=appeal", note: "four" },
        { query: "type=poach", note: "none" },
        { query: "priority=normal", note: "half" },
        { query: "priority=critical", note: "four" },
        { query: "priority=high", note: "none" },
        { query: "label=harassment", note: "half" },
        { query: "label=harassment", note: "half", isDeep: true },
        { query: "label=arson", note: "four" },
        { query: "label=unheard", note: "none" },
        { query: `subject=${snowflake(5)}`, note: "half" },
        { query: `subject=${snowflake(103)}&include_alts=true`, note: "one" },
        { query: "subject=1234567890123456789", note: "none" },
        { query: `lead=${lead}`, note: "half" },
        { query: "lead=@me", note: "four" },
        { query: "lead=1234567890123456789", note: "none" },
        { query: `opened_by=${snowflake(2)}`, note: "half" },
        { query: "opened_by=@me", note: "four" },
        { query: `member=${snowflake(6)}`, note: "half" },
        { query: "member=@me", note: "four" },
        { query: "member=1234567890123456789", note: "none" },
        { query: "confidential=true", note: "four" },
        { query: "confidential=false", note: "nearly all" },
        { query: "overdue=true", note: "half" },
        { query: "overdue=false", note: "half" },
        { query: "origin_reference=OLD-300", note: "one" },
        { query: "origin_reference=OLD-none", note: "none" },
        { query: "q=zeppelin", note: "four" },
        { query: "q=lantern", note: "half" },
        { query: "q=lantern", note: "half", isDeep: true },
        { query: "q=unheard", note: "none" },
        { query: "q=lantern zeppelin", note: "none, half and four" },
        { query: `q=${caseReference(4)}`, note: "none" },
        { query: "deleted=true", note: "one", isForOwner: true },
        { query: `from=${days(-3).toISOString()}`, note: "864" },
        { query: `to=${days(-2000).toISOString()}`, note: "none" },
        { query: "status=closed&label=harassment", note: "none, a quarter and half" },
        { query: "status=open&sort=due_at", note: "half" },
        { query: "lead=@me&sort=due_at", note: "four" },
      ],
    },
  ],
};
