import type { MatchDraft } from "../match-drafts.ts";
import { severities } from "../../../kernel/vocabulary.ts";
import { groupBy } from "../../../kernel/group.ts";
import type { Tx } from "../../../database/database.ts";
import { Prisma, type BlacklistRecord } from "../../../generated/sqlite/client.ts";
import { uuid7 } from "../../../kernel/ids.ts";
import { blacklistReference, textsOf } from "../../../kernel/parsing.ts";
import type { EventsService } from "../../events/events.service.ts";
import type { MatchRecord } from "../match-record.ts";
import { isActive, type MatchUpdate, type Reconciled, type StatusChange } from "../reconcile.ts";

/** What one person's reconciliation asks to be written. */
export interface PersonChanges {
  userId: string;
  result: Reconciled;
}

/** Rows of one INSERT: the client's cost of a row grows with larger ones. */
const rowsAtOnce = 200;
/** Ids of one UPDATE; SQLite takes 32,766 values in a statement. */
export const idsAtOnce = 1000;

/** Write the outcome for many people in few statements, equal updates in one, and tell of what opened and closed. */
export async function writeChanges(tx: Tx, people: readonly PersonChanges[], events: Pick<EventsService, "emit">): Promise<void> {
  const created = people.flatMap(({ userId, result }) => result.create.map((draft) => newRow(tx, userId, draft)));
  for (const data of batches(created, rowsAtOnce)) await tx.db.match.createMany({ data });

  const updates = groupBy(
    people.flatMap(({ result }) => result.update),
    ({ to }) => JSON.stringify(to),
  );
  for (const group of updates.values()) {
    if (group[0] !== undefined) await writeEach(tx, group, updateData(tx, group[0].to));
  }
  const closes = groupBy(
    people.flatMap(({ result }) => result.close),
    ({ status }) => status,
  );
  for (const [status, group] of closes) await writeEach(tx, group, { status, closedAt: tx.now, revision: { increment: 1 } });
  const revived = people.flatMap(({ result }) => result.revive.map((id) => ({ id })));
  await writeEach(tx, revived, { lastSeenAt: tx.now, closedAt: null, revision: { increment: 1 } });
  const kept = people.flatMap(({ result }) => result.keep.map((id) => ({ id })));
  await writeEach(tx, kept, { lastSeenAt: tx.now });
  recordMatch(tx, created, people, events);
}

async function writeEach(tx: Tx, rows: readonly { id: string }[], data: Prisma.MatchUpdateManyMutationInput): Promise<void> {
  for (const batch of batches(rows, idsAtOnce)) await tx.db.match.updateMany({ where: { id: { in: batch.map(({ id }) => id) } }, data });
}

function recordMatch(
  tx: Tx,
  created: readonly Prisma.MatchCreateManyInput[],
  people: readonly PersonChanges[],
  events: Pick<EventsService, "emit">,
): void {
  for (const { id = "", userId, kind, status } of created) {
    if (isActive(status)) emitMatchChange(tx, events, "opened", { id, userId, kind, status });
  }
  for (const { userId, result } of people) {
    const changed = [...result.update.map((one) => ({ ...one, status: one.to.status })), ...result.close];
    for (const { id, kind, status, change } of changed) emitMatchChange(tx, events, change, { id, userId, kind, status });
  }
}

/** Tell that a match asks for attention, or no longer does. */
export function emitMatchChange(
  tx: Tx,
  events: Pick<EventsService, "emit">,
  change: StatusChange,
  match: { id: string; userId: string; kind: string; status: string },
): void {
  if (change === null) return;
  const { id, userId, kind, status } = match;
  events.emit(tx, { type: `match.${change}`, data: { match_id: id, user_id: userId, kind, status } });
}

function newRow(tx: Tx, userId: string, draft: MatchDraft): Prisma.MatchCreateManyInput {
  const { why, recordId, reference, revision, ...rest } = draft;
  return {
    id: uuid7(tx.now.getTime()),
    userId,
    recordId,
    recordReference: reference,
    recordRevision: revision,
    ...rest,
    why: why.map((one) => ({ ...one })),
    firstSeenAt: tx.now,
    lastSeenAt: tx.now,
  };
}

function updateData(tx: Tx, { status, draft, keepsDecision }: MatchUpdate): Prisma.MatchUpdateManyMutationInput {
  return {
    status,
    recordRevision: draft.revision,
    serverId: draft.serverId,
    viaUserId: draft.viaUserId,
    severity: draft.severity,
    confidence: draft.confidence,
    why: draft.why.map((one) => ({ ...one })),
    suggestedAction: draft.suggestedAction,
    graceUntil: draft.graceUntil,
    lastSeenAt: tx.now,
    closedAt: null,
    revision: { increment: 1 },
    ...(!keepsDecision && { resolution: Prisma.DbNull, exemptUntil: null }),
  };
}

export function batches<T>(items: readonly T[], size: number): T[][] {
  const cut: T[][] = [];
  for (let from = 0; from < items.length; from += size) cut.push(items.slice(from, from + size));
  return cut;
}

type RecordRow = Omit<BlacklistRecord, "reasonInternal" | "reasonPublic" | "evidence">;

/** What matching leaves unread of a record. */
export const unread = { reasonInternal: true, reasonPublic: true, evidence: true } as const;

/** A stored blacklist record as matching needs it. */
export function recordOf(row: RecordRow): MatchRecord {
  return {
    id: row.id,
    number: row.number,
    reference: blacklistReference(row.number),
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
    exemptUserIds: textsOf(row.exemptUserIds),
    includeAlts: row.includeAlts === "none" || row.includeAlts === "probable" ? row.includeAlts : "confirmed",
    startsAt: row.startsAt,
    expiresAt: row.expiresAt,
  };
}
