import type { ReadClient, TransactionClient } from "../../database/database.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import { can, type Call } from "../../kernel/call.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import { caseReference, textsOf } from "../../kernel/parsing.ts";
import { casesPolicy, type WholeCase } from "./cases.policy.ts";
import type { CaseView } from "./cases.schema.ts";

type Reader = ReadClient | TransactionClient;
interface Subject {
  kind: string;
  id: string;
}

/** What is counted of a case. */
type Counts = Pick<CaseView, "notes_count" | "evidence_count" | "actions_count" | "points_in_force">;

/** @returns the names that subjects have now, by `kind:id`; those nobody knows are absent */
export async function namesOf(db: Reader, guildState: GuildState, subjects: readonly Subject[]): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  const serverIds = subjects.flatMap(({ kind, id }) => (kind === "server" ? [id] : []));
  const registered =
    serverIds.length === 0 ? [] : await db.server.findMany({ where: { id: { in: serverIds } }, select: { id: true, name: true } });
  for (const { id, name } of registered) if (name !== null) names.set(`server:${id}`, name);
  for (const { id, name } of guildState.guilds()) names.set(`server:${id}`, name);
  for (const { kind, id } of subjects) {
    const name = kind === "user" ? guildState.members(id)[0]?.username : undefined;
    if (name !== undefined) names.set(`user:${id}`, name);
  }
  return names;
}

/** Cases as they are, in the order of the rows. What leaves goes through the links' own filter. */
export async function viewsOf(
  db: Reader,
  guildState: GuildState,
  rows: readonly WholeCase[],
  { call, now }: { call: Call; now: Date },
): Promise<CaseView[]> {
  const ids = rows.map(({ id }) => id);
  const countsById = await countsOf(db, ids, now, can(call, casesPolicy.confidential));
  const subjects = rows.flatMap((row) => row.subjects.map(({ kind, subjectId }) => ({ kind, id: subjectId })));
  const names = await namesOf(db, guildState, subjects);
  return rows.map((row) => presentCase(row, countsById(row.id), names, now));
}

/** @param readsConfidential whether confidential evidence counts for the caller */
async function countsOf(db: Reader, ids: readonly string[], now: Date, readsConfidential: boolean): Promise<(id: string) => Counts> {
  const ofThem = { caseId: { in: [...ids] } };
  const inForce = { ...ofThem, points: { gt: 0 }, voidedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] };
  const notes = await db.caseNote.groupBy({ by: "caseId", where: ofThem, _count: { _all: true } });
  const actions = await db.caseAction.groupBy({ by: "caseId", where: ofThem, _count: { _all: true } });
  const points = await db.caseAction.groupBy({ by: "caseId", where: inForce, _sum: { points: true } });
  const recorded = { recordKind: "case", recordId: { in: [...ids] }, ...(!readsConfidential && { isConfidential: false }) };
  const evidence = await db.evidenceItem.groupBy({ by: "recordId", where: recorded, _count: { _all: true } });
  return (id) => ({
    notes_count: notes.find(({ caseId }) => caseId === id)?._count._all ?? 0,
    evidence_count: evidence.find(({ recordId }) => recordId === id)?._count._all ?? 0,
    actions_count: actions.find(({ caseId }) => caseId === id)?._count._all ?? 0,
    points_in_force: points.find(({ caseId }) => caseId === id)?._sum.points ?? 0,
  });
}

function presentCase(row: WholeCase, counts: Counts, names: ReadonlyMap<string, string>, now: Date): CaseView {
  return {
    id: row.id,
    number: caseReference(row.number),
    type: row.type as CaseView["type"],
    title: row.title,
    status: row.status as CaseView["status"],
    priority: row.priority as CaseView["priority"],
    subjects: row.subjects.map(({ kind, subjectId, name }) => ({
      kind: kind as "user" | "server",
      id: subjectId,
      name_snapshot: name,
      name_current: names.get(`${kind}:${subjectId}`) ?? null,
    })),
    opened_by: row.openedBy,
    lead: row.leadId,
    team: row.members.map(({ userId }) => userId),
    confidential: row.isConfidential,
    labels: row.labels.map(({ label }) => label),
    policies: textsOf(row.policies),
    origin_reference: row.originReference,
    links: row.links.map(presentLink),
    outcome: row.outcome,
    outcome_reason: row.outcomeReason,
    closed_by: row.closedBy,
    closed_at: isoOrNull(row.closedAt),
    due_at: isoOrNull(row.dueAt),
    overdue: row.closedAt === null && row.dueAt !== null && row.dueAt <= now,
    retention_until: isoOrNull(row.retentionUntil),
    deleted_at: isoOrNull(row.deletedAt),
    deleted_by: row.deletedBy,
    ...counts,
    revision: row.revision,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}

export function presentLink(link: WholeCase["links"][number]): CaseView["links"][number] {
  return {
    id: link.id,
    rel: link.rel as CaseView["links"][number]["rel"],
    kind: link.kind as CaseView["links"][number]["kind"],
    target_id: link.targetId,
    reference: link.reference,
    created_by: link.createdBy,
    created_at: link.createdAt.toISOString(),
  };
}

/** What of a case can be set, as its audit tells a change of it. */
export function settingsOf(row: WholeCase) {
  return {
    type: row.type,
    title: row.title,
    status: row.status,
    priority: row.priority,
    subjects: row.subjects.map(({ kind, subjectId }) => `${kind}:${subjectId}`),
    lead: row.leadId,
    team: row.members.map(({ userId }) => userId),
    confidential: row.isConfidential,
    labels: row.labels.map(({ label }) => label),
    policies: textsOf(row.policies),
    due_at: isoOrNull(row.dueAt),
    retention_until: isoOrNull(row.retentionUntil),
    origin_reference: row.originReference,
  };
}

/** The settings that differ, before and after. */
export function differenceOf(before: object, after: object): { before: object; after: object } | undefined {
  const earlier = new Map(Object.entries(before));
  const changed = Object.entries(after).filter(([field, value]) => JSON.stringify(earlier.get(field)) !== JSON.stringify(value));
  if (changed.length === 0) return undefined;
  return { before: Object.fromEntries(changed.map(([field]) => [field, earlier.get(field)])), after: Object.fromEntries(changed) };
}
