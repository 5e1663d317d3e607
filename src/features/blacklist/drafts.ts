import { severities } from "../../kernel/vocabulary.ts";
import type { BlacklistRecord } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { fieldError } from "../../kernel/errors.ts";
import { parseDuration } from "../../kernel/fields.ts";
import { reviewAfter, type RecordDraft } from "./records.ts";
import type { CreateBlacklistInput, UpdateBlacklistInput } from "./blacklist.schema.ts";

/** A length in seconds; null and undefined stay what they are. */
function seconds(duration: string | null | undefined): number | null | undefined {
  return typeof duration === "string" ? (parseDuration(duration) ?? null) : duration;
}

function time(at: string | null | undefined): Date | null | undefined {
  return typeof at === "string" ? new Date(at) : at;
}

/** When a record ends, told as a time or as a length from `start`. @throws ProblemError when that is over already */
function endOf(
  input: { expires_at?: string | null | undefined; duration?: string | null | undefined },
  start: Date,
  now: Date,
): Date | null | undefined {
  const length = seconds(input.duration);
  const end = typeof length === "number" ? addSeconds(start, length) : length === null ? null : time(input.expires_at);
  if (end instanceof Date && (end <= start || end <= now))
    throw fieldError("/expires_at", "invalid_value", "The record would end before it starts.");
  return end;
}

/** What creating and changing a record tell in the same words. */
function toldOf(input: Partial<CreateBlacklistInput> | UpdateBlacklistInput) {
  return {
    subjectName: input.subject_name,
    serverIds: input.server_ids,
    reasonPublic: input.reason_public,
    reasonInternal: input.reason_internal,
    recommendedAction: input.recommended_action,
    memberPolicy: input.member_policy,
    gracePeriod: seconds(input.grace_period),
    exemptUserIds: input.exempt_user_ids,
    includeAlts: input.include_alts,
    evidence: input.evidence,
    tags: input.tags,
  };
}

/** A record as a caller asks for it. @throws ProblemError when it would be over before it starts */
export function draftOf(input: ReturnType<typeof CreateBlacklistInput.parse>, call: Call, now: Date): RecordDraft {
  const startsAt = input.starts_at === undefined ? now : new Date(input.starts_at);
  return {
    kind: input.kind,
    subjectId: input.subject_id,
    ...toldOf(input),
    reviewAt: time(input.review_at),
    scope: input.scope,
    category: input.category,
    severity: input.severity,
    startsAt,
    expiresAt: endOf(input, startsAt, now),
    source: "direct",
    createdBy: call.actor?.id ?? null,
  };
}

/** What an update changes, field by field; what was not sent stays. @throws ProblemError as `draftOf` */
export function changesOf(input: ReturnType<typeof UpdateBlacklistInput.parse>, row: BlacklistRecord, now: Date): Partial<BlacklistRecord> {
  const changes = {
    ...toldOf(input),
    category: input.category,
    severity: input.severity,
    severityOrder: input.severity === undefined ? undefined : severities.indexOf(input.severity),
    expiresAt: endOf(input, row.startsAt > now ? row.startsAt : now, now),
    ...reviewOf(input, row, now),
  };
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}

/** A review moves the next one on, unless that is told; a date that moves is told of again when it comes. */
function reviewOf(input: ReturnType<typeof UpdateBlacklistInput.parse>, row: BlacklistRecord, now: Date): Partial<BlacklistRecord> {
  const isReviewed = input.reviewed === true;
  const told = time(input.review_at);
  const reviewAt = told === undefined && isReviewed && row.reviewAt !== null ? addSeconds(now, reviewAfter) : (told ?? null);
  const moves = (told !== undefined || isReviewed) && reviewAt?.getTime() !== row.reviewAt?.getTime();
  return { ...(isReviewed && { lastReviewedAt: now }), ...(moves && { reviewAt, reviewToldFor: null }) };
}
