import { exempting, ofRecord, plain, type Known, type Person, type MatchDraft } from "./match-drafts.ts";
import type { MatchKind } from "./intelligence.schema.ts";
import type { MatchRecord } from "./match-record.ts";
import { findAgreements, findListedServers, findMergedServers, findWatched } from "./match-servers.ts";

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
    why: [{ rule: "blacklisted_user", detail: "The person has an active blacklist record." }],
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
              detail: `A ${account.confidence} linked account has an active blacklist record.`,
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
    why: [{ rule: "recruitment_denied", detail: "An application of this person was denied within the last 180 days." }],
    suggestedAction: "monitor",
  }));
}
