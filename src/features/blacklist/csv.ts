import { parse } from "csv-parse/sync";
import { infoFields, type ImportRecord } from "./import/import.schema.ts";
import { linesOf, unreadable, type SourceLine, type TextLine } from "./import-lines.ts";
import { validationProblem } from "../../kernel/errors.ts";

type Column = keyof ImportRecord;
/** `choice` may be told to be none at all, which is not the same as saying nothing. */
type CellKind = "text" | "choice" | "ids" | "texts" | "json";

/** The columns of a CSV file, in the order of an export. */
export const columns = {
  kind: "text",
  subject_id: "text",
  subject_name: "text",
  scope: "text",
  server_ids: "ids",
  category: "text",
  severity: "text",
  reason_public: "text",
  reason_internal: "text",
  recommended_action: "choice",
  member_policy: "choice",
  grace_period: "choice",
  exempt_user_ids: "ids",
  include_alts: "text",
  evidence: "json",
  tags: "texts",
  starts_at: "text",
  expires_at: "choice",
  review_at: "choice",
  duration: "choice",
} as const satisfies Record<Column, CellKind>;

const nothing = "none";
/** How a cell begins that a spreadsheet takes for a formula. */
const formula = /^'*[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/;

/** Lines of one record whose cells hold line ends. */
const linesAtOnce = 200;

/**
 * The records of a CSV text. Its first line names the columns, in any order; the delimiter is the one that stands there.
 * @throws ProblemError validation_failed when a column is unknown, named twice or missing: nothing can be read then
 */
export async function* readCsv(pieces: AsyncIterable<string> | Iterable<string>): AsyncGenerator<SourceLine> {
  const lines = createLookahead(linesOf(pieces));
  const first = await lines.at(0);
  const head = first?.text.replace(/^\ufeff/, "") ?? "";
  const delimiter = [",", ";", "\t"].find((one) => head.includes(one)) ?? ",";
  const names = headerOf(cellsOf(head, delimiter) ?? []);
  lines.drop(1);
  for (let line = await lines.at(0); line !== undefined; line = await lines.at(0)) {
    if (line.text.trim() === "") {
      lines.drop(1);
      continue;
    }
    const { taken, cells } = await readRecord(lines, delimiter);
    lines.drop(taken);
    yield cells === undefined ? unreadable(line.line, unreadableLine(line)) : recordOf(line.line, names, cells);
  }
}

function unreadableLine({ isTooLong }: TextLine): string {
  return isTooLong ? "The line is longer than 256 KiB." : "A quotation mark is missing or out of place.";
}

/**
 * One record, over as many lines as its quotation marks span. Where that leads nowhere only the first line is lost: reading goes
 * on with the next one.
 */
async function readRecord(lines: Lookahead, delimiter: string): Promise<{ taken: number; cells?: string[] }> {
  let text = "";
  for (let taken = 0; taken < linesAtOnce; taken += 1) {
    const line = await lines.at(taken);
    if (line === undefined || line.isTooLong) break;
    text += line.text;
    if (hasPairs(text)) {
      const cells = cellsOf(text, delimiter);
      return cells === undefined ? { taken: 1 } : { taken: taken + 1, cells };
    }
    text += line.end;
  }
  return { taken: 1 };
}

function hasPairs(text: string): boolean {
  let isPaired = true;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) isPaired = !isPaired;
  return isPaired;
}

/** Stands in no file: what is parsed is one record already. */
const noDelimiter = "\u0000\u0000";

/** The cells of one record; undefined when its quotation marks make none. */
function cellsOf(text: string, delimiter: string): string[] | undefined {
  if (!text.includes('"')) return text.split(delimiter).map((cell) => cell.trim());
  try {
    const records: string[][] = parse(text, { delimiter, record_delimiter: noDelimiter, relax_column_count: true, trim: true });
    return records.length === 1 ? records[0] : undefined;
  } catch {
    return undefined;
  }
}

function headerOf(cells: readonly string[]): string[] {
  const names = cells.map((cell) => cell.trim().toLowerCase());
  const known = new Set([...Object.keys(columns), ...infoFields]);
  const errors = names.flatMap((name, index) => {
    if (!known.has(name)) return [columnError(name, "unknown_field", `There is no column ${JSON.stringify(name)}.`)];
    return names.indexOf(name) === index ? [] : [columnError(name, "invalid_value", `The column ${name} stands there twice.`)];
  });
  for (const name of ["kind", "subject_id"])
    if (!names.includes(name)) errors.push(columnError(name, "required", `The first line has to name the column ${name}.`));
  if (errors.length > 0) throw validationProblem(errors);
  return names;
}

function columnError(name: string, code: string, detail: string) {
  return { pointer: `/csv/${name.slice(0, 100).replaceAll("~", "~0").replaceAll("/", "~1")}`, in: "body", code, detail } as const;
}

function recordOf(line: number, names: readonly string[], cells: readonly string[]): SourceLine {
  if (cells.length > names.length && cells.slice(names.length).some((cell) => cell !== ""))
    return unreadable(line, `The line has ${cells.length.toString()} cells for ${names.length.toString()} columns.`);
  const value: Record<string, unknown> = {};
  for (const [index, name] of names.entries()) {
    const cell = withoutGuard(cells[index] ?? "");
    if (cell !== "") value[name] = valueOf(cell, name in columns ? columns[name as Column] : "text");
  }
  return { line, value };
}

function valueOf(cell: string, kind: CellKind): unknown {
  if (kind === "choice") return cell.toLowerCase() === nothing ? null : cell;
  if (kind === "text") return cell;
  if (cell.startsWith("[") || kind === "json") return jsonOf(cell);
  const entries = cell.split(kind === "ids" ? /[;\s]+/ : ";").map((entry) => entry.trim());
  return entries.filter((entry) => entry !== "");
}

/** What is not JSON stays text, which no list takes: so the field is named. */
function jsonOf(cell: string): unknown {
  try {
    return JSON.parse(cell) as unknown;
  } catch {
    return cell;
  }
}

/** The cells of a record, as {@link readCsv} reads them again. */
export function cellsFor(record: Readonly<Record<string, unknown>>, names: readonly string[]): string[] {
  return names.map((name) => withGuard(cellFor(record[name])));
}

function cellFor(value: unknown): string {
  if (value === undefined) return "";
  if (value === null) return nothing;
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return String(value);
  if (value.length === 0) return "";
  const isPlain = value.every((entry) => typeof entry === "string" && !entry.includes(";")) && !String(value[0]).startsWith("[");
  return isPlain ? value.join(";") : JSON.stringify(value);
}

/** No program takes the cell for a formula; {@link withoutGuard} undoes it. */
function withGuard(cell: string): string {
  return formula.test(cell) ? `'${cell}` : cell;
}

function withoutGuard(cell: string): string {
  return cell.startsWith("'") && formula.test(cell.slice(1)) ? cell.slice(1) : cell;
}

interface Lookahead {
  at(index: number): Promise<TextLine | undefined>;
  drop(count: number): void;
}

/** Lines that can be looked at before they are taken. */
function createLookahead(source: AsyncGenerator<TextLine>): Lookahead {
  const seen: TextLine[] = [];
  return {
    async at(index) {
      while (seen.length <= index) {
        const next = await source.next();
        if (next.done === true) return undefined;
        seen.push(next.value);
      }
      return seen[index];
    },
    drop: (count) => void seen.splice(0, count),
  };
}
