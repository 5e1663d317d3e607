import type { Tx } from "../../../database/database.ts";
import { isInForce, mayCount, sumOf, type MatchChanges, type MatchRecord } from "../match-record.ts";
import { applyRecord } from "./apply.ts";
import { matchesLock, type CompareDeps } from "./compare.ts";
import { readGrants } from "./people.ts";
import { batches, idsAtOnce } from "./store.ts";

/** As {@link applyRecord} one after the other; records that concern nobody are told apart in few statements for all of them. */
export async function applyRecords(tx: Tx, records: readonly MatchRecord[], deps: CompareDeps): Promise<MatchChanges> {
  if (records.length < 2) return sumOf(await Promise.all(records.map((record) => applyRecord(tx, record, deps))));
  await tx.lock(matchesLock);
  const changes: MatchChanges[] = [];
  for (const some of batches(records, idsAtOnce)) {
    const concerning = await concerningAnybody(tx, some, deps);
    for (const record of some) {
      if (concerning.has(record)) changes.push(await applyRecord(tx, record, deps));
      else if (mayCount(record)) deps.index.put(record);
      else tx.afterCommit(() => deps.index.remove(record));
    }
  }
  return sumOf(changes);
}

/** The records that may concern somebody, or that have matches. One too many costs time, one too few would be a fault. */
async function concerningAnybody(tx: Tx, records: readonly MatchRecord[], deps: CompareDeps): Promise<Set<MatchRecord>> {
  const inForce = records.filter((record) => isInForce(record, tx.now));
  const users = inForce.filter(({ kind }) => kind === "user");
  const servers = inForce.filter(({ kind }) => kind === "server");
  const matched = await matchedAmong(tx, records);
  const people = await peopleAmong(tx, users, deps);
  const hashOf = ({ subjectHash, subjectId }: MatchRecord) => subjectHash ?? deps.hashOf(subjectId);
  const peopled = await peopledAmong(tx, servers.map(hashOf), deps);
  return new Set([
    ...records.filter(({ id }) => matched.has(id)),
    ...users.filter(({ subjectId }) => people.has(subjectId)),
    ...servers.filter((record) => peopled.has(hashOf(record))),
  ]);
}

async function matchedAmong({ db }: Tx, records: readonly MatchRecord[]): Promise<Set<string>> {
  const rows = await db.match.groupBy({ by: ["recordId"], where: { recordId: { in: records.map(({ id }) => id) } } });
  return new Set(rows.map(({ recordId }) => recordId));
}

/** Subjects who are compared at all, or have an account that may be. */
async function peopleAmong(tx: Tx, records: readonly MatchRecord[], { isStaff }: CompareDeps): Promise<Set<string>> {
  const ids = records.map(({ subjectId }) => subjectId);
  if (ids.length === 0) return new Set();
  const granted = await readGrants(tx, ids);
  const [asFirst, asSecond] = [
    await tx.db.accountLink.groupBy({ by: ["userA"], where: { userA: { in: ids } } }),
    await tx.db.accountLink.groupBy({ by: ["userB"], where: { userB: { in: ids } } }),
  ];
  const linked = [...asFirst.map(({ userA }) => userA), ...asSecond.map(({ userB }) => userB)];
  return new Set([...granted.keys(), ...linked, ...ids.filter(isStaff)]);
}

/** Servers that somebody is known to have been in, or that are related to another one. */
async function peopledAmong(tx: Tx, hashes: readonly string[], { facts }: CompareDeps): Promise<Set<string>> {
  if (hashes.length === 0) return new Set();
  const members = await tx.db.userServer.groupBy({ by: ["serverHash"], where: { serverHash: { in: [...hashes] } } });
  const related = await facts.relatedTo(tx.db, hashes);
  return new Set([...members.map(({ serverHash }) => serverHash), ...related.map(({ of }) => of)]);
}
