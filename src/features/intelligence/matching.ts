import { addSeconds } from "../../kernel/clock.ts";
import type { BlacklistIndex } from "./blacklist-index.ts";
import type { MatchRecord, Severity } from "./match-record.ts";
import { isInForce } from "./match-record.ts";

/** A server somebody is in now. */
export interface HeldServer {
  hash: string;
  relation: string;
}

/** One rule that made a match. The words are safe to show: they hold no reason of the record. */
export interface Why {
  rule: string;
  detail: string;
}

/** What a match should be, going by the records alone. */
export interface MatchDraft {
  kind: "server_blacklist" | "user_blacklist";
  record: MatchRecord;
  severity: Severity;
  confidence: number;
  status: "open" | "grace" | "exempt";
  why: readonly Why[];
  suggestedAction: string;
  graceUntil: Date | null;
}

export interface MatchSubject {
  userId: string;
  servers: Iterable<HeldServer>;
  index: Pick<BlacklistIndex, "byServerHash" | "byUser">;
  now: Date;
}

const userActions = { low: "monitor", medium: "verify", high: "deny_entry", critical: "ban" } as const;
const serverPolicies = { low: "inform", medium: "flag", high: "verify", critical: "deny_entry" } as const;

/** Every match one person has by the records in force, one per record. Pure. */
export function matchUser({ userId, servers, index, now }: MatchSubject): MatchDraft[] {
  const drafts: MatchDraft[] = [];
  for (const record of index.byUser(userId)) {
    if (isInForce(record, now)) drafts.push(userDraft(record));
  }
  for (const server of servers) {
    for (const record of index.byServerHash(server.hash)) {
      if (isInForce(record, now)) drafts.push(serverDraft(record, userId, server.relation, now));
    }
  }
  return drafts;
}

function userDraft(record: MatchRecord): MatchDraft {
  return {
    kind: "user_blacklist",
    record,
    severity: record.severity,
    confidence: 100,
    status: "open",
    why: [{ rule: "blacklisted_user", detail: "The person has an active blacklist record." }],
    suggestedAction: record.recommendedAction ?? userActions[record.severity],
    graceUntil: null,
  };
}

function serverDraft(record: MatchRecord, userId: string, relation: string, now: Date): MatchDraft {
  const graceUntil = record.gracePeriodSeconds === null ? null : addSeconds(record.startsAt, record.gracePeriodSeconds);
  const inGrace = graceUntil !== null && graceUntil > now;
  const isExempt = record.exemptUserIds.includes(userId);
  const role = relation === "owner" ? "Owner" : relation === "manager" ? "Manager" : "Member";
  return {
    kind: "server_blacklist",
    record,
    severity: record.severity,
    confidence: 100,
    status: isExempt ? "exempt" : inGrace ? "grace" : "open",
    why: [
      { rule: `${role.toLowerCase()}_of_blacklisted_server`, detail: `${role} of a server that has an active blacklist record.` },
      ...(isExempt ? [{ rule: "exempt", detail: "The record exempts this person." }] : []),
    ],
    suggestedAction: record.memberPolicy ?? record.recommendedAction ?? serverPolicies[record.severity],
    graceUntil,
  };
}
