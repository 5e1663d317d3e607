import type { FoundEntry } from "./walk.ts";
import { columnsOf } from "./entries.ts";

/** The first line of an export. */
export interface ExportHead {
  v: 1;
  origin: string;
  made_at: string;
  filters: object;
  /** Whether every entry up to the end of the chain, and every detail that is kept, is in it. */
  complete: boolean;
}

/** Lines of NDJSON: the head, an entry per line, the end. */
export async function* exportLines(
  head: ExportHead,
  parts: AsyncIterable<readonly FoundEntry[]>,
  seesDetails: boolean,
): AsyncGenerator<string, void, void> {
  yield line(head);
  let entries = 0;
  for await (const part of parts) {
    entries += part.length;
    if (part.length > 0) yield part.map((entry) => line(exported(entry, seesDetails))).join("");
  }
  yield line({ end: true, entries });
}

function exported({ row, payload }: FoundEntry, seesDetails: boolean): object {
  const details = payload === undefined || !seesDetails ? {} : { salt: payload.salt, payload: payload.payload };
  return { ...columnsOf(row), ...details };
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`;
}
