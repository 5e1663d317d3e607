import type { Tx } from "../../database/database.ts";
import type { Match } from "../../generated/sqlite/client.ts";
import { createBlacklistIndex } from "./blacklist-index.ts";
import type { MatchChanges, MatchRecord } from "./match-record.ts";
import { isInForce } from "./match-record.ts";
import { matchUser } from "./matching.ts";
import type { HeldServer } from "./matching.ts";
import { recordOf, writeChanges } from "./matches.store.ts";
import type { CloseStatus, StoredMatch } from "./reconcile.ts";
import { reconcile } from "./reconcile.ts";

/** Held by everything that compares people with records, so that a new record and a newly read list always see one another. */
export const matchesLock = "matches";

export interface RecomputeDeps {
  isStaff: (userId: string) => boolean;
  hashOf: (serverId: string) => string;
}

/** Compare one person with the records in force, as the rows of this transaction have them. */
export async function recomputeUser(tx: Tx, userId: string, { isStaff, hashOf }: RecomputeDeps): Promise<MatchChanges> {
  await tx.lock(matchesLock);
  const grant = await tx.db.authorization.findUnique({ where: { userId }, select: { status: true, scopes: true } });
  const hasGrant = grant?.status === "active";
  const seesServers = hasGrant && Array.isArray(grant.scopes) && grant.scopes.includes("guilds");
  const servers: HeldServer[] = seesServers ? await heldServers(tx, userId) : [];
  const stored = await tx.db.match.findMany({ where: { userId } });
  const records = hasGrant || isStaff(userId) || stored.length > 0 ? await recordsFor(tx, userId, servers, stored) : [];
  const drafts =
    hasGrant || isStaff(userId) ? matchUser({ userId, servers, index: createBlacklistIndex(records, hashOf), now: tx.now }) : [];
  const known = new Map(records.map((record) => [record.id, record]));
  const result = reconcile(stored, drafts, (match) => closing(match, known, seesServers, tx.now));
  await writeChanges(tx, [{ userId, result }]);
  return result.changes;
}

async function heldServers(tx: Tx, userId: string): Promise<HeldServer[]> {
  const rows = await tx.db.userServer.findMany({ where: { userId, leftAt: null }, select: { serverHash: true, relation: true } });
  return rows.map((row) => ({ hash: row.serverHash, relation: row.relation }));
}

async function recordsFor(tx: Tx, userId: string, servers: readonly HeldServer[], stored: readonly Match[]): Promise<MatchRecord[]> {
  const counting = { in: ["active", "scheduled"] };
  const rows = await tx.db.blacklistRecord.findMany({
    where: {
      OR: [
        { kind: "user", subjectId: userId, status: counting },
        { subjectHash: { in: servers.map((server) => server.hash) }, status: counting },
        { id: { in: stored.map((match) => match.recordId) } },
      ],
    },
    omit: { reasonInternal: true, reasonPublic: true, evidence: true },
  });
  return rows.map(recordOf);
}

/** Where servers are not seen nobody knows whether the person left: such a match has run out, it was not cleared. */
function closing(match: StoredMatch, records: ReadonlyMap<string, MatchRecord>, seesServers: boolean, now: Date): CloseStatus {
  const record = records.get(match.recordId);
  if (record === undefined || !isInForce(record, now)) return closingOf(record, now);
  return seesServers ? "cleared" : "expired";
}

/** How matches of a record that is no longer in force end. */
export function closingOf(record: MatchRecord | undefined, now: Date): CloseStatus {
  const isPastEnd = record?.status === "active" && record.expiresAt !== null && record.expiresAt <= now;
  return record?.status === "expired" || isPastEnd ? "expired" : "void";
}
