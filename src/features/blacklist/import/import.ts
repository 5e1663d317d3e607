import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import { setTimeout as delay } from "node:timers/promises";
import { can, requireWrite, type Call } from "../../../kernel/call.ts";
import { fieldError } from "../../../kernel/errors.ts";
import { checkLine, type ReadyLine } from "../drafts.ts";
import type { SourceLine } from "../import-lines.ts";
import { createRehearsal, createWriting, type Holders } from "../import-run.ts";
import {
  ImportBlacklistBody,
  ImportBlacklistQuery,
  maxRecords,
  outcomes,
  type BlacklistImport,
  type ImportCounts,
  type ImportedLine,
  type ImportMode,
} from "./import.schema.ts";
import { readCsv } from "../csv.ts";
import type { Ranks } from "../blacklist.policy.ts";
import type { Conflicts } from "../../links/conflicts.ts";
import type { SideEffectDeps } from "../side-effects.ts";
import type { Previews } from "../../lists/preview.ts";

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
