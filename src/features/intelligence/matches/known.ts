import type { Tx } from "../../../database/database.ts";
import type { LinkedAccount } from "../../links/reach.ts";
import type { ServerFacts } from "../../servers/facts.ts";
import type { CandidateIndex } from "../candidates.ts";
import { ruleOf } from "../match-kinds.ts";
import type { MatchRecord } from "../match-record.ts";
import type { Facts } from "../matching.ts";
import { batches, idsAtOnce, recordOf, unread } from "./store.ts";
import type { StoredPerson } from "./people.ts";

export interface KnownDeps {
  facts: ServerFacts;
  index: CandidateIndex;
  ownServerIds: () => readonly string[];
}

/** Everything some people are compared with, as the rows of this transaction have it. */
export async function readFacts(tx: Tx, people: readonly StoredPerson[], deps: KnownDeps): Promise<Facts> {
  const { facts, ownServerIds } = deps;
  const hashes = [...new Set(people.flatMap(({ servers }) => servers.map(({ hash }) => hash)))];
  const own = ownServerIds();
  const found: { related: Facts["related"][]; watched: Facts["watched"][]; agreements: Facts["agreements"][] } = {
    related: [],
    watched: [],
    agreements: [],
  };
  for (const some of batches(hashes, idsAtOnce)) {
    found.related.push(await facts.relatedTo(tx.db, some));
    found.watched.push(await facts.watchedAmong(tx.db, some));
    if (own.length > 0) found.agreements.push(await facts.agreementsAmong(tx.db, some, own, tx.now));
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
