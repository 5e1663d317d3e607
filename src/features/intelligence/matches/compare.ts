import type { Deps } from "../../deps.ts";
import type { Tx } from "../../../database/database.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import type { EventsService } from "../../events/events.service.ts";
import { ruleOf, knownFrom, matchUser, type Facts } from "../match-kinds.ts";
import { isInForce, sumOf, type MatchChanges, type MatchRecord } from "../match-record.ts";
import { denialSeconds, readPeople, type PeopleDeps, type StoredPerson } from "./people.ts";
import { writeChanges, batches, idsAtOnce, recordOf, unread, type PersonChanges } from "./store.ts";
import { reconcile, type CloseStatus, type StoredMatch } from "../reconcile.ts";
import type { LinkedAccount } from "../../links/reach.ts";
import type { ServerFacts } from "../../servers/facts.ts";
import type { CandidateIndex } from "../candidates.ts";

/** Held by everything that compares people with records, so that a new record and a newly read list always see one another. */
export const matchesLock = "matches";

export interface CompareDeps extends PeopleDeps, KnownDeps {
  hashOf: (serverId: string) => string;
  events: Pick<EventsService, "emit">;
}

/** What is compared: everything about people, or only what their servers make, because something about servers has changed. */
export type Scope = "everything" | "servers";

/** Compare some people with what is known, as the rows of this transaction have it. The caller holds the lock of matches. */
export async function comparePeople(tx: Tx, userIds: readonly string[], scope: Scope, deps: CompareDeps): Promise<MatchChanges> {
  const people = await readPeople(tx, userIds, scope === "everything", deps);
  const facts = await readFacts(
    tx,
    people.filter((person) => isCompared(person, deps) || person.matches.length > 0),
    deps,
  );
  const known = knownFrom(facts, tx.now, deps.hashOf);
  const records = new Map(facts.records.map((record) => [record.id, record]));
  const changes = people.map((person): PersonChanges => {
    const drafts = isCompared(person, deps) ? matchUser(person, known) : [];
    const stored = person.matches.filter(({ kind }) => isInScope(kind, scope));
    const wanted = drafts.filter(({ kind }) => isInScope(kind, scope));
    const closeAs = (match: StoredMatch) => closing(match, { person, records, scope, now: tx.now, hashOf: deps.hashOf });
    return { userId: person.userId, result: reconcile(stored, wanted, tx.now, closeAs) };
  });
  await writeChanges(tx, changes, deps.events);
  return sumOf(changes.map(({ result }) => result.changes));
}

/** People with a grant; staff without one for records about themselves. */
function isCompared({ userId, hasGrant }: StoredPerson, { isStaff }: PeopleDeps): boolean {
  return hasGrant || isStaff(userId);
}

function isInScope(kind: string, scope: Scope): boolean {
  return scope === "everything" || ruleOf(kind)?.basis === "servers";
}

interface Closing {
  person: StoredPerson;
  records: ReadonlyMap<string, MatchRecord>;
  scope: Scope;
  now: Date;
  hashOf: (serverId: string) => string;
}

/** How a match ends that nothing makes any longer. */
function closing(match: StoredMatch, { person, records, scope, now, hashOf }: Closing): CloseStatus {
  const rule = ruleOf(match.kind);
  const record = records.get(match.recordId);
  if (rule?.ofRecord === true && (record === undefined || !isInForce(record, now))) return closingOf(record, now);
  if (rule?.basis === "history") return closingOfDenial(person.allDenials.get(match.recordId), person, now);
  if (rule?.basis === "links") return person.hasGrant ? "void" : "expired";
  if (rule?.basis === "person" || !person.seesServers) return "expired";
  const isThere = match.serverId !== null && person.servers.some(({ hash }) => hash === hashOf(match.serverId ?? ""));
  return scope === "servers" || isThere ? "void" : "cleared";
}

/** A denial runs out; one that was overtaken by an approval counts for nothing. */
function closingOfDenial(at: Date | undefined, { hasGrant }: StoredPerson, now: Date): CloseStatus {
  const isOver = at !== undefined && addSeconds(at, denialSeconds) <= now;
  return isOver || !hasGrant ? "expired" : "void";
}

/** How matches of a record that is no longer in force end. */
export function closingOf(record: MatchRecord | undefined, now: Date): CloseStatus {
  const isPastEnd = record?.status === "active" && record.expiresAt !== null && record.expiresAt <= now;
  return record?.status === "expired" || isPastEnd ? "expired" : "void";
}

export interface KnownDeps extends Deps<"servedGuilds"> {
  facts: ServerFacts;
  index: CandidateIndex;
}

/** Everything some people are compared with, as the rows of this transaction have it. */
export async function readFacts(tx: Tx, people: readonly StoredPerson[], deps: KnownDeps): Promise<Facts> {
  const { facts, servedGuilds } = deps;
  const hashes = [...new Set(people.flatMap(({ servers }) => servers.map(({ hash }) => hash)))];
  const own = [...servedGuilds];
  const found: { related: Facts["related"][]; watched: Facts["watched"][]; agreements: Facts["agreements"][] } = {
    related: [],
    watched: [],
    agreements: [],
  };
  for (const some of batches(hashes, idsAtOnce)) {
    found.related.push(await facts.relatedTo(tx.db, some));
    found.watched.push(await facts.watchedAmong(tx.db, some));
    found.agreements.push(await facts.agreementsAmong(tx.db, some, own, tx.now));
  }
  const related = found.related.flat();
  const concerned = new Set([...hashes, ...related.map(({ hash }) => hash)]);
  const records = await readRecords(tx, people, concerned, deps.index);
  return { records, related, watched: found.watched.flat(), agreements: found.agreements.flat() };
}

/** The records that may concern these people, and those behind their stored matches. */
async function readRecords(
  tx: Tx,
  people: readonly StoredPerson[],
  hashes: ReadonlySet<string>,
  index: CandidateIndex,
): Promise<MatchRecord[]> {
  const userIds = new Set(people.flatMap(({ userId, linked }) => [userId, ...linked.map((account: LinkedAccount) => account.userId)]));
  const stored = people.flatMap(({ matches }) =>
    matches.filter(({ kind, closedAt }) => ruleOf(kind)?.ofRecord === true && closedAt === null),
  );
  const byId = { id: stored.map(({ recordId }) => recordId) };
  // Until the index knows every record, the database is asked for the subjects themselves.
  const asked = index.isComplete
    ? { ...byId, number: [...index.find(hashes, userIds)], subjectHash: [], subjectId: [] }
    : { ...byId, number: [], subjectHash: [...hashes], subjectId: [...userIds] };
  const records = new Map<string, MatchRecord>();
  for (const [column, values] of Object.entries(asked)) {
    for (const some of batches<string | number>([...new Set<string | number>(values)], idsAtOnce)) {
      const rows = await tx.db.blacklistRecord.findMany({ where: conditionOf(column, some), omit: unread });
      for (const row of rows) records.set(row.id, recordOf(row));
    }
  }
  return [...records.values()];
}

/** Whether a record counts is looked at afterwards: as a condition it would let the database walk through all that count. */
function conditionOf(column: string, values: readonly (string | number)[]) {
  if (column === "number") return { number: { in: values.map(Number) } };
  const texts = { in: values.map(String) };
  if (column === "id") return { id: texts };
  return column === "subjectId" ? { kind: "user", subjectId: texts } : { subjectHash: texts };
}
