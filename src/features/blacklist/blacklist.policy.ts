import type { Severity } from "../../kernel/vocabulary.ts";
import type { ReadClient, TransactionClient } from "../../database/database.ts";
import type { BlacklistRecord } from "../../generated/sqlite/client.ts";
import { can, type Call } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import { createVisibility, noClearance, seesRedactions, type Clearance, type FieldClasses } from "../../kernel/visibility.ts";
import { blacklistReference } from "../../kernel/parsing.ts";
import type { MatchRecord } from "../intelligence/matches/matches.service.ts";
import type { BlacklistView, CheckedRecord } from "./blacklist.schema.ts";

/** How staff stand towards each other, known without I/O. */
export interface Ranks {
  of(userId: string): { isStaff: boolean; rank: number };
}

/** `BL-000123`; beyond 999999 the number simply grows wider. */
export function referenceOf(record: { number: number }): string {
  return blacklistReference(record.number);
}

/** Whether a record counts, now or once it starts, or once no appeal suspends it any more. */
export function isLive(record: { status: string; startsAt: Date; expiresAt: Date | null }, now: Date): boolean {
  return ["active", "scheduled", "suspended"].includes(statusAt(record, now));
}

/** The status that counts at a moment, whether or not the sweep has come by. */
export function statusAt(record: { status: string; startsAt: Date; expiresAt: Date | null }, now: Date): BlacklistView["status"] {
  const { status } = record;
  if (status !== "active" && status !== "scheduled" && status !== "suspended") return status as BlacklistView["status"];
  if (record.expiresAt !== null && record.expiresAt <= now) return "expired";
  if (status === "suspended") return status;
  return record.startsAt <= now ? "active" : "scheduled";
}

/** Nobody lists someone of equal or higher rank. @throws ProblemError hierarchy_violation */
export function requireOutranks(call: Call, ranks: Ranks, record: { kind: string; subjectId: string }): void {
  if (record.kind !== "user" || call.actor === null || call.actor.isOwner) return;
  const subject = ranks.of(record.subjectId);
  if (subject.isStaff && subject.rank >= call.actor.rank) throw new ProblemError("hierarchy_violation");
}

/** The numbers of the records that others took the place of, by their ids. */
export type Numbers = ReadonlyMap<string, number>;

/** The numbers that the views of some records name; asks the database only where there are any. */
export async function numbersFor(
  db: Pick<ReadClient | TransactionClient, "blacklistRecord">,
  rows: readonly BlacklistRecord[],
): Promise<Numbers> {
  const ids = [...new Set(rows.flatMap(({ supersedesId }) => (supersedesId === null ? [] : [supersedesId])))];
  if (ids.length === 0) return new Map();
  const named = await db.blacklistRecord.findMany({ where: { id: { in: ids } }, select: { id: true, number: true } });
  return new Map(named.map(({ id, number }) => [id, number]));
}

/**
 * The whole record. What leaves goes through {@link recordsFor}.
 * @param numbers as {@link numbersFor} has them for this row
 */
export function presentRecord(row: BlacklistRecord, now: Date, numbers: Numbers): BlacklistView {
  const superseded = row.supersedesId === null ? undefined : numbers.get(row.supersedesId);
  return {
    id: row.id,
    number: referenceOf(row),
    kind: row.kind as BlacklistView["kind"],
    subject_id: row.subjectId,
    subject_snapshot: row.subjectName === null ? null : { name: row.subjectName },
    scope: row.scope,
    server_ids: row.serverIds as string[],
    category: row.category,
    severity: row.severity as Severity,
    status: statusAt(row, now),
    reason_public: row.reasonPublic,
    reason_internal: row.reasonInternal,
    recommended_action: row.recommendedAction,
    member_policy: row.memberPolicy,
    grace_period_seconds: row.gracePeriod,
    exempt_user_ids: row.exemptUserIds as string[],
    ...(row.kind === "user" && { include_alts: row.includeAlts as NonNullable<BlacklistView["include_alts"]> }),
    evidence: row.evidence as BlacklistView["evidence"],
    tags: row.tags as string[],
    source: row.source,
    origin_reference: row.originReference,
    supersedes: superseded === undefined ? null : referenceOf({ number: superseded }),
    created_by: row.createdBy,
    approved_by: row.approvedBy as string[],
    starts_at: row.startsAt.toISOString(),
    expires_at: isoOrNull(row.expiresAt),
    review_at: isoOrNull(row.reviewAt),
    last_reviewed_at: isoOrNull(row.lastReviewedAt),
    revoked: row.revokedAt === null ? null : { at: row.revokedAt.toISOString(), by: row.revokedBy, reason: row.revokeReason },
    history_count: row.revision,
    revision: row.revision,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}

/** What of a record is for whom; a bulk check tells callers who are not cleared as staff only what to do about its subject. */
export const recordClasses = {
  id: "staff",
  number: "staff",
  kind: "public",
  subject_id: "staff",
  subject_snapshot: "staff",
  scope: "staff",
  server_ids: "staff",
  category: "public",
  severity: "public",
  status: "staff",
  reason_public: "staff",
  reason_internal: "confidential",
  recommended_action: "public",
  member_policy: "public",
  grace_period_seconds: "staff",
  exempt_user_ids: "confidential",
  include_alts: "staff",
  evidence: "staff",
  tags: "staff",
  source: "staff",
  origin_reference: "staff",
  supersedes: "staff",
  created_by: "staff",
  approved_by: "staff",
  starts_at: "staff",
  expires_at: "public",
  review_at: "staff",
  last_reviewed_at: "staff",
  revoked: "staff",
  history_count: "staff",
  revision: "staff",
  created_at: "staff",
  updated_at: "staff",
} as const satisfies FieldClasses<CheckedRecord>;
export type RecordClasses = typeof recordClasses;
const visible = createVisibility<CheckedRecord>(recordClasses);

/** The fields whose content stays out of the audit. */
export const confidentialFields: ReadonlySet<string> = new Set(
  Object.entries(recordClasses).flatMap(([field, fieldClass]) => (fieldClass === "confidential" ? [field] : [])),
);

/** @param isReader whether the record is the caller's to read: the service method's own permission says so, or `blacklist.read` */
function clearanceFor(call: Call, isReader: boolean): Clearance {
  return { ...noClearance, staff: isReader, confidential: isReader && can(call, "blacklist.read_confidential") };
}

/** @returns a function that leaves out of records what this caller may not see, decided once for all of them */
export function recordsFor(call: Call): (view: BlacklistView) => BlacklistView {
  const [clearance, isTold] = [clearanceFor(call, true), seesRedactions(call)];
  // A cleared reader gets every field that a record always has.
  return (view) => visible(view, clearance, isTold) as BlacklistView;
}

/** @returns a function that shows records as a bulk check does: reduced for callers without `blacklist.read` */
export function checkedFor(call: Call): (view: BlacklistView) => CheckedRecord {
  const [clearance, isTold] = [clearanceFor(call, can(call, "blacklist.read")), seesRedactions(call)];
  return (view) => visible(view, clearance, isTold);
}

/** The record as matching needs it. */
export function toMatchRecord(row: BlacklistRecord, now: Date): MatchRecord {
  return {
    id: row.id,
    number: row.number,
    reference: referenceOf(row),
    revision: row.revision,
    kind: row.kind as MatchRecord["kind"],
    subjectId: row.subjectId,
    subjectHash: row.subjectHash,
    serverName: row.kind === "server" ? row.subjectName : null,
    severity: row.severity as Severity,
    status: statusAt(row, now),
    recommendedAction: row.recommendedAction,
    memberPolicy: row.memberPolicy,
    gracePeriodSeconds: row.gracePeriod,
    exemptUserIds: row.exemptUserIds as string[],
    includeAlts: row.includeAlts as MatchRecord["includeAlts"],
    startsAt: row.startsAt,
    expiresAt: row.expiresAt,
  };
}
