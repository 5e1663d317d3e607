export const severities = ["low", "medium", "high", "critical"] as const;
export type Severity = (typeof severities)[number];

/** A blacklist record as matching needs it. */
export interface MatchRecord {
  id: string;
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
  startsAt: Date;
  expiresAt: Date | null;
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
