import { readFileSync } from "node:fs";
import type { Tx } from "../../src/database/database.ts";
import { registry } from "../../src/features/privacy/registry/erase.ts";
import type { Model, PersonalText } from "../../src/features/privacy/registry/types.ts";

/** Every free text about a person that the registry knows, as `Model.column`. */
export function personalTexts(): Map<string, PersonalText & { about: unknown }> {
  const found = new Map<string, PersonalText & { about: unknown }>();
  for (const [model, entry] of Object.entries(registry))
    for (const [name, column] of Object.entries(entry.columns))
      if (typeof column === "object") found.set(`${model}.${name}`, { ...column, about: "about" in entry ? entry.about : undefined });
  return found;
}

interface Field {
  name: string;
  type: string;
  isRequired: boolean;
}

/** The scalar fields of each model of `prisma/schema.prisma`, but for those with a default. */
const fields = new Map(
  [...readFileSync("prisma/schema.prisma", "utf8").matchAll(/^model (\w+) \{\n([\s\S]*?)\n\}/gm)].map(([, model = "", body = ""]) => {
    const lines = [...body.matchAll(/^ {2}(\w+) +(String|Json|Int|Boolean|DateTime)(\??)(?![\w[])(.*)$/gm)];
    return [
      model,
      lines.flatMap(([, name = "", type = "", optional, more = ""]): Field[] =>
        more.includes("@default") || more.includes("@updatedAt") ? [] : [{ name, type, isRequired: optional === "" }],
      ),
    ] as const;
  }),
);

/** A text that is found again, and says where it was put. */
export const markOf = (model: string, column: string): string => `planted-${model}-${column}-text`;

const fillers: Readonly<Record<string, (now: Date) => unknown>> = {
  String: () => "x",
  Json: () => ({}),
  Int: () => 1,
  Boolean: () => false,
  DateTime: (now) => now,
};

/** @returns a row of any model with a mark in every column that holds text about a person */
function rowOf(model: Model, now: Date, given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const row: Record<string, unknown> = {};
  for (const { name, type, isRequired } of fields.get(model) ?? []) {
    const column = (registry[model].columns as Readonly<Record<string, unknown>>)[name];
    const mark = markOf(model, name);
    if (typeof column === "object") row[name] = type === "Json" ? { text: mark } : mark;
    else if (isRequired) row[name] = fillers[type]?.(now);
  }
  return { ...row, ...given };
}

/** A row of every model that holds text about people, each about this person. */
export async function plantEverywhere(tx: Tx, userId: string): Promise<void> {
  const tables = tx.db as unknown as Readonly<Record<string, { create(row: { data: object }): Promise<{ id: string }> }>>;
  const put = async (model: Model, given: Readonly<Record<string, unknown>> = {}): Promise<string> => {
    const table = tables[model.charAt(0).toLowerCase() + model.slice(1)];
    const row = await table?.create({ data: rowOf(model, tx.now, given) });
    return row?.id ?? "";
  };
  const own = { userId };
  const at = tx.now.toISOString();
  const guildId = "613425648685547000";

  await put("UserPermission", { ...own, permission: "staff.read", effect: "deny" });
  await put("GuildMember", { ...own, guildId, roleIds: [] });
  await put("StaffProfile", { ...own, leaveFrom: tx.now });
  await put("Match", { ...own, resolution: { reason: markOf("Match", "resolution") } });
  const link = { userA: userId, userB: "9".repeat(19), confidence: "confirmed", activeKey: null, status: "active" };
  await put("AccountLink", { ...link, basis: [{ type: "other", note: markOf("AccountLink", "basis") }] });
  await put("PoachIncident", { offenderIds: [userId] });
  await put("PoachClearance", own);
  await put("ListExemption", own);
  const entryId = await put("RosterEntry", { ...own, status: "resigned" });
  const [before, after] = ["before", "after"].map((name) => ({ nickname: markOf("RosterEvent", name) }));
  await put("RosterEvent", { ...own, entryId, before, after });
  const auditId = await put("RosterAudit");
  await put("RosterFinding", { ...own, auditId });
  await put("RosterAcknowledgement", own);
  await put("CallsignRepair", {
    undoneAt: null,
    undo: { slots: [], nicknames: [{ user_id: userId, from: markOf("CallsignRepair", "undo") }] },
  });
  await put("RequestDraft", { subjectKind: "user", subjectId: userId, openKey: null });

  const checks = [{ key: "no_poach", result: "fail", detail: markOf("WorkflowRequest", "checks"), at, consent_of: userId }];
  const filed = { reference: "APL-REQ-000001", type: "appeal", status: "denied", requesterId: userId, checks };
  const payload = { reason: markOf("WorkflowRequest", "payload") };
  const requestId = await put("WorkflowRequest", {
    ...filed,
    payload,
    evidence: [markOf("WorkflowRequest", "evidence")],
    related: [],
    links: [],
  });
  await put("WorkflowSubject", { requestId, kind: "user", subjectId: userId });
  await put("WorkflowVote", { requestId, actorId: userId });
  await put("WorkflowStep", { requestId, actorId: userId });
  await put("WorkflowComment", { requestId, authorId: userId, visibility: "requester" });
  await put("WorkflowEffect", { requestId, targetId: userId });

  await put("IdempotencyRecord", { scope: "planted" });
  await put("IdempotencySubject", { scope: "planted", subjectId: userId });
  const answers = [{ user_id: userId, as: "declined", at, reason: markOf("Confirmation", "answers") }];
  await put("Confirmation", { subjectUserId: userId, status: "declined", answers, needs: [], keys: [] });
  await put("Server", { id: "41771983423143937", contacts: [{ user_id: userId, role: markOf("Server", "contacts") }], tags: [] });
  const record = { kind: "user", subjectId: userId, activeKey: null, status: "revoked", tags: [markOf("BlacklistRecord", "tags")] };
  const recordId = await put("BlacklistRecord", {
    ...record,
    serverIds: [],
    exemptUserIds: [],
    approvedBy: [],
    evidence: [markOf("BlacklistRecord", "evidence")],
  });
  await put("BlacklistVersion", { recordId });
  await put("BlacklistWord", { recordId });
  const caseId = await put("Case", { policies: [], deletedAt: null });
  await put("CaseSubject", { caseId, kind: "user", subjectId: userId });
  await put("CaseLabel", { caseId });
  const noteId = await put("CaseNote", { caseId });
  await put("CaseNoteVersion", { noteId });
  await put("CaseAction", { ...own, caseId });
  await put("CaseWord", { caseId });
  const said = { guild_id: guildId, channel_id: "2", message_id: "3", author_id: userId, sent_at: at, edited_at: null };
  const message = { ...said, content: markOf("EvidenceItem", "message") };
  const piece = { recordKind: "request", recordId: requestId, kind: "message", isVerified: true, redactedAt: null };
  const evidenceId = await put("EvidenceItem", { ...piece, message });
  await put("EvidenceFile", { evidenceId });
  await put("NativeAction", { ...own, guildId });
}
