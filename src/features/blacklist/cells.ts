import { worded } from "../../kit/say.ts";
import { isSnowflake } from "../../kernel/fields.ts";
import { accountIn } from "../../kernel/written.ts";
import { infoFields, type ImportRecord } from "./import/import.schema.ts";

type Column = keyof ImportRecord;
/** What a cell holds. `orNone`: it may be told to be none at all, which is not the same as saying nothing. */
interface CellForm {
  holds: "text" | "word" | "id" | "ids" | "texts" | "time" | "json";
  orNone?: true;
}

/** The columns of a CSV file, in the order of an export. */
export const columns = {
  kind: { holds: "word" },
  subject_id: { holds: "id" },
  subject_name: { holds: "text" },
  scope: { holds: "word" },
  server_ids: { holds: "ids" },
  category: { holds: "word" },
  severity: { holds: "word" },
  reason_public: { holds: "text" },
  reason_internal: { holds: "text" },
  recommended_action: { holds: "word", orNone: true },
  member_policy: { holds: "word", orNone: true },
  grace_period: { holds: "text", orNone: true },
  exempt_user_ids: { holds: "ids" },
  include_alts: { holds: "word" },
  evidence: { holds: "json" },
  tags: { holds: "texts" },
  starts_at: { holds: "time" },
  expires_at: { holds: "time", orNone: true },
  review_at: { holds: "time", orNone: true },
  duration: { holds: "text", orNone: true },
} as const satisfies Record<Column, CellForm>;

const nothing = "none";
/** How a cell begins that a spreadsheet takes for a formula. */
const formula = /^'*[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/;
/** A formula that spreadsheets are given so that they leave a long number alone. */
const textFormula = /^="([^"]*)"$/;
/** Signs that are written and not seen, such as a mark of the writing direction that a phone copies along. */
const unseen = /\p{Cf}/gu;
/** Quotation marks as phones and word processors write them. */
const curled = /[\u2018\u2019\u201A\u201B\u201C\u201D\u201E\u201F]/g;

/** The name of a column as the service spells it: programs and people write it with capitals, spaces or hyphens. */
export function columnName(cell: string): string {
  return cell
    .normalize("NFKC")
    .replaceAll(unseen, "")
    .replaceAll(curled, "")
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, "_");
}

export const columnNames: ReadonlySet<string> = new Set([...Object.keys(columns), ...infoFields]);

/** What a cell says; undefined for an empty one. */
export function valueOf(name: string, written: string): unknown {
  const cell = withoutGuard(written);
  if (cell === "") return undefined;
  const { holds, orNone }: CellForm = name in columns ? columns[name as Column] : { holds: "text" };
  if (orNone === true && cell.toLowerCase() === nothing) return null;
  if (holds === "text") return cell;
  if (holds === "word") return cell.replaceAll(unseen, "").toLowerCase();
  if (holds === "id") return idOf(cell);
  if (holds === "time") return timeOf(cell);
  if (cell.startsWith("[") || holds === "json") return jsonOf(cell);
  const entries = cell.split(holds === "ids" ? /[;\s]+/ : ";").map((entry) => (holds === "ids" ? idOf(entry) : entry.trim()));
  return entries.filter((entry) => entry !== "");
}

/** An id without what phones, people and spreadsheets put around it; what is none stays as it is. */
function idOf(cell: string): string {
  const id = accountIn(cell);
  return isSnowflake(id) ? id : cell;
}

/** A time as the service takes it, of one with an offset, without seconds or without a time; what is none of these stays as it is. */
function timeOf(cell: string): string {
  const [, day, time = "00:00", zone = "Z"] =
    /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?))? ?(Z|[+-]\d{2}:\d{2})?$/i.exec(cell) ?? [];
  if (day === undefined) return cell;
  const at = new Date(`${day}T${time}${zone.toUpperCase()}`);
  return Number.isNaN(at.getTime()) ? cell : at.toISOString();
}

/** What is not JSON stays text, which no list takes: so the field is named. */
function jsonOf(cell: string): unknown {
  try {
    return JSON.parse(cell) as unknown;
  } catch {
    return cell;
  }
}

/** The cells of a record, as {@link valueOf} reads them again. */
export function cellsFor(record: Readonly<Record<string, unknown>>, names: readonly string[]): string[] {
  return names.map((name) => withGuard(cellFor(record[name])));
}

function cellFor(value: unknown): string {
  if (value === undefined) return "";
  if (value === null) return nothing;
  if (typeof value === "string") return worded(value);
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
  if (cell.startsWith("'") && formula.test(cell.slice(1))) return cell.slice(1);
  return textFormula.exec(cell)?.[1] ?? cell;
}
