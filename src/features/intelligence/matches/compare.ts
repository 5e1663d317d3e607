import type { Tx } from "../../../database/database.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import type { EventsService } from "../../events/events.service.ts";
import { ruleOf } from "../match-kinds.ts";
import { isInForce, sumOf, type MatchChanges, type MatchRecord } from "../match-record.ts";
import { readFacts, type KnownDeps } from "./known.ts";
import { denialSeconds, readPeople, type PeopleDeps, type StoredPerson } from "./people.ts";
import { writeChanges, type PersonChanges } from "./store.ts";
import { knownFrom, matchUser } from "../matching.ts";
import { reconcile, type CloseStatus, type StoredMatch } from "../reconcile.ts";

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
