import { say } from "../../kit/say.ts";
import { exempting, ofRecord, plain, roleOf, type Known, type Person, type HeldServer, type Why, type MatchDraft } from "./match-drafts.ts";
import type { Relation } from "../servers/related.ts";
import { addSeconds } from "../../kernel/clock.ts";
import type { AgreementFact } from "../servers/facts.ts";
import type { MatchRecord } from "./match-record.ts";

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
    detail: say("intelligence.of-a-server-that-has-an-active", { position: role }),
  }),
  alias: (role) => ({
    rule: "alias_of_blacklisted_server",
    detail: say("intelligence.of-a-server-that-is-another-id", { position: role }),
  }),
  merged: (role) => ({
    rule: "merged_with_blacklisted_server",
    detail: say("intelligence.of-a-server-that-was-merged-with", { position: role }),
  }),
};

/** Of records about servers somebody is in, or about other ids of them. */
export function findListedServers({ userId, servers }: Person, known: Known): MatchDraft[] {
  const own = servers.flatMap(({ hash, relation }) =>
    known.recordsOfServer(hash).map((record): ServerHit => ({ record, relation, how: "own" })),
  );
  return [...own, ...relatedRecords(servers, known, "alias")].map((hit) => serverDraft(hit, userId, known.now));
}

/** Of records about servers that were merged with one somebody is in. */
export function findMergedServers({ userId, servers }: Person, known: Known): MatchDraft[] {
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
export function findWatched({ servers }: Person, known: Known): MatchDraft[] {
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
          { rule: `${role.toLowerCase()}_of_watched_server`, detail: say("intelligence.of-a-server-that-is-watched", { position: role }) },
        ],
        suggestedAction: "monitor",
      };
    }),
  );
}

/** Of agreements with servers somebody is in. */
export function findAgreements({ servers }: Person, known: Known): MatchDraft[] {
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
              detail: say("intelligence.of-a-server-with-which-a-no", { position: role }),
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
