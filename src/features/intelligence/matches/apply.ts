import type { Known, Person } from "../match-drafts.ts";
import type { RelatedServer } from "../../servers/related.ts";
import { groupBy } from "../../../kernel/group.ts";
import type { Tx } from "../../../database/database.ts";
import type { Match } from "../../../generated/sqlite/client.ts";
import type { LinkedAccount } from "../../links/reach.ts";
import { isInForce, mayCount, sumOf, type MatchChanges, type MatchRecord } from "../match-record.ts";
import { closingOf, matchesLock, type CompareDeps, comparePeople } from "./compare.ts";
import { readGrants } from "./people.ts";
import { idsAtOnce, writeChanges, type PersonChanges, batches } from "./store.ts";
import { knownFrom, matchUser } from "../match-kinds.ts";
import { reconcile, type CloseStatus, type StoredMatch } from "../reconcile.ts";

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
async function* membersOf(tx: Tx, hashes: readonly string[]): AsyncGenerator<string[]> {
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

/** Whom a new record concerns, nobody of whom has a match with it. */
export interface Concerned {
  /** The listed person and their linked accounts; undefined for a server, whose members are read in parts. */
  accounts: readonly Person[] | undefined;
}

/**
 * Read under the lock of matches whom a new record concerns.
 * @param isLast whether the transaction takes no lock after it. New records have no matches in common, so it then shares the lock with others
 * that make one
 */
export async function concernedBy(tx: Tx, record: MatchRecord, deps: CompareDeps, isLast: boolean): Promise<Concerned> {
  const isRead = record.kind === "user" && isInForce(record, tx.now);
  // What is read next is read when the lock is held, as the statements go one after the other.
  const [, accounts] = await Promise.all([
    isLast ? tx.share(matchesLock) : tx.lock(matchesLock),
    isRead ? accountsOf(tx, record, deps) : undefined,
  ]);
  return { accounts };
}

/**
 * Compare one record with everyone it can concern: one look-up by the hash of the server and those related to it, or the subject and their
 * accounts.
 * @param concerned of a record that was made in this transaction
 */
export async function applyRecord(tx: Tx, record: MatchRecord, deps: CompareDeps, concerned?: Concerned): Promise<MatchChanges> {
  if (mayCount(record)) deps.index.put(record);
  else tx.afterCommit(() => deps.index.remove(record));
  if (concerned !== undefined) return sumOf(await compareAll(tx, record, deps, concerned));
  const [, changes] = await Promise.all([tx.lock(matchesLock), compareAll(tx, record, deps)]);
  return sumOf(changes);
}

async function compareAll(tx: Tx, record: MatchRecord, deps: CompareDeps, concerned?: Concerned): Promise<MatchChanges[]> {
  const changes: MatchChanges[] = [];
  const seen = new Set<string>();
  const parts = isInForce(record, tx.now) ? partsOf(tx, record, deps, concerned?.accounts) : [];
  for await (const { people, known } of parts) {
    for (const { userId } of people) seen.add(userId);
    const stored = concerned === undefined ? await matchesOf(tx, record, people) : [];
    changes.push(await compareWith(tx, record, { people, known, stored }, deps));
  }
  if (concerned !== undefined) return changes;
  const known = knownFrom(nothing, tx.now, deps.hashOf);
  for await (const people of storedPeople(tx, record, seen)) {
    changes.push(await compareWith(tx, record, { people, known, stored: await matchesOf(tx, record, people) }, deps));
  }
  return changes;
}

const nothing = { records: [], related: [], watched: [], agreements: [] };

async function compareWith(
  tx: Tx,
  record: MatchRecord,
  { people, known, stored: rows }: Part & { stored: readonly Match[] },
  { events }: CompareDeps,
): Promise<MatchChanges> {
  const stored = groupBy(rows, ({ userId }) => userId);
  const closeAs = (match: StoredMatch) => closing(match, record, tx.now);
  const changes = people.map((person): PersonChanges => {
    const result = reconcile(stored.get(person.userId) ?? [], matchUser(person, known), tx.now, closeAs);
    return { userId: person.userId, result };
  });
  await writeChanges(tx, changes, events);
  return sumOf(changes.map(({ result }) => result.changes));
}

async function matchesOf(tx: Tx, record: MatchRecord, people: readonly Person[]): Promise<Match[]> {
  if (people.length === 0) return [];
  return await tx.db.match.findMany({ where: { recordId: record.id, userId: { in: people.map(({ userId }) => userId) } } });
}

/** That somebody left a server or took a grant back ends matches when it happens; a record in force only lets go of linked accounts. */
function closing(match: StoredMatch, record: MatchRecord, now: Date): CloseStatus | undefined {
  if (!isInForce(record, now)) return closingOf(record, now);
  return match.kind === "alt_of_blacklisted" ? "void" : undefined;
}

interface Part {
  people: readonly Person[];
  known: Known;
}

/** The people a record in force concerns, in bounded parts, with what makes it so. */
async function* partsOf(tx: Tx, record: MatchRecord, deps: CompareDeps, accounts?: readonly Person[]): AsyncGenerator<Part> {
  if (record.kind === "user") {
    const people = accounts ?? (await accountsOf(tx, record, deps));
    return yield { people, known: knownFrom({ ...nothing, records: [record] }, tx.now, deps.hashOf) };
  }
  const subject = record.subjectHash ?? deps.hashOf(record.subjectId);
  const leading = await deps.facts.relatedTo(tx.db, [subject]);
  const related = leading.map(({ hash, how }): RelatedServer => ({ of: hash, hash: subject, serverId: record.subjectId, how }));
  const known = knownFrom({ ...nothing, records: [record], related }, tx.now, deps.hashOf);
  const hashes = [...new Set([subject, ...leading.map(({ hash }) => hash)])];
  for await (const userIds of membersOf(tx, hashes)) {
    const where = { userId: { in: userIds }, serverHash: { in: hashes }, leftAt: null };
    const rows = await tx.db.userServer.findMany({ where, select: { userId: true, serverHash: true, relation: true } });
    const held = groupBy(rows, ({ userId }) => userId);
    const people = [...held].map(([userId, servers]): Person => {
      return { ...alone(userId), servers: servers.map(({ serverHash, relation }) => ({ hash: serverHash, relation })) };
    });
    yield { people, known };
  }
}

/** The subject of a record and the accounts linked with it, as far as they are compared at all. */
async function accountsOf(tx: Tx, record: MatchRecord, { reach, isStaff }: CompareDeps): Promise<Person[]> {
  const { subjectId, includeAlts } = record;
  const [linked, own] = await Promise.all([includeAlts === "none" ? [] : reach.reachOf(tx.db, subjectId), readGrants(tx, [subjectId])]);
  const others = linked.map(({ userId }) => userId);
  const userIds = [subjectId, ...others];
  const granted = new Map([...own, ...(await readGrants(tx, others))]);
  const strength = new Map(linked.map(({ userId, confidence }) => [userId, confidence]));
  return userIds
    .filter((userId) => granted.has(userId) || isStaff(userId))
    .map((userId): Person => {
      const confidence = strength.get(userId);
      const via: LinkedAccount[] = confidence === undefined ? [] : [{ userId: subjectId, confidence }];
      return { ...alone(userId), linked: via };
    });
}

function alone(userId: string): Person {
  return { userId, servers: [], linked: [], denials: [] };
}

/** People with stored matches of a record that were not compared yet. */
async function* storedPeople(tx: Tx, record: MatchRecord, seen: ReadonlySet<string>): AsyncGenerator<Person[]> {
  for (let after = ""; ;) {
    const rows = await tx.db.match.findMany({
      // The last person again: several matches of one person with the record can lie on both sides of a page's end.
      where: { recordId: record.id, userId: { gte: after } },
      select: { userId: true, closedAt: true },
      orderBy: { userId: "asc" },
      take: idsAtOnce,
    });
    const rest = new Set(rows.flatMap(({ userId, closedAt }) => (closedAt !== null || seen.has(userId) ? [] : [userId])));
    if (rest.size > 0) yield [...rest].map(alone);
    if (rows.length < idsAtOnce) return;
    after = rows.at(-1)?.userId ?? "";
  }
}
