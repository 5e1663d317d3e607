import type { Database, Tx } from "../../database/database.ts";
import type { BlacklistRecord } from "../../generated/sqlite/client.ts";
import { can, type Call } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { createBulkWrites, type BulkChange } from "./bulk.ts";
import { draftFor, type ReadyLine } from "./import-check.ts";
import type { LineError } from "./import-lines.ts";
import { planLine, type Plan, type PlanRules } from "./import-plan.ts";
import type { ImportedLine } from "./import/import.schema.ts";
import { referenceOf, type Ranks } from "./blacklist.policy.ts";
import { activeKeyOf, type RecordDraft } from "./records.ts";
import type { SettlingDeps } from "./settle.ts";

interface RunDeps extends SettlingDeps {
  database: Database;
  standing: Ranks & SettlingDeps["standing"];
  clock: Clock;
  serversKey: Buffer;
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
export function createWriting(deps: RunDeps) {
  const { database, events, standing, serversKey } = deps;
  const bulk = createBulkWrites(deps);

  async function write(call: Call, lines: readonly ReadyLine[], rules: Rules): Promise<ImportedLine[]> {
    return await database.write({ ...call, idempotency: null }, async (tx) => {
      const { drafted, refused } = draftAll(lines, call, standing, tx.now);
      const holders = byKey(await bulk.holdersOf(tx, [...new Set(drafted.map(({ key }) => key))]));
      const results = [...refused];
      for (const round of roundsOf(drafted)) {
        const planned = planAll(round, holders, { ...rules, now: tx.now, serversKey });
        const written = new Map((await writeAll(tx, planned)).map((row) => [row.id, row]));
        for (const { line, plan } of planned) {
          const row = written.get(plan.row.id) ?? plan.row;
          holders.set(line.key, row);
          results.push(resultOf(call, line, { ...plan, row }));
        }
      }
      tell(tx, results);
      return results;
    });
  }

  async function writeAll(tx: Tx, planned: readonly PlannedLine[]): Promise<BlacklistRecord[]> {
    const changes: BulkChange[] = planned.flatMap(({ plan }) => plan.changes);
    return changes.length === 0 ? [] : await bulk.write(tx, changes);
  }

  /** One event for the batch: whoever follows it reads the feed of changes. */
  function tell(tx: Tx, results: readonly ImportedLine[]): void {
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
  return { pointer: "", code, detail: error instanceof ProblemError ? error.message : "The line could not be written." };
}

/** @returns tells what {@link createWriting} would do and writes nothing; it remembers what earlier lines would have made */
export function createRehearsal({ database, standing, clock, serversKey }: RunDeps, call: Call, rules: Rules) {
  const imagined: Holders = new Map();

  return async function rehearse(lines: readonly ReadyLine[]): Promise<ImportedLine[]> {
    const now = clock.now();
    const { drafted, refused } = draftAll(lines, call, standing, now);
    const activeKey = { in: [...new Set(drafted.map(({ key }) => key))] };
    const stored = lines.length === 0 ? [] : await database.read.blacklistRecord.findMany({ where: { activeKey } });
    const holders = byKey(stored);
    for (const { key } of drafted) {
      const row = imagined.get(key);
      if (row !== undefined) holders.set(key, row);
    }
    const results = [...refused];
    for (const round of roundsOf(drafted)) {
      for (const { line, plan } of planAll(round, holders, { ...rules, now, serversKey })) {
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
  return { line: line.line, outcome, ...(isKnown && { number: referenceOf(row) }), subject_id: line.draft.subjectId };
}
