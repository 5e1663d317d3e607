import { changedRecord, type Changes, type BulkChange, type ChangedRecord, type NewRecord } from "./bulk.ts";
import type { BlacklistRecord } from "../../generated/sqlite/client.ts";
import { addSeconds } from "../../kernel/clock.ts";
import type { ParsedRecord } from "./import-check.ts";
import type { ImportMode, ImportOutcome } from "./import/import.schema.ts";
import type { BlacklistAction } from "./settle.ts";
import { mergedFields, rowOf, type RecordDraft } from "./records.ts";
import { canonical, saysTheSame } from "./same.ts";

export interface PlanRules {
  mode: ImportMode;
  now: Date;
  readsConfidential: boolean;
  /** The key of server hashes. */
  serversKey: Buffer;
}

/** What becomes of a line. */
export interface Plan {
  outcome: ImportOutcome;
  /** What is to be written, in this order. */
  changes: BulkChange[];
  /** The record that stands for the subject and scope afterwards. */
  row: BlacklistRecord;
}

const importing = "blacklist.import";

/** What becomes of a line, given the record that holds its subject and scope. Nothing is asked and nothing is written here. */
export function planLine(input: ParsedRecord, draft: RecordDraft, holder: BlacklistRecord | undefined, rules: PlanRules): Plan {
  if (holder === undefined) return made("created", draft, undefined, rules);
  if (holder.expiresAt !== null && holder.expiresAt <= rules.now) {
    const over = changeOf(holder, { status: "expired", activeKey: null }, "blacklist.expire", rules.now);
    const { outcome, changes, row } = made("created", draft, undefined, rules);
    return { outcome, changes: [over, ...changes], row };
  }
  const lasting = { ...draft, expiresAt: endBeside(holder, input, draft) };
  const untold = { startsAt: input.starts_at === undefined, reviewAt: input.review_at === undefined };
  const line = newRow({ ...lasting, startsAt: draft.startsAt }, rules);
  if (saysTheSame(holder, line, untold, rules.readsConfidential)) return { outcome: "unchanged", changes: [], row: holder };
  if (rules.mode === "skip") return { outcome: "skipped", changes: [], row: holder };
  return rules.mode === "merge" ? merged(holder, lasting, rules.now) : replaced(holder, draft, rules);
}

/** A length counts from the start of the record that is there, so that an import told twice does the same as one told once. */
function endBeside(holder: BlacklistRecord, input: ParsedRecord, draft: RecordDraft): Date | null {
  const end = draft.expiresAt ?? null;
  if (typeof input.duration !== "string" || end === null || draft.startsAt === undefined || input.starts_at !== undefined) return end;
  return addSeconds(holder.startsAt, (end.getTime() - draft.startsAt.getTime()) / 1000);
}

function made(outcome: ImportOutcome, draft: RecordDraft, supersedesId: string | undefined, rules: PlanRules): Plan {
  const row = newRow({ ...draft, supersedesId }, rules);
  const change: NewRecord = { before: null, row, note: { action: "blacklist.create", permission: importing } };
  return { outcome, changes: [change], row };
}

function newRow(draft: RecordDraft, { now, serversKey }: PlanRules): BlacklistRecord {
  const untouched = { lastReviewedAt: null, revokedAt: null, revokedBy: null, revokeReason: null, revision: 1, reviewToldFor: null };
  return { ...rowOf(now, draft, 0, serversKey), ...untouched } as BlacklistRecord;
}

function merged(holder: BlacklistRecord, draft: RecordDraft, now: Date): Plan {
  const fields = mergedFields(holder, draft, now);
  const isSame = Object.entries(fields).every(([name, value]) => canonical(value) === canonical(holder[name as keyof BlacklistRecord]));
  if (isSame) return { outcome: "unchanged", changes: [], row: holder };
  const change = changeOf(holder, fields, "blacklist.merge", now);
  return { outcome: "merged", changes: [change], row: change.row };
}

function replaced(holder: BlacklistRecord, draft: RecordDraft, rules: PlanRules): Plan {
  const old = changeOf(holder, { status: "superseded", activeKey: null }, "blacklist.supersede", rules.now);
  const { outcome, changes, row } = made("replaced", draft, holder.id, rules);
  return { outcome, changes: [old, ...changes], row };
}

function changeOf(before: BlacklistRecord, changes: Changes, action: BlacklistAction, now: Date): ChangedRecord {
  const permission = action === "blacklist.expire" ? "system.act" : importing;
  return changedRecord(before, changes, { action, permission }, now);
}
