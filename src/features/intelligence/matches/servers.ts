import type { RelatedServer } from "../../servers/related.ts";
import type { Tx } from "../../../database/database.ts";
import { sumOf, type MatchChanges } from "../match-record.ts";
import { comparePeople, matchesLock, type CompareDeps } from "./compare.ts";
import { readGrants } from "./people.ts";
import { batches, idsAtOnce } from "./store.ts";

/** People that are compared at once. */
const peopleAtOnce = 50;

/** Compare everyone who is in one of these servers, or in one related to them, with everything that servers make. */
export async function applyServers(tx: Tx, serverIds: readonly string[], deps: CompareDeps): Promise<MatchChanges> {
  await tx.lock(matchesLock);
  const named = [...new Set(serverIds)].map(deps.hashOf);
  const related: RelatedServer[] = [];
  for (const some of batches(named, idsAtOnce)) related.push(...(await deps.facts.relatedTo(tx.db, some)));
  const hashes = [...new Set([...named, ...related.map(({ hash }) => hash)])];
  const changes: MatchChanges[] = [];
  for await (const userIds of membersOf(tx, hashes)) {
    for (const some of batches(userIds, peopleAtOnce)) changes.push(await comparePeople(tx, some, "servers", deps));
  }
  return sumOf(changes);
}

/** Who is in one of these servers now and has a grant in force: one look-up by hash, in parts ordered by person. */
export async function* membersOf(tx: Tx, hashes: readonly string[]): AsyncGenerator<string[]> {
  const found = new Set<string>();
  for (const some of batches(hashes, idsAtOnce)) {
    const rows = await tx.db.userServer.findMany({ where: { serverHash: { in: some }, leftAt: null }, select: { userId: true } });
    for (const { userId } of rows) found.add(userId);
  }
  for (const some of batches([...found].toSorted(), idsAtOnce)) {
    const granted = await readGrants(tx, some);
    if (granted.size > 0) yield [...granted.keys()];
  }
}
