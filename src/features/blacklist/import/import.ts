import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import { setTimeout as delay } from "node:timers/promises";
import { can, requireWrite, type Call } from "../../../kernel/call.ts";
import { fieldError, ProblemError } from "../../../kernel/errors.ts";
import { checkLine, type ReadyLine, draftFor, type ParsedRecord } from "../drafts.ts";
import type { SourceLine, LineError } from "../import-lines.ts";
import {
  ImportBlacklistBody,
  ImportBlacklistQuery,
  maxRecords,
  outcomes,
  type BlacklistImport,
  type ImportCounts,
  type ImportedLine,
  type ImportMode,
  type ImportOutcome,
} from "./import.schema.ts";
import { readCsv } from "../csv.ts";
import { type Ranks, referenceOf } from "../blacklist.policy.ts";
import type { Conflicts } from "../../links/conflicts.ts";
import type { SideEffectDeps, BlacklistAction } from "../side-effects.ts";
import type { Previews } from "../../lists/preview.ts";
import type { Tx } from "../../../database/database.ts";
import type { BlacklistRecord } from "../../../generated/sqlite/client.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { createBulkWrites, changedRecord, type BulkChange, type Changes, type ChangedRecord, type NewRecord } from "../bulk.ts";
import { activeKeyOf, mergedFields, rowOf, type RecordDraft } from "../records.ts";
import { canonical, saysTheSame } from "../same.ts";

interface RunDeps extends SideEffectDeps, Deps<"database" | "clock"> {
  access: Ranks & SideEffectDeps["access"];
  serversKey: Buffer;
  conflicts: Pick<Conflicts, "accountsOf">;
}

type Rules = Pick<PlanRules, "mode" | "readsConfidential">;
type Holders = Map<string, BlacklistRecord>;

/** A line with the record it asks for. */
interface DraftedLine extends ReadyLine {
  draft: RecordDraft;
  key: string;
}

interface PlannedLine {
  line: DraftedLine;
  plan: Plan;
}

/** @returns writes some lines in one transaction; when the storage does not take them together, one by one */
function createWriting(deps: RunDeps) {
  const { database, events, access, serversKey, conflicts } = deps;
  const bulk = createBulkWrites(deps);

  async function write(call: Call, lines: readonly ReadyLine[], rules: Rules): Promise<ImportedLine[]> {
    return await database.write({ ...call, idempotency: null }, async (tx) => {
      const { drafted, refused } = draftAll(lines, call, access, tx.now);
      const holders = byKey(await bulk.holdersOf(tx, [...new Set(drafted.map(({ key }) => key))]));
      const results = [...refused];
      const own = new Set(await conflicts.accountsOf(tx.db, call));
      for (const round of roundsOf(drafted)) {
        const planned = planAll(round, holders, { ...rules, now: tx.now, serversKey, own });
        const written = new Map((await writeAll(tx, planned)).map((row) => [row.id, row]));
        for (const { line, plan } of planned) {
          const row = written.get(plan.row.id) ?? plan.row;
          holders.set(line.key, row);
          results.push(resultOf(call, line, { ...plan, row }));
        }
      }
      recordProgress(tx, results);
      return results;
    });
  }

  async function writeAll(tx: Tx, planned: readonly PlannedLine[]): Promise<BlacklistRecord[]> {
    const changes: BulkChange[] = planned.flatMap(({ plan }) => plan.changes);
    return changes.length === 0 ? [] : await bulk.write(tx, changes);
  }

  /** One event for the batch: anyone who follows it reads the feed of changes. */
  function recordProgress(tx: Tx, results: readonly ImportedLine[]): void {
    const count = (outcome: string) => results.filter((result) => result.outcome === outcome).length;
    const data = { created: count("created"), merged: count("merged"), replaced: count("replaced") };
    if (data.created + data.merged + data.replaced > 0) events.emit(tx, { type: "blacklist.imported", data });
  }

  /** @throws ProblemError when not a single one could be written: the storage is gone, and so would every further line be */
  async function oneByOne(call: Call, lines: readonly ReadyLine[], rules: Rules, cause: unknown): Promise<ImportedLine[]> {
    const results: ImportedLine[] = [];
    for (const line of lines) {
      try {
        results.push(...(await write(call, [line], rules)));
      } catch (error) {
        if (error instanceof ProblemError && error.code === "shutting_down") throw error;
        results.push({ line: line.line, outcome: "failed", subject_id: line.input.subject_id, errors: [failure(error)] });
      }
    }
    if (results.length > 1 && results.every(({ outcome }) => outcome === "failed")) throw cause;
    return results;
  }

  return async function carryOut(call: Call, lines: readonly ReadyLine[], rules: Rules): Promise<ImportedLine[]> {
    if (lines.length === 0) return [];
    try {
      return await write(call, lines, rules);
    } catch (error) {
      if (error instanceof ProblemError && error.code === "shutting_down") throw error;
      return await oneByOne(call, lines, rules, error);
    }
  };
}

function failure(error: unknown): LineError {
  const code = error instanceof ProblemError ? error.code : "internal_error";
  return { pointer: "", code, detail: error instanceof ProblemError ? error.said : say("blacklist.the-line-could-not-be-written") };
}

/**
 * @param imagined the records that lines would have made, which later lines meet
 * @returns tells what {@link createWriting} would do and writes nothing
 */
function createRehearsal({ database, access, clock, serversKey, conflicts }: RunDeps, call: Call, rules: Rules, imagined: Holders) {
  return async function rehearse(lines: readonly ReadyLine[]): Promise<ImportedLine[]> {
    const now = clock.now();
    const { drafted, refused } = draftAll(lines, call, access, now);
    const activeKey = { in: [...new Set(drafted.map(({ key }) => key))] };
    const stored = lines.length === 0 ? [] : await database.read.blacklistRecord.findMany({ where: { activeKey } });
    const holders = byKey(stored);
    for (const { key } of drafted) {
      const row = imagined.get(key);
      if (row !== undefined) holders.set(key, row);
    }
    const results = [...refused];
    const own = new Set(await conflicts.accountsOf(database.read, call));
    for (const round of roundsOf(drafted)) {
      for (const { line, plan } of planAll(round, holders, { ...rules, now, serversKey, own })) {
        holders.set(line.key, plan.row);
        if (plan.changes.length > 0) imagined.set(line.key, plan.row);
        results.push(resultOf(call, line, plan));
      }
    }
    return results;
  };
}

function draftAll(lines: readonly ReadyLine[], call: Call, ranks: Ranks, now: Date) {
  const drafted: DraftedLine[] = [];
  const refused: ImportedLine[] = [];
  for (const line of lines) {
    const draft = draftFor(line, call, ranks, now);
    if (Array.isArray(draft)) refused.push({ line: line.line, outcome: "refused", subject_id: line.input.subject_id, errors: draft });
    else drafted.push({ ...line, draft, key: activeKeyOf(draft) });
  }
  return { drafted, refused };
}

/** Lines about the same subject and scope come one after the other: each meets what the one before has made. */
function roundsOf(lines: readonly DraftedLine[]): DraftedLine[][] {
  const rounds: DraftedLine[][] = [];
  const seen = new Map<string, number>();
  for (const line of lines) {
    const round = seen.get(line.key) ?? 0;
    seen.set(line.key, round + 1);
    (rounds[round] ??= []).push(line);
  }
  return rounds;
}

function planAll(lines: readonly DraftedLine[], holders: ReadonlyMap<string, BlacklistRecord>, rules: PlanRules): PlannedLine[] {
  return lines.map((line) => ({ line, plan: planLine(line.input, line.draft, holders.get(line.key), rules) }));
}

function byKey(rows: readonly BlacklistRecord[]): Holders {
  return new Map(rows.map((row) => [row.activeKey ?? "", row]));
}

/** The number of a record somebody else made is for readers of the blacklist. */
function resultOf(call: Call, line: DraftedLine, { outcome, row }: Plan): ImportedLine {
  const isOwn = outcome === "created" || outcome === "replaced";
  const isKnown = row.number > 0 && (isOwn || can(call, "blacklist.read"));
  const errors = outcome === "refused" && { errors: [partial] };
  return { line: line.line, outcome, ...(isKnown && { number: referenceOf(row) }), subject_id: line.draft.subjectId, ...errors };
}

interface PlanRules {
  mode: ImportMode;
  now: Date;
  readsConfidential: boolean;
  /** The key of server hashes. */
  serversKey: Buffer;
  /** The caller's accounts: nobody puts another record in the place of one about themselves. */
  own: ReadonlySet<string>;
}

const partial: LineError = {
  pointer: "/subject_id",
  code: "conflict_of_interest",
  detail: say("blacklist.the-record-that-would-be-replaced-is"),
};

/** What becomes of a line. */
interface Plan {
  outcome: ImportOutcome;
  /** What is to be written, in this order. */
  changes: BulkChange[];
  /** The record that stands for the subject and scope afterwards. */
  row: BlacklistRecord;
}

const importing = "blacklist.import";

/** What becomes of a line, given the record that holds its subject and scope. Nothing is asked and nothing is written here. */
function planLine(input: ParsedRecord, draft: RecordDraft, holder: BlacklistRecord | undefined, rules: PlanRules): Plan {
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
  if (rules.mode === "merge") return merged(holder, lasting, rules.now);
  return draft.kind === "user" && rules.own.has(draft.subjectId)
    ? { outcome: "refused", changes: [], row: holder }
    : replaced(holder, draft, rules);
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
  return rowOf(now, draft, 0, serversKey);
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

/** What an import of any length came to. */
export interface ImportSummary {
  lines: number;
  counts: ImportCounts;
  /** Whether it was told to stop before the end of its source. */
  isStopped: boolean;
}

type Source = AsyncIterable<SourceLine> | Iterable<SourceLine>;

export interface ImportOptions {
  mode: ImportMode;
  dryRun: boolean;
  /** Told what became of the lines, batch after batch; the next batch waits for it. */
  onResults?: (results: readonly ImportedLine[]) => Promise<void> | void;
  /** Ends the import after the batch that is being written. */
  signal?: AbortSignal;
}

export interface ImportDeps extends SideEffectDeps, Deps<"database" | "clock"> {
  access: Ranks & SideEffectDeps["access"];
  listPreviews: Pick<Previews, "ofRecords">;
  conflicts: Pick<Conflicts, "accountsOf">;
  serversKey: Buffer;
}

/** Lines of one transaction: other writers wait for it, and everybody for what it takes of the event loop. */
const batchSize = 20;
/** After so many lines, so that another process on the same file gets its turn, too. */
const pause = { lines: 200, ms: 15 };
/** Results that are kept with an idempotency key. */
const keptResults = 500;

export function createImport(deps: ImportDeps) {
  const { database, audit, listPreviews } = deps;
  const writing = createWriting(deps);

  /** Batch after batch; nothing of it is kept. @param imagined filled by a dry run with the records that would be made */
  async function run(call: Call, source: Source, options: ImportOptions, imagined: Holders = new Map()): Promise<ImportSummary> {
    const rules = { mode: options.mode, readsConfidential: can(call, "blacklist.read_confidential") };
    const carryOut = options.dryRun ? createRehearsal(deps, call, rules, imagined) : (lines: ReadyLine[]) => writing(call, lines, rules);
    const summary: ImportSummary = { lines: 0, counts: noCounts(), isStopped: false };
    for await (const batch of batchesOf(source, batchSize)) {
      const checked = batch.map((line) => checkLine(line));
      const ready = checked.filter((line) => "input" in line);
      const done = new Map((await carryOut(ready)).map((result) => [result.line, result]));
      const results = checked.flatMap((line) => ("input" in line ? (done.get(line.line) ?? []) : [line]));
      for (const { outcome } of results) summary.counts[outcome] += 1;
      summary.lines += results.length;
      await options.onResults?.(results);
      if (options.signal?.aborted === true) return { ...summary, isStopped: true };
      if (!options.dryRun && summary.lines % pause.lines === 0) await delay(pause.ms);
    }
    return summary;
  }

  /** The entry that tells of the whole; it speaks for the idempotency key. */
  async function conclude<T>(call: Call, { lines, counts, isStopped }: ImportSummary, mode: ImportMode, answer: T): Promise<T> {
    return await database.write(call, async (tx) => {
      const after = { mode, lines, ...counts, ...(isStopped && { stopped: true }) };
      audit.record(tx, { action: "blacklist.import", after, permission: "blacklist.import" });
      return answer;
    });
  }

  return {
    /**
     * Import lines of any number, each checked on its own. Told twice, it changes nothing the second time.
     * @throws ProblemError permission_denied, acting_user_required, roster_stale, what the source throws, and storage problems that
     * keep every line of a batch from being written
     */
    async importLines(call: Call, source: Source, options: ImportOptions): Promise<ImportSummary> {
      requireWrite(call, "blacklist.import");
      const summary = await run(call, source, options);
      if (!options.dryRun) await conclude(call, summary, options.mode, null);
      return summary;
    },

    /** Import what one request holds. @throws ProblemError as {@link importLines}, validation_failed */
    async import(call: Call, query: ImportBlacklistQuery, body: ImportBlacklistBody): Promise<BlacklistImport> {
      requireWrite(call, "blacklist.import");
      const { mode, dry_run } = ImportBlacklistQuery.parse(query);
      const { records, csv } = ImportBlacklistBody.parse(body, { reportInput: true });
      const dryRun = dry_run === "true";
      const replay = dryRun ? undefined : await database.findReplay(call);
      if (replay !== undefined) return replay.value as BlacklistImport;
      const results: ImportedLine[] = [];
      const lines = csv === undefined ? (records ?? []).map((value, index) => ({ line: index + 1, value })) : await linesOfCsv(csv);
      const imagined: Holders = new Map();
      const summary = await run(call, lines, { mode, dryRun, onResults: (some) => void results.push(...some) }, imagined);
      const view = { dry_run: dryRun, mode, lines: summary.lines, counts: summary.counts };
      if (dryRun) {
        const guilds = await listPreviews.ofRecords([...imagined.values()]);
        return { ...view, results, results_complete: true, guilds };
      }
      const kept = results.length <= keptResults;
      await conclude(call, summary, mode, { ...view, results: kept ? results : [], results_complete: kept });
      return { ...view, results, results_complete: true };
    },
  };
}

/** Read before anything is written, so that too many lines are refused as a whole. @throws ProblemError validation_failed */
async function linesOfCsv(csv: string): Promise<SourceLine[]> {
  const lines: SourceLine[] = [];
  for await (const line of readCsv([csv])) {
    lines.push(line);
    if (lines.length <= maxRecords) continue;
    const most = maxRecords.toString();
    throw fieldError("/csv", "too_many", say("blacklist.at-most-records-go-into-one-request", { most }));
  }
  return lines;
}

async function* batchesOf<T>(source: AsyncIterable<T> | Iterable<T>, size: number): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const one of source) {
    batch.push(one);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

function noCounts(): ImportCounts {
  return Object.fromEntries(outcomes.map((outcome) => [outcome, 0])) as ImportCounts;
}
