import { say, term } from "../../kit/say.ts";
import { exempting, ofRecord, plain, type Known, type Person, type MatchDraft, roleOf, type HeldServer, type Why } from "./match-drafts.ts";
import type { MatchKind } from "./intelligence.schema.ts";
import { isInForce, type MatchRecord } from "./match-record.ts";
import type { RelatedServer, Relation } from "../servers/related.ts";
import { groupBy } from "../../kernel/group.ts";
import type { AgreementFact, WatchedServer } from "../servers/facts.ts";
import { addSeconds } from "../../kernel/clock.ts";

const serverPolicies = { low: "inform", medium: "flag", high: "verify", critical: "deny_entry" } as const;

/** A record that concerns a server somebody is in: the server itself, or one related to it. */
interface ServerHit {
  record: MatchRecord;
  relation: string;
  how: "own" | Relation;
}

const serverRules: Readonly<Record<ServerHit["how"], (role: string) => Why>> = {
  own: (role) => ({
    rule: `${role.toLowerCase()}_of_blacklisted_server`,
    detail: say("intelligence.of-a-server-that-has-an-active", { position: term(role) }),
  }),
  alias: (role) => ({
    rule: "alias_of_blacklisted_server",
    detail: say("intelligence.of-a-server-that-is-another-id", { position: term(role) }),
  }),
  merged: (role) => ({
    rule: "merged_with_blacklisted_server",
    detail: say("intelligence.of-a-server-that-was-merged-with", { position: term(role) }),
  }),
};

/** Of records about servers somebody is in, or about other ids of them. */
function findListedServers({ userId, servers }: Person, known: Known): MatchDraft[] {
  const own = servers.flatMap(({ hash, relation }) =>
    known.recordsOfServer(hash).map((record): ServerHit => ({ record, relation, how: "own" })),
  );
  return [...own, ...relatedRecords(servers, known, "alias")].map((hit) => serverDraft(hit, userId, known.now));
}

/** Of records about servers that were merged with one somebody is in. */
function findMergedServers({ userId, servers }: Person, known: Known): MatchDraft[] {
  return relatedRecords(servers, known, "merged").map((hit) => serverDraft(hit, userId, known.now));
}

function relatedRecords(servers: readonly HeldServer[], known: Known, wanted: Relation): ServerHit[] {
  return servers.flatMap(({ hash, relation }) =>
    known
      .relatedTo(hash)
      .filter(({ how }) => how === wanted)
      .flatMap((related) => known.recordsOfServer(related.hash).map((record): ServerHit => ({ record, relation, how: wanted }))),
  );
}

function serverDraft({ record, relation, how }: ServerHit, userId: string, now: Date): MatchDraft {
  const graceUntil = record.gracePeriodSeconds === null ? null : addSeconds(record.startsAt, record.gracePeriodSeconds);
  const status = graceUntil !== null && graceUntil > now ? "grace" : "open";
  return exempting(record, userId, {
    ...ofRecord(record),
    kind: how === "merged" ? "merged_server" : "server_blacklist",
    serverId: record.subjectId,
    confidence: how === "merged" ? 60 : 100,
    status,
    why: [serverRules[how](roleOf(relation))],
    suggestedAction: record.memberPolicy ?? record.recommendedAction ?? serverPolicies[record.severity],
    graceUntil,
  });
}

/** Of watched servers somebody is in. */
function findWatched({ servers }: Person, known: Known): MatchDraft[] {
  return servers.flatMap(({ hash, relation }) =>
    known.watched(hash).map((server): MatchDraft => {
      const role = roleOf(relation);
      return {
        ...plain,
        kind: "watch",
        recordId: server.id,
        reference: server.id,
        revision: server.revision,
        serverId: server.id,
        severity: "low",
        why: [
          {
            rule: `${role.toLowerCase()}_of_watched_server`,
            detail: say("intelligence.of-a-server-that-is-watched", { position: term(role) }),
          },
        ],
        suggestedAction: "monitor",
      };
    }),
  );
}

/** Of agreements with servers somebody is in. */
function findAgreements({ servers }: Person, known: Known): MatchDraft[] {
  return servers.flatMap(({ hash, relation }) =>
    known
      .agreements(hash)
      .filter((agreement) => isCovered(agreement, relation))
      .map((agreement): MatchDraft => {
        const role = roleOf(relation);
        return {
          ...plain,
          kind: "no_poach",
          recordId: agreement.id,
          reference: agreement.reference ?? agreement.id,
          revision: agreement.revision,
          serverId: agreement.serverId,
          severity: "medium",
          why: [
            {
              rule: `${role.toLowerCase()}_of_agreement_party`,
              detail: say("intelligence.of-a-server-with-which-a-no", { position: term(role) }),
            },
          ],
          suggestedAction: "verify",
        };
      }),
  );
}

/** Who owns or manages a server is its staff, as far as anybody outside can tell. */
function isCovered({ covers }: AgreementFact, relation: string): boolean {
  return covers === "both" || covers === (relation === "member" ? "members" : "staff");
}

/** How matches of one kind come about, and where what they stand on is found. */
export interface KindRule {
  /** What changes them: the servers somebody is in, records about the person, linked accounts, or earlier decisions. */
  basis: "servers" | "person" | "links" | "history";
  /** Whether a blacklist record stands behind them. */
  ofRecord: boolean;
  /** The drafts of one person, the strongest ground of a record first. */
  find(person: Person, known: Known): MatchDraft[];
}

const userActions = { low: "monitor", medium: "verify", high: "deny_entry", critical: "ban" } as const;
const linkStrength = { confirmed: 95, probable: 60 } as const;
/** What a record says of linked accounts, and which links that takes in. */
const linksIncluded = { none: [], confirmed: ["confirmed"], probable: ["confirmed", "probable"] } as const;

/** Every kind of match there is. */
export const kindRules: Readonly<Record<MatchKind, KindRule>> = {
  server_blacklist: { basis: "servers", ofRecord: true, find: findListedServers },
  merged_server: { basis: "servers", ofRecord: true, find: findMergedServers },
  user_blacklist: {
    basis: "person",
    ofRecord: true,
    find: ({ userId }, known) => known.recordsOfUser(userId).map((record) => userDraft(record)),
  },
  alt_of_blacklisted: { basis: "links", ofRecord: true, find: findLinkedAccounts },
  watch: { basis: "servers", ofRecord: false, find: findWatched },
  no_poach: { basis: "servers", ofRecord: false, find: findAgreements },
  prior_denial: { basis: "history", ofRecord: false, find: findDenials },
};

const rules: ReadonlyMap<string, KindRule> = new Map(Object.entries(kindRules));

/** The rule of a stored match's kind. */
export function ruleOf(kind: string): KindRule | undefined {
  return rules.get(kind);
}

function userDraft(record: MatchRecord): MatchDraft {
  return {
    ...ofRecord(record),
    kind: "user_blacklist",
    why: [{ rule: "blacklisted_user", detail: say("intelligence.the-person-has-an-active-blacklist-record") }],
    suggestedAction: record.recommendedAction ?? userActions[record.severity],
  };
}

function findLinkedAccounts({ userId, linked }: Person, known: Known): MatchDraft[] {
  return linked.flatMap((account) =>
    known
      .recordsOfUser(account.userId)
      .filter(({ includeAlts }) => linksIncluded[includeAlts].some((included) => included === account.confidence))
      .map((record) =>
        exempting(record, userId, {
          ...userDraft(record),
          kind: "alt_of_blacklisted",
          viaUserId: account.userId,
          confidence: linkStrength[account.confidence],
          why: [
            {
              rule: `${account.confidence}_account_of_blacklisted_user`,
              detail: say(`intelligence.${account.confidence}-account-listed`),
            },
          ],
        }),
      ),
  );
}

function findDenials({ denials }: Person): MatchDraft[] {
  return denials.map(({ id, reference, revision }) => ({
    ...plain,
    kind: "prior_denial",
    recordId: id,
    reference,
    revision,
    severity: "low",
    why: [{ rule: "recruitment_denied", detail: say("intelligence.an-application-of-this-person-was-denied") }],
    suggestedAction: "monitor",
  }));
}

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
