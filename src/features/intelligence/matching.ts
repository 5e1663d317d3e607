import { groupBy } from "../../kernel/group.ts";
import type { LinkedAccount } from "../links/links.reach.ts";
import type { AgreementFact, RelatedServer, WatchedServer } from "../servers/servers.facts.ts";
import type { MatchKind } from "./intelligence.schema.ts";
import { kindRules } from "./match-kinds.ts";
import type { MatchRecord, Severity } from "./match-record.ts";
import { isInForce } from "./match-record.ts";

/** A server somebody is in now. */
export interface HeldServer {
  hash: string;
  /** owner | manager | member */
  relation: string;
}

/** A denied application that still counts. */
export interface Denial {
  id: string;
  reference: string;
  revision: number;
}

/** One rule that made a match. The words are safe to show: they hold neither names nor reasons of a record. */
export interface Why {
  rule: string;
  detail: string;
}

/** What a match should be, going by what is known alone. */
export interface MatchDraft {
  kind: MatchKind;
  /** What the match is about: a blacklist record, a watched server, an agreement or a request. */
  recordId: string;
  reference: string;
  revision: number;
  serverId: string | null;
  viaUserId: string | null;
  severity: Severity;
  confidence: number;
  status: "open" | "grace" | "exempt";
  why: readonly Why[];
  suggestedAction: string;
  graceUntil: Date | null;
}

/** What is compared of one person. */
export interface Person {
  userId: string;
  servers: readonly HeldServer[];
  linked: readonly LinkedAccount[];
  denials: readonly Denial[];
}

/** What people are compared with. */
export interface Facts {
  records: readonly MatchRecord[];
  related: readonly RelatedServer[];
  watched: readonly WatchedServer[];
  agreements: readonly AgreementFact[];
}

/** The same, found by what a person has. */
export interface Known {
  now: Date;
  recordsOfUser(userId: string): readonly MatchRecord[];
  recordsOfServer(hash: string): readonly MatchRecord[];
  relatedTo(hash: string): readonly RelatedServer[];
  watched(hash: string): readonly WatchedServer[];
  agreements(hash: string): readonly AgreementFact[];
}

/** Facts by key; of records only those in force. @param hashOf keyed hash of a server id, for records that carry none */
export function knownFrom(facts: Facts, now: Date, hashOf: (serverId: string) => string): Known {
  const inForce = facts.records.filter((record) => isInForce(record, now));
  const ofServers = inForce.filter(({ kind }) => kind === "server");
  return {
    now,
    recordsOfUser: finderOf(
      inForce.filter(({ kind }) => kind === "user"),
      ({ subjectId }) => subjectId,
    ),
    recordsOfServer: finderOf(ofServers, ({ subjectHash, subjectId }) => subjectHash ?? hashOf(subjectId)),
    relatedTo: finderOf(facts.related, ({ of }) => of),
    watched: finderOf(facts.watched, ({ hash }) => hash),
    agreements: finderOf(facts.agreements, ({ serverHash }) => serverHash),
  };
}

const relations = ["owner", "manager", "member"];

/** Every match one person has by what is known, one per kind and record: the strongest ground counts. Pure. */
export function matchUser(person: Person, known: Known): MatchDraft[] {
  const servers = person.servers.toSorted(
    (a, b) => relations.indexOf(a.relation) - relations.indexOf(b.relation) || (a.hash < b.hash ? -1 : 1),
  );
  const linked = person.linked.toSorted((a, b) => (a.confidence + a.userId < b.confidence + b.userId ? -1 : 1));
  const strongest = new Map<string, MatchDraft>();
  for (const { find } of Object.values(kindRules)) {
    for (const draft of find({ ...person, servers, linked }, known)) {
      const key = `${draft.kind}:${draft.recordId}`;
      if (!strongest.has(key)) strongest.set(key, draft);
    }
  }
  return [...strongest.values()];
}

function finderOf<T>(items: readonly T[], keyOf: (item: T) => string): (key: string) => readonly T[] {
  const found = groupBy(items, keyOf);
  return (key) => found.get(key) ?? [];
}
