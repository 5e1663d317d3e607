import { severities, type Severity } from "../../kernel/vocabulary.ts";

/** A blacklist record as matching needs it. */
export interface MatchRecord {
  id: string;
  /** Of `BL-000001`: 1. */
  number: number;
  /** Such as `BL-000001`. */
  reference: string;
  revision: number;
  kind: "user" | "server";
  subjectId: string;
  /** Keyed hash of a server's id, as stored with people's servers; null is computed from the id. */
  subjectHash: string | null;
  serverName: string | null;
  severity: Severity;
  /** `active` records match, and `scheduled` ones from their start. */
  status: string;
  recommendedAction: string | null;
  memberPolicy: string | null;
  gracePeriodSeconds: number | null;
  exemptUserIds: readonly string[];
  /** Which linked accounts of a listed person it concerns, too: none, confirmed ones, or probable ones as well. */
  includeAlts: "none" | "confirmed" | "probable";
  startsAt: Date;
  expiresAt: Date | null;
}

/** Whether a record may count now or later: neither expired nor revoked. */
export function mayCount(record: Pick<MatchRecord, "status">): boolean {
  return record.status === "active" || record.status === "scheduled";
}

/** Whether a record counts at a moment: active (a scheduled one is from its start on), and not past its end. */
export function isInForce(record: MatchRecord, now: Date): boolean {
  const isActive = record.status === "active" || (record.status === "scheduled" && record.startsAt <= now);
  return isActive && (record.expiresAt === null || record.expiresAt > now);
}

/** How severe a word is, for comparison; an unknown word is below all. */
export function severityOrder(severity: string): number {
  return severities.findIndex((known) => known === severity);
}

/** What a recomputation did: matches opened (again), still standing but different, and closed. */
export interface MatchChanges {
  added: number;
  changed: number;
  removed: number;
}

/** The sum of what several recomputations did. */
export function sumOf(all: Iterable<MatchChanges>): MatchChanges {
  const sum = { added: 0, changed: 0, removed: 0 };
  for (const { added, changed, removed } of all) {
    sum.added += added;
    sum.changed += changed;
    sum.removed += removed;
  }
  return sum;
}
