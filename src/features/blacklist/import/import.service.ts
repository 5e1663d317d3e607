import { readCsv } from "../csv.ts";
import { linesOf, maxLine, unreadable, type SourceLine } from "../import-lines.ts";
import { createImport, type ImportDeps } from "./import.ts";
import { say, inJson } from "../../../kit/say.ts";
import { parsingSlices } from "../../../kernel/time-slices.ts";
import type { Deps } from "../../deps.ts";
import { Readable } from "node:stream";
import { stringify } from "csv-stringify/sync";
import type { BlacklistRecord, Prisma } from "../../../generated/sqlite/client.ts";
import { can, requirePermission, type Call } from "../../../kernel/call.ts";
import type { AuditService } from "../../audit/audit.service.ts";
import { cellsFor, columns } from "../cells.ts";
import { conditions } from "../filters.ts";
import { ExportBlacklistQuery, infoFields } from "./import.schema.ts";
import { presentRecord, recordsFor } from "../blacklist.policy.ts";
import type { BlacklistView } from "../blacklist.schema.ts";
import { searchCondition } from "../search.ts";

/** A file on its way. */
interface BlacklistExport {
  body: Readable;
  format: "csv" | "ndjson";
}

interface ExportDeps extends Deps<"database" | "clock"> {
  audit: AuditService;
}

/** Spreadsheets take a file for UTF-8 by it. */
const mark = "\uFEFF";
const slice = 500;
const none: ReadonlyMap<string, number> = new Map();

export function createExport({ database, audit, clock }: ExportDeps) {
  const { read } = database;

  async function* slices(where: Prisma.BlacklistRecordWhereInput, last: number): AsyncGenerator<BlacklistRecord[]> {
    for (let after = 0; ;) {
      const rows = await read.blacklistRecord.findMany({
        where: { AND: [where, { number: { gt: after, lte: last } }] },
        orderBy: { number: "asc" },
        take: slice,
      });
      if (rows.length > 0) yield rows;
      if (rows.length < slice) return;
      after = rows.at(-1)?.number ?? after;
    }
  }

  return {
    /**
     * The records that fit the filters, in the order of their numbers, as an import reads them again. The audit knows of it before
     * the first byte leaves.
     * @throws ProblemError permission_denied
     */
    async export(call: Call, query: ExportBlacklistQuery): Promise<BlacklistExport> {
      requirePermission(call, "blacklist.export");
      const { format, ...filters } = ExportBlacklistQuery.parse(query);
      const readsConfidential = can(call, "blacklist.read_confidential");
      const search = filters.q === undefined ? undefined : await searchCondition(read, { q: filters.q, readsConfidential });
      const now = clock.now();
      const where = conditions({ filters, now, search }, "list");
      const { _max, _count } = await read.blacklistRecord.aggregate({ where, _max: { number: true }, _count: true });
      await database.write(call, async (tx) => {
        audit.record(tx, { action: "blacklist.export", after: { format, filters, count: _count }, permission: "blacklist.export" });
      });
      const names = exportedNames(readsConfidential);
      const textOf = format === "csv" ? csvOf : ndjsonOf;

      async function* text(): AsyncGenerator<string> {
        if (format === "csv") yield mark + csvText([names]);
        for await (const rows of slices(where, _max.number ?? 0)) {
          const visible = recordsFor(call);
          yield textOf(
            rows.map((row) => exportedRecord(visible(presentRecord(row, now, none)), names)),
            names,
          );
        }
      }
      // One slice is made ahead of the reader at most.
      return { format, body: Readable.from(text(), { highWaterMark: 1 }) };
    },
  };
}

const confidential: ReadonlySet<string> = new Set(["reason_internal", "exempt_user_ids"]);

function exportedNames(readsConfidential: boolean): string[] {
  const [number, status, ...times] = infoFields;
  const told = Object.keys(columns).filter((name) => name !== "duration" && (readsConfidential || !confidential.has(name)));
  return [number, status, ...told, ...times];
}

/** A record in the words in which it is imported. What is not said is what an import takes it for. */
function exportedRecord(view: BlacklistView, names: readonly string[]): Record<string, unknown> {
  const grace = view.grace_period_seconds === null ? null : `PT${view.grace_period_seconds.toString()}S`;
  const told: Record<string, unknown> = {
    ...view,
    subject_name: view.subject_snapshot?.name,
    reason_public: view.reason_public ?? undefined,
    reason_internal: view.reason_internal ?? undefined,
    expires_at: view.expires_at ?? undefined,
    member_policy: view.kind === "server" ? view.member_policy : undefined,
    grace_period: view.kind === "server" ? grace : undefined,
  };
  return withoutEmpty(Object.fromEntries(names.map((name) => [name, told[name]])));
}

function withoutEmpty(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0)),
  );
}

function csvOf(records: readonly Record<string, unknown>[], names: readonly string[]): string {
  return csvText(records.map((record) => cellsFor(record, names)));
}

function csvText(rows: readonly (readonly string[])[]): string {
  return stringify(
    rows.map((row) => [...row]),
    { quoted_string: true, quoted_empty: false },
  );
}

function ndjsonOf(records: readonly Record<string, unknown>[]): string {
  return records.map((record) => `${inJson(record)}\n`).join("");
}

type Pieces = AsyncIterable<string> | Iterable<string>;
/** Characters that are looked at between two looks at the clock. */
const partLength = 4096;
const tooLong = say("blacklist.the-record-is-longer-than-256-kib");

/** One record of JSON in each line. Empty lines are passed over. */
export async function* readNdjson(pieces: Pieces): AsyncGenerator<SourceLine> {
  for await (const { line, text, isTooLong } of linesOf(withoutMark(pieces))) {
    if (isTooLong) yield unreadable(line, tooLong, text);
    else if (text.trim() !== "") yield parsed(line, text);
  }
}

/** The records of a JSON array, or of `{"records": […]}`, one by one; `line` is its place in the list, from 1. */
export async function* readJsonArray(pieces: Pieces): AsyncGenerator<SourceLine> {
  const walk = createWalk();
  const slices = parsingSlices();
  for await (const piece of withoutMark(pieces)) {
    for (let from = 0; from < piece.length; from += partLength) {
      yield* walk.take(piece.slice(from, from + partLength));
      if (slices.isSpent()) await slices.next();
    }
  }
  if (!walk.isDone()) yield unreadable(walk.place(), say("blacklist.this-is-no-list-of-records-in"));
}

async function* withoutMark(pieces: Pieces): AsyncGenerator<string> {
  let isFirst = true;
  for await (const piece of pieces) {
    if (piece === "") continue;
    yield isFirst ? piece.replace(/^\ufeff/, "") : piece;
    isFirst = false;
  }
}

function parsed(line: number, text: string): SourceLine {
  try {
    return { line, value: JSON.parse(text) as unknown };
  } catch {
    return unreadable(line, say("blacklist.this-is-not-valid-json"), text);
  }
}

/** Where a walk through the text of a list stands. */
interface Place {
  /** Of the record that is being read, from 1. */
  place: number;
  /** Brackets open inside the record. */
  depth: number;
  isInText: boolean;
  isEscaped: boolean;
  record: string;
}

/** Cuts the text of a list into the texts of its records, looking at brackets and quotation marks alone. */
function createWalk() {
  const at: Place = { place: 1, depth: 0, isInText: false, isEscaped: false, record: "" };
  let head = "";
  let state: "before" | "inside" | "done" | "broken" = "before";

  function* finish(): Generator<SourceLine> {
    const text = at.record.trim();
    if (text === "") return;
    yield text.length > maxLine ? unreadable(at.place, tooLong, text) : parsed(at.place, text);
    at.record = "";
    at.place += 1;
  }

  function* step(character: string): Generator<SourceLine> {
    if (at.depth === 0 && !at.isInText && (character === "," || character === "]")) {
      yield* finish();
      if (character === "]") state = "done";
      return;
    }
    if (at.record === "" && /\s/.test(character)) return;
    // One character more than a record may have tells that it is too long; the rest is not kept.
    if (at.record.length <= maxLine) at.record += character;
    follow(at, character);
  }

  return {
    place: () => at.place,
    isDone: () => state === "done",
    *take(piece: string): Generator<SourceLine> {
      for (const character of piece) {
        if (state === "inside") yield* step(character);
        else if (state === "before") {
          head += character;
          if (character === "[") state = /^\s*(\{\s*"records"\s*:\s*)?\[$/.test(head) ? "inside" : "broken";
          else if (head.length > 1000) state = "broken";
        }
      }
    },
  };
}

function follow(at: Place, character: string): void {
  if (at.isInText) {
    if (at.isEscaped) at.isEscaped = false;
    else if (character === "\\") at.isEscaped = true;
    else if (character === '"') at.isInText = false;
    return;
  }
  if (character === '"') at.isInText = true;
  else if (character === "{" || character === "[") at.depth += 1;
  else if (character === "}" || character === "]") at.depth -= 1;
}

export type BlacklistTransfer = ReturnType<typeof createBlacklistTransfer>;

/** How the text of each format is read, piece by piece. CSV throws ProblemError validation_failed when its header is wrong. */
const readers = { csv: readCsv, json: readJsonArray, ndjson: readNdjson, plain: linesOf };

/** Records in bulk: in from files of others, and out again. */
export function createBlacklistTransfer(deps: ImportDeps & ExportDeps) {
  return { ...createImport(deps), ...createExport(deps), readers };
}
