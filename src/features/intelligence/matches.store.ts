import type { Tx } from "../../database/database.ts";
import type { BlacklistRecord, Match, Prisma } from "../../generated/sqlite/client.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { MatchRecord } from "./match-record.ts";
import { severities } from "./match-record.ts";
import type { MatchDraft } from "./matching.ts";
import type { MatchUpdate, Reconciled } from "./reconcile.ts";

/** What one person's reconciliation asks to be written. */
export interface PersonChanges {
  userId: string;
  result: Reconciled;
}

/** Rows of one INSERT: the client's cost of a row grows with larger ones. */
const rowsAtOnce = 200;
/** Ids of one UPDATE; SQLite takes 32,766 values in a statement. */
const idsAtOnce = 1000;

/** Write the outcome for many people in few statements: equal updates share one. */
export async function writeChanges(tx: Tx, people: readonly PersonChanges[]): Promise<void> {
  const created = people.flatMap(({ userId, result }) => result.create.map((draft) => newRow(tx, userId, draft)));
  for (const data of batches(created, rowsAtOnce)) await tx.db.match.createMany({ data });

  const updates = groupIds(
    people.flatMap(({ result }) => result.update),
    ({ to }) => JSON.stringify(to),
  );
  for (const { item, ids } of updates) {
    const data = { ...updateData(tx, item.to), revision: { increment: 1 } };
    for (const batch of batches(ids, idsAtOnce)) await tx.db.match.updateMany({ where: { id: { in: batch } }, data });
  }
  const closes = groupIds(
    people.flatMap(({ result }) => result.close),
    ({ status }) => status,
  );
  for (const { item, ids } of closes) {
    const data = { status: item.status, closedAt: tx.now, revision: { increment: 1 } };
    for (const batch of batches(ids, idsAtOnce)) await tx.db.match.updateMany({ where: { id: { in: batch } }, data });
  }
  for (const batch of batches(
    people.flatMap(({ result }) => result.keep),
    idsAtOnce,
  )) {
    await tx.db.match.updateMany({ where: { id: { in: batch } }, data: { lastSeenAt: tx.now } });
  }
}

function newRow(tx: Tx, userId: string, draft: MatchDraft): Prisma.MatchCreateManyInput {
  const { record } = draft;
  return {
    id: uuid7(tx.now.getTime()),
    userId,
    kind: draft.kind,
    recordId: record.id,
    recordReference: record.reference,
    recordRevision: record.revision,
    serverId: record.kind === "server" ? record.subjectId : null,
    severity: draft.severity,
    confidence: draft.confidence,
    status: draft.status,
    why: draft.why.map((why) => ({ ...why })),
    suggestedAction: draft.suggestedAction,
    graceUntil: draft.graceUntil,
    firstSeenAt: tx.now,
    lastSeenAt: tx.now,
  };
}

function updateData(tx: Tx, to: MatchUpdate): Prisma.MatchUpdateManyMutationInput {
  return {
    status: to.status,
    recordRevision: to.recordRevision,
    severity: to.severity,
    why: to.why.map((why) => ({ ...why })),
    suggestedAction: to.suggestedAction,
    graceUntil: to.graceUntil,
    lastSeenAt: tx.now,
    closedAt: null,
  };
}

function groupIds<T extends { id: string }>(items: readonly T[], keyOf: (item: T) => string): { item: T; ids: string[] }[] {
  const groups = new Map<string, { item: T; ids: string[] }>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { item, ids: [item.id] });
    else group.ids.push(item.id);
  }
  return [...groups.values()];
}

function batches<T>(items: readonly T[], size: number): T[][] {
  const cut: T[][] = [];
  for (let from = 0; from < items.length; from += size) cut.push(items.slice(from, from + size));
  return cut;
}

type RecordRow = Omit<BlacklistRecord, "reasonInternal" | "reasonPublic" | "evidence">;

/** A stored blacklist record as matching needs it. */
export function recordOf(row: RecordRow): MatchRecord {
  return {
    id: row.id,
    reference: `BL-${String(row.number).padStart(6, "0")}`,
    revision: row.revision,
    kind: row.kind === "server" ? "server" : "user",
    subjectId: row.subjectId,
    subjectHash: row.subjectHash,
    serverName: row.subjectName,
    severity: severities.find((known) => known === row.severity) ?? "low",
    status: row.status,
    recommendedAction: row.recommendedAction,
    memberPolicy: row.memberPolicy,
    gracePeriodSeconds: row.gracePeriod,
    exemptUserIds: Array.isArray(row.exemptUserIds) ? row.exemptUserIds.filter((id) => typeof id === "string") : [],
    startsAt: row.startsAt,
    expiresAt: row.expiresAt,
  };
}

/** Stored matches by the person they are about. */
export function byPerson(rows: readonly Match[]): Map<string, Match[]> {
  const people = new Map<string, Match[]>();
  for (const row of rows) {
    const known = people.get(row.userId);
    if (known === undefined) people.set(row.userId, [row]);
    else known.push(row);
  }
  return people;
}
