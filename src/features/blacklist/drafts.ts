import { say } from "../../kit/say.ts";
import { severities } from "../../kernel/vocabulary.ts";
import type { BlacklistRecord } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { fieldError, ProblemError, type FieldError } from "../../kernel/errors.ts";
import { parseDuration } from "../../kernel/fields.ts";
import { reviewAfter, type RecordDraft } from "./records.ts";
import type { CreateBlacklistInput, UpdateBlacklistInput } from "./blacklist.schema.ts";
import type { z } from "zod";
import { readForeign, shownValue } from "../../kernel/foreign.ts";
import type { LineError, SourceLine } from "./import-lines.ts";
import { ImportRecord, infoFields, type ImportedLine } from "./import/import.schema.ts";
import { requireOutranks, type Ranks } from "./blacklist.policy.ts";

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
    throw fieldError("/expires_at", "invalid_value", say("blacklist.the-record-would-end-before-it-starts"));
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
  const lineErrorOf = time(input.review_at);
  const reviewAt = lineErrorOf === undefined && isReviewed && row.reviewAt !== null ? addSeconds(now, reviewAfter) : (lineErrorOf ?? null);
  const moves = (lineErrorOf !== undefined || isReviewed) && reviewAt?.getTime() !== row.reviewAt?.getTime();
  return { ...(isReviewed && { lastReviewedAt: now }), ...(moves && { reviewAt, reviewToldFor: null }) };
}

export type ParsedRecord = z.output<typeof ImportRecord>;

/** A line that can be carried out, as far as it alone tells. */
export interface ReadyLine {
  line: number;
  input: ParsedRecord;
}

/** A line as it is, or what is wrong with it. */
export function checkLine({ line, value, errors, text }: SourceLine): ReadyLine | ImportedLine {
  if (errors !== undefined)
    return { line, outcome: "refused", errors: errors.map((error) => ({ ...error, ...(text !== undefined && { value: text }) })) };
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return {
      line,
      outcome: "refused",
      errors: [{ pointer: "", code: "invalid_type", detail: say("blacklist.a-record-is-an-object"), value: shownValue(value) }],
    };
  const { status, ...fields } = Object.fromEntries(Object.entries(value).filter(([name]) => name === "status" || !isInfo(name)));
  const subject = typeof fields["subject_id"] === "string" ? { subject_id: shownValue(fields["subject_id"]) } : {};
  if (typeof status === "string" && !["active", "scheduled"].includes(status))
    return { line, outcome: "skipped", ...subject, errors: [{ pointer: "/status", code: "not_in_force", detail: notInForce }] };
  const read = readForeign(ImportRecord, fields);
  if ("data" in read) return { line, input: read.data };
  return { line, outcome: "refused", ...subject, errors: read.faults.slice(0, maxFaults).map((fault) => lineErrorOf(fault, fields)) };
}

/** Wrong fields of one line that are named. */
const maxFaults = 20;
const notInForce = say("blacklist.the-record-did-not-count-any-longer");
const isInfo = (name: string): boolean => infoFields.some((known) => known === name);

/** The draft of a line. @returns what refuses it instead */
export function draftFor({ input }: ReadyLine, call: Call, ranks: Ranks, now: Date): RecordDraft | LineError[] {
  try {
    const draft: RecordDraft = { ...draftOf(input, call, now), source: "import" };
    requireOutranks(call, ranks, draft);
    return draft;
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return error.errors?.map((one) => lineErrorOf(one, {})) ?? [{ pointer: "/subject_id", code: error.code, detail: error.said }];
  }
}

function lineErrorOf(fault: Pick<FieldError, "pointer" | "code" | "detail">, fields: Readonly<Record<string, unknown>>): LineError {
  const { pointer, code, detail } = fault;
  const value = valueAt(fields, pointer);
  const told = code === "invalid_snowflake" ? spreadsheetDetail(value) : code === "invalid_datetime" ? writtenDate : undefined;
  return { pointer, code, detail: told ?? detail, ...(value !== undefined && { value: shownValue(value) }) };
}

const writtenDate = say("blacklist.write-a-date-as-2026-11-20");

function valueAt(fields: Readonly<Record<string, unknown>>, pointer: string): unknown {
  const [, name = "", index] = pointer.split("/");
  const value = fields[name];
  return Array.isArray(value) && index !== undefined ? (value as unknown[])[Number(index)] : value;
}

/** What spreadsheets make of long numbers. */
function spreadsheetDetail(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  if (/^\d([.,]\d+)?E\+?\d+$/i.test(value)) return say("blacklist.a-spreadsheet-has-rounded-this-id-to", { value });
  if (/^\d{17,20}[.,]0*$/.test(value)) return say("blacklist.a-spreadsheet-has-made-a-number-of");
  if (/^\d{1,16}$/.test(value)) return say("blacklist.the-id-has-only-digits-of-17", { value: value.length });
  return undefined;
}
