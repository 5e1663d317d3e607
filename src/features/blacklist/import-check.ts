import type { z } from "zod";
import type { Call } from "../../kernel/call.ts";
import { ProblemError, type FieldError } from "../../kernel/errors.ts";
import { fieldErrors } from "../../kernel/validation.ts";
import { draftOf } from "./drafts.ts";
import type { LineError, SourceLine } from "./import-lines.ts";
import { ImportRecord, infoFields, type ImportedLine } from "./import/import.schema.ts";
import { requireOutranks, type Ranks } from "./blacklist.policy.ts";
import type { RecordDraft } from "./records.ts";

export type ParsedRecord = z.output<typeof ImportRecord>;

/** A line that can be carried out, as far as it alone tells. */
export interface ReadyLine {
  line: number;
  input: ParsedRecord;
}

/** A line as it is, or what is wrong with it. */
export function checkLine({ line, value, errors }: SourceLine): ReadyLine | ImportedLine {
  if (errors !== undefined) return { line, outcome: "refused", errors: [...errors] };
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { line, outcome: "refused", errors: [{ pointer: "", code: "invalid_type", detail: "A record is an object." }] };
  const { status, ...fields } = Object.fromEntries(Object.entries(value).filter(([name]) => name === "status" || !isInfo(name)));
  const subject = typeof fields["subject_id"] === "string" ? { subject_id: fields["subject_id"].slice(0, 100) } : {};
  if (typeof status === "string" && !["active", "scheduled"].includes(status))
    return { line, outcome: "skipped", ...subject, errors: [{ pointer: "/status", code: "not_in_force", detail: notInForce }] };
  const parsed = ImportRecord.safeParse(fields, { reportInput: true });
  if (parsed.success) return { line, input: parsed.data };
  return { line, outcome: "refused", ...subject, errors: fieldErrors(parsed.error.issues, "body").map((error) => told(error, fields)) };
}

const notInForce = "The record did not count any longer when it was exported.";
const isInfo = (name: string): boolean => infoFields.some((known) => known === name);

/** The draft of a line. @returns what refuses it instead */
export function draftFor({ input }: ReadyLine, call: Call, ranks: Ranks, now: Date): RecordDraft | LineError[] {
  try {
    const draft: RecordDraft = { ...draftOf(input, call, now), source: "import" };
    requireOutranks(call, ranks, draft);
    return draft;
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return error.errors?.map((one) => told(one, {})) ?? [{ pointer: "/subject_id", code: error.code, detail: error.message }];
  }
}

function told({ pointer, code, detail }: FieldError, fields: Readonly<Record<string, unknown>>): LineError {
  return { pointer, code, detail: (code === "invalid_snowflake" ? spreadsheetDetail(valueAt(fields, pointer)) : undefined) ?? detail };
}

function valueAt(fields: Readonly<Record<string, unknown>>, pointer: string): unknown {
  const [, name = "", index] = pointer.split("/");
  const value = fields[name];
  return Array.isArray(value) && index !== undefined ? (value as unknown[])[Number(index)] : value;
}

/** What spreadsheets make of long numbers. */
function spreadsheetDetail(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  if (/^\d([.,]\d+)?E\+?\d+$/i.test(value))
    return `A spreadsheet has rounded this id to ${value}, and its digits are lost. Import the file from before, or mark the column as text first.`;
  if (/^\d{17,20}[.,]0*$/.test(value)) return "A spreadsheet has made a number of this id. Mark the column as text first.";
  if (/^\d{1,16}$/.test(value))
    return `The id has only ${value.length.toString()} digits of 17–20; a spreadsheet may have cut it. Mark the column as text first.`;
  return undefined;
}
