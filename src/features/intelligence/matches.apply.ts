import type { Tx } from "../../database/database.ts";
import { createBlacklistIndex } from "./blacklist-index.ts";
import type { MatchChanges, MatchRecord } from "./match-record.ts";
import { isInForce } from "./match-record.ts";
import { matchUser } from "./matching.ts";
import type { HeldServer } from "./matching.ts";
import type { RecomputeDeps } from "./matches.recompute.ts";
import { closingOf, matchesLock } from "./matches.recompute.ts";
import type { PersonChanges } from "./matches.store.ts";
import { byPerson, writeChanges } from "./matches.store.ts";
import { reconcile } from "./reconcile.ts";

/** Compare one record with everyone it can concern: one look-up by the hash of the server, or the subject alone. */
export async function applyRecord(tx: Tx, record: MatchRecord, deps: RecomputeDeps): Promise<MatchChanges> {
  await tx.lock(matchesLock);
  const stored = byPerson(await tx.db.match.findMany({ where: { recordId: record.id } }));
  const concerned = isInForce(record, tx.now) ? await findConcerned(tx, record, deps) : new Map<string, HeldServer[]>();
  const index = createBlacklistIndex([record], deps.hashOf);
  const people: PersonChanges[] = [];
  const total: MatchChanges = { added: 0, changed: 0, removed: 0 };
  for (const userId of new Set([...stored.keys(), ...concerned.keys()])) {
    const servers = concerned.get(userId);
    const drafts = servers === undefined ? [] : matchUser({ userId, servers, index, now: tx.now });
    const result = reconcile(stored.get(userId) ?? [], drafts, () => (isInForce(record, tx.now) ? undefined : closingOf(record, tx.now)));
    people.push({ userId, result });
    total.added += result.changes.added;
    total.changed += result.changes.changed;
    total.removed += result.changes.removed;
  }
  await writeChanges(tx, people);
  return total;
}

/** The people a record in force concerns, with the servers that make it so. */
async function findConcerned(tx: Tx, record: MatchRecord, { hashOf, isStaff }: RecomputeDeps): Promise<Map<string, HeldServer[]>> {
  if (record.kind === "user") {
    const grant = await tx.db.authorization.findUnique({ where: { userId: record.subjectId }, select: { status: true } });
    return new Map(grant?.status === "active" || isStaff(record.subjectId) ? [[record.subjectId, []]] : []);
  }
  const rows = await tx.db.$queryRaw<{ user_id: string; server_hash: string; relation: string }[]>`
    SELECT s.user_id, s.server_hash, s.relation FROM user_servers s JOIN authorizations a ON a.user_id = s.user_id
    WHERE s.server_hash = ${record.subjectHash ?? hashOf(record.subjectId)} AND s.left_at IS NULL AND a.status = 'active'`;
  return new Map(rows.map((row) => [row.user_id, [{ hash: row.server_hash, relation: row.relation }]]));
}
