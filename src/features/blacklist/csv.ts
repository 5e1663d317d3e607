import { say } from "../../kit/say.ts";
import { parse } from "csv-parse/sync";
import { columnName, columnNames, valueOf } from "./cells.ts";
import { linesOf, maxLine, unreadable, type SourceLine, type TextLine } from "./import-lines.ts";
import { validationProblem } from "../../kernel/errors.ts";
import { shownValue } from "../../kernel/foreign.ts";
import { pointer } from "../../kernel/validation.ts";

/** Lines of one record whose cells hold line ends. */
const linesAtOnce = 200;
const delimiters = [",", ";", "\t", "|"] as const;
/** The line in which spreadsheets are told, and tell, what stands between the cells. */
const separatorLine = /^"?sep=(.)"?[,;\t|]*$/i;

/**
 * The records of a CSV text. Its first line names the columns, in any order; the delimiter is the one that stands there. It costs a time
 * that grows with the text and with nothing else, and lets others have their turn.
 * @throws ProblemError validation_failed when a column is unknown, named twice or missing: nothing can be read then
 */
export async function* readCsv(pieces: AsyncIterable<string> | Iterable<string>): AsyncGenerator<SourceLine> {
  const lines = createLookahead(linesOf(pieces));
  const { head, told } = await readHead(lines);
  const delimiter = told ?? delimiterOf(head);
  const names = headerOf(cellsOf(head, delimiter) ?? []);
  let alone = 0;
  for (let line = await lines.at(0); line !== undefined; line = await lines.at(0)) {
    if (line.text.trim() === "" && !line.isTooLong) {
      lines.drop(1);
      continue;
    }
    if (alone <= 0) {
      const texts = await wholeLines(lines);
      const records = recordsOf(texts, delimiter);
      // One of them cannot be read with the others, so each is read by itself.
      if (records === undefined) alone = texts.length;
      for (const [index, cells] of (records ?? []).entries()) {
        const one = await lines.at(index);
        if (one !== undefined && cells.some((cell) => cell !== "")) yield recordOf(one, names, cells);
      }
      lines.drop(records?.length ?? 0);
      if (records !== undefined && records.length > 0) continue;
    }
    alone -= 1;
    const { taken, cells } = await readRecord(lines, delimiter);
    lines.drop(taken);
    if (cells === undefined) yield unreadable(line.line, whyUnreadable(line), line.text);
    else if (cells.some((cell) => cell !== "")) yield recordOf(line, names, cells);
  }
}

/** The line that names the columns, after empty ones and the one that names the delimiter. */
async function readHead(lines: Lookahead): Promise<{ head: string; told?: string }> {
  let told: string | undefined;
  for (let line = await lines.at(0); line !== undefined; line = await lines.at(0)) {
    lines.drop(1);
    const text = line.text.replace(/^\ufeff/, "");
    const separator = separatorLine.exec(text.trimEnd())?.[1];
    if (separator !== undefined) told ??= separator;
    else if (text.trim() !== "") return { head: text, ...(told !== undefined && { told }) };
  }
  return { head: "" };
}

/** What stands most often between the names of the columns. */
function delimiterOf(head: string): string {
  const plain = head.replaceAll(/"[^"]*"/g, "");
  const count = (delimiter: string): number => plain.split(delimiter).length;
  return delimiters.toSorted((one, other) => count(other) - count(one))[0] ?? ",";
}

function whyUnreadable({ isTooLong }: TextLine): string {
  return isTooLong ? say("blacklist.the-line-is-longer-than-256-kib") : say("blacklist.a-quotation-mark-is-missing-or-out");
}

/** Records of one line each that are parsed in one go: to begin anew for each takes the parser ten times as long. */
const recordsAtOnce = 32;

/** The next lines of which each may be a record of its own. */
async function wholeLines(lines: Lookahead): Promise<string[]> {
  const texts: string[] = [];
  for (let line = await lines.at(0); texts.length < recordsAtOnce; line = await lines.at(texts.length)) {
    if (line === undefined || line.isTooLong || line.isUnpaired || line.text.trim() === "") break;
    texts.push(line.text);
  }
  return texts;
}

/** A record for each text; undefined where it is not so. */
function recordsOf(texts: readonly string[], delimiter: string): string[][] | undefined {
  if (!texts.some((text) => text.includes('"'))) return texts.map((text) => plainCells(text, delimiter));
  const records = parsedRecords(texts.join("\n"), delimiter, "\n");
  return records?.length === texts.length ? records : undefined;
}

/**
 * One record, over as many lines as its quotation marks span. Where that leads nowhere only the first line is lost: reading goes
 * on with the next one.
 */
async function readRecord(lines: Lookahead, delimiter: string): Promise<{ taken: number; cells?: string[] }> {
  const texts: string[] = [];
  let isOpen = false;
  let length = 0;
  for (let taken = 0; taken < linesAtOnce; taken += 1) {
    const line = await lines.at(taken);
    if (line === undefined || line.isTooLong || length > maxLine) break;
    texts.push(line.text);
    if (line.isUnpaired) isOpen = !isOpen;
    if (!isOpen) {
      const cells = cellsOf(texts.join(""), delimiter);
      return cells === undefined ? { taken: 1 } : { taken: taken + 1, cells };
    }
    texts.push(line.end);
    length += line.text.length;
  }
  return { taken: 1 };
}

/** Stands in no file: what is parsed is one record already. */
const noDelimiter = "\u0000\u0000";

const plainCells = (text: string, delimiter: string): string[] => text.split(delimiter).map((cell) => cell.trim());

/** The cells of one record; undefined when its quotation marks make none. */
function cellsOf(text: string, delimiter: string): string[] | undefined {
  if (!text.includes('"')) return plainCells(text, delimiter);
  return parsedCells(text, delimiter) ?? (text.includes('="') ? parsedCells(withoutTextFormulas(text), delimiter) : undefined);
}

/** Some programs write `="123"`, as they would have it read, without the quotation marks that this needs in a file. */
function withoutTextFormulas(text: string): string {
  return text.replaceAll(/(^|[,;\t|])="([^"]*)"(?=$|[,;\t|])/g, '$1"$2"');
}

function parsedCells(text: string, delimiter: string): string[] | undefined {
  const records = parsedRecords(text, delimiter, noDelimiter);
  return records?.length === 1 ? records[0] : undefined;
}

function parsedRecords(text: string, delimiter: string, end: string): string[][] | undefined {
  try {
    return parse(text, { delimiter, record_delimiter: end, relax_column_count: true, trim: true });
  } catch {
    return undefined;
  }
}

/** Cells to the right of the last name are none of ours: spreadsheets write what was once filled. */
function headerOf(cells: readonly string[]): string[] {
  const written = cells.map((cell) => columnName(cell));
  const names = written.slice(0, written.findLastIndex((name) => name !== "") + 1).map((name) => shownValue(name));
  const errors = names.flatMap((name, index) => {
    if (!columnNames.has(name))
      return [columnError(name, "unknown_field", say("blacklist.there-is-no-column", { name: JSON.stringify(name) }))];
    return names.indexOf(name) === index
      ? []
      : [columnError(name, "invalid_value", say("blacklist.the-column-stands-there-twice", { name }))];
  });
  for (const name of ["kind", "subject_id"])
    if (!names.includes(name)) errors.push(columnError(name, "required", say("blacklist.the-first-line-has-to-name-the", { name })));
  if (errors.length > 0) throw validationProblem(errors.slice(0, maxErrors));
  return names;
}

/** Wrong columns that are named: a text that is no table has thousands. */
const maxErrors = 50;

function columnError(name: string, code: string, detail: string) {
  return { pointer: pointer(["csv", name]), in: "body", code, detail } as const;
}

function recordOf({ line, text }: TextLine, names: readonly string[], cells: readonly string[]): SourceLine {
  if (cells.length > names.length && cells.slice(names.length).some((cell) => cell !== ""))
    return unreadable(line, say("blacklist.the-line-has-cells-for-columns", { cells: cells.length, columns: names.length }), text);
  const value: Record<string, unknown> = {};
  for (const [index, name] of names.entries()) {
    const said = valueOf(name, cells[index] ?? "");
    if (said !== undefined) value[name] = said;
  }
  return { line, value };
}

/** A line of the text that others of its record may follow. */
interface SeenLine extends TextLine {
  /** Its quotation marks are odd in number. */
  isUnpaired: boolean;
}

interface Lookahead {
  at(index: number): Promise<SeenLine | undefined>;
  drop(count: number): void;
}

/** Lines that can be looked at before they are taken. */
function createLookahead(source: AsyncGenerator<TextLine>): Lookahead {
  const seen: SeenLine[] = [];
  return {
    async at(index) {
      while (seen.length <= index) {
        const next = await source.next();
        if (next.done === true) return undefined;
        seen.push({ ...next.value, isUnpaired: isUnpaired(next.value.text) });
      }
      return seen[index];
    },
    drop: (count) => void seen.splice(0, count),
  };
}

function isUnpaired(text: string): boolean {
  let isOdd = false;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) isOdd = !isOdd;
  return isOdd;
}
