import type { Known, Person, MatchDraft } from "./match-drafts.ts";
import type { RelatedServer } from "../servers/related.ts";
import { groupBy } from "../../kernel/group.ts";
import type { AgreementFact, WatchedServer } from "../servers/facts.ts";
import { kindRules } from "./match-kinds.ts";
import { isInForce, type MatchRecord } from "./match-record.ts";

/** What people are compared with. */
export interface Facts {
  records: readonly MatchRecord[];
  related: readonly RelatedServer[];
  watched: readonly WatchedServer[];
  agreements: readonly AgreementFact[];
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
