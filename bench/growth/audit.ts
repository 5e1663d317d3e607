import { caseReference } from "../../src/kernel/parsing.ts";
import type { GrowthStore, People } from "./list.ts";
import { arbitrary, days, few, idOf, oneOf, sentence, snowflake, timeOf } from "./values.ts";

/** Of so many entries one makes a confidential case and a restricted request, which a few entries are about. */
const group = 50;
const [bulkActor, rareActor, subject, rareSubject] = [snowflake(7), snowflake(8), snowflake(9), snowflake(10)];
const [client, rareClient] = ["01990000-00aa-7000-8000-000000000001", "01990000-00aa-7000-8000-000000000002"];

/** What an entry is about: hidden cases and requests, or a record of its own. */
function targetOf(index: number): { targetKind: string; targetId: string; targetReference: string | null } {
  const place = index % group;
  const of = index - place;
  if (place > 0 && place < 5) return { targetKind: "case", targetId: idOf(of, 2), targetReference: caseReference(of / group + 1) };
  if (place >= 5 && place < 10) return { targetKind: "request", targetId: idOf(of, 3), targetReference: requestReference(of) };
  return { targetKind: "blacklist", targetId: idOf(index), targetReference: `BL-${(index + 1).toString().padStart(6, "0")}` };
}

function requestReference(of: number): string {
  return `BLU-REQ-${(of / group + 1).toString().padStart(6, "0")}`;
}

function entryOf(index: number, entries: number, { owner, ordinary }: People) {
  const isRare = index < few;
  const isUsual = arbitrary(index, 2) === 0;
  const target = targetOf(index);
  return {
    seq: index + 1,
    id: idOf(index, 1),
    at: timeOf(index, entries),
    action: isRare
      ? "owner.add"
      : target.targetKind === "case"
        ? "case.note"
        : isUsual
          ? "blacklist.create"
          : oneOf(["workflow.file", "staff.update"], index, 1),
    outcome: isRare ? "denied" : "ok",
    actorId: isRare ? rareActor : oneOf([bulkActor, owner, ordinary, null], index, 2),
    clientId: isRare ? rareClient : isUsual ? client : null,
    via: isRare ? "cli" : isUsual ? "rest" : oneOf(["slash", "job"], index, 3),
    ...target,
    subjectUserId: isRare ? rareSubject : isUsual ? subject : oneOf([snowflake(index), null], index, 4),
    guildId: null,
    requestId: isRare ? "rare-request" : `request-${index.toString()}`,
    permissionUsed: "blacklist.create",
    breakGlass: false,
    payloadCommitment: hex(index, 1),
    erased: null,
    prevHash: hex(index - 1, 2),
    hash: hex(index, 2),
  };
}

function hex(index: number, kind: number): string {
  return `${kind.toString(16)}${index.toString(16).padStart(63, "0")}`;
}

/** A case and a request that only their teams and holders of cases.confidential may know of, and what a case suggests. */
function hiddenOf(index: number, entries: number) {
  const at = timeOf(index, entries);
  const number = index / group + 1;
  const made = { createdAt: at, updatedAt: at, revision: 1 };
  const matter = { title: "A matter", status: "open", priority: "normal", isConfidential: true, openedBy: bulkActor, policies: [] };
  const request = {
    id: idOf(index, 3),
    reference: requestReference(index),
    type: "investigation",
    status: "pending",
    priority: "normal",
    urgent: false,
    title: "A matter",
    summary: "A matter",
    payload: {},
    extra: {},
    requesterId: bulkActor,
    requestedVia: "rest",
    evidence: [],
    related: [],
    approvalsRequired: 1,
    links: [],
    ...made,
  };
  const draft = { type: "investigation", payload: {}, subjectKind: "user", subjectId: subject, cause: "Points.", status: "dismissed" };
  return [
    { model: "Case", rows: [{ id: idOf(index, 2), number, type: "investigation", ...matter, ...made }] },
    { model: "CaseSubject", rows: [{ caseId: idOf(index, 2), kind: "user", subjectId: subject }] },
    { model: "WorkflowRequest", rows: [request] },
    { model: "WorkflowSubject", rows: [{ requestId: idOf(index, 3), kind: "restricted", subjectId: "*" }] },
    {
      model: "RequestDraft",
      rows: [{ id: idOf(index, 4), ...draft, causeReference: caseReference(number), caseNumber: number, createdAt: at, revision: 1 }],
    },
  ] as const;
}

/** Filters of both lists. */
const both = [
  { query: "" },
  { query: "", isDeep: true },
  { query: "action=blacklist.create", note: "nearly half" },
  { query: "action=case.note", note: "a twelfth, all about confidential cases" },
  { query: "action=owner.add", note: "five" },
  { query: "action=owner.remove", note: "none" },
  { query: "action=blacklist.create,workflow.file", note: "more than half" },
  { query: "action=owner.add,owner.remove", note: "five" },
  { query: "action_prefix=blacklist.", note: "nearly half" },
  { query: "action_prefix=owner.", note: "five" },
  { query: "action_prefix=nothing.", note: "none" },
  { query: "target=BL-000021", note: "one" },
  { query: "target=BL-999999", note: "none" },
  { query: `target=blacklist:${idOf(20)}`, note: "one" },
  { query: `target=${idOf(0, 2)}`, note: "some, all about a confidential case" },
  { query: `subject=${subject}`, note: "half" },
  { query: `subject=${rareSubject}`, note: "five" },
  { query: "subject=1234567890123456789", note: "none" },
  { query: `client=${client}`, note: "half" },
  { query: `client=${rareClient}`, note: "five" },
  { query: "client=none", note: "none" },
  { query: "via=rest", note: "half" },
  { query: "via=rest", note: "half", isDeep: true },
  { query: "via=cli", note: "five" },
  { query: "via=web", note: "none" },
  { query: "outcome=ok", note: "nearly all" },
  { query: "outcome=denied", note: "five" },
  { query: "outcome=failed", note: "none" },
  { query: "request_id=request-100", note: "one" },
  { query: "request_id=nothing", note: "none" },
  { query: (entries: number) => `from=${timeOf(entries - 400, entries).toISOString()}`, note: "the youngest" },
  { query: (entries: number) => `to=${timeOf(few, entries).toISOString()}`, note: "the oldest five" },
  { query: (entries: number) => `to=${timeOf(entries / 2, entries).toISOString()}`, note: "half" },
  { query: `from=${days(10).toISOString()}`, note: "none" },
  { query: "q=blacklist", note: "nearly all" },
  { query: "q=owner.add", note: "five" },
  { query: "q=unheard", note: "none" },
  { query: "via=cli&outcome=ok", note: "none, five and nearly all" },
  { query: "via=slash&action=blacklist.create", note: "none, a quarter and half" },
  { query: `client=${client}&via=job`, note: "none, half and a quarter" },
  { query: `subject=${subject}&action=staff.update`, note: "none, half and a quarter" },
] as const satisfies GrowthStore["lists"][number]["cases"];

export const store: GrowthStore = {
  ordinary: "senior",
  entriesPerSize: 5,
  rowsOf(index, entries, people) {
    const entry = entryOf(index, entries, people);
    const payload = {
      reason: index < few ? "A rare reason." : sentence(index, 6),
      before: null,
      after: { severity: "high", note: sentence(index, 8, 1) },
    };
    return [
      ...(index % group === 0 ? hiddenOf(index, entries) : []),
      { model: "AuditEntry", rows: [entry] },
      { model: "AuditPayload", rows: [{ seq: entry.seq, salt: "c2FsdHNhbHRzYWx0c2FsdA", payload }] },
    ];
  },
  counters: (entries) => ({ audit: entries, cases: entries / group }),
  lists: [
    {
      path: "/audit",
      cases: [
        ...both,
        { query: `actor=${bulkActor}`, note: "a quarter" },
        { query: `actor=${rareActor}`, note: "five" },
        { query: "actor=1234567890123456789", note: "none" },
        { query: `actor=${bulkActor}&action=owner.add`, note: "none, a quarter and five" },
        { query: `actor=${bulkActor}&action=blacklist.create`, note: "an eighth" },
        { query: `actor=${rareActor}&action=blacklist.create`, note: "none, five and half" },
      ],
    },
    { path: "/audit/mine", cases: both },
  ],
};
