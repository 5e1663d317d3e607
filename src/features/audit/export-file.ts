import { open } from "node:fs/promises";
import { entryOfColumns, type StoredEntry } from "./entries.ts";
import type { ExportHead } from "./export.ts";
import type { ChainSource } from "./verify.ts";

const slice = 200;

type Line = Readonly<Record<string, unknown>>;

/** An export as a chain to verify. @throws Error in plain words when the file is none */
export async function openExport(
  path: string,
): Promise<{ head: ExportHead; source: ChainSource; wasCut(): boolean; close(): Promise<void> }> {
  const file = await open(path, "r");
  const texts = file.readLines()[Symbol.asyncIterator]();
  const first = await texts.next();
  const head = (first.done === true ? undefined : parsed(first.value)) as ExportHead | undefined;
  if (head?.v !== 1 || typeof head.origin !== "string") {
    await file.close();
    throw new Error("The file does not begin as an export of the audit does.");
  }
  const erasing: StoredEntry[] = [];
  let count = 0;
  let isWhole = false;

  async function* entries(): AsyncGenerator<StoredEntry, void, void> {
    for (let next = await texts.next(); next.done !== true; next = await texts.next()) {
      const said = parsed(next.value);
      if (said === undefined) return;
      if (said["end"] === true) {
        isWhole = said["entries"] === count;
        return;
      }
      count += 1;
      yield entryOfColumns(said);
    }
  }

  return {
    head,
    wasCut: () => !isWhole,
    close: () => file.close(),
    source: {
      isPartial: !head.complete,
      knows: () => Promise.resolve(false),
      stray: () => Promise.resolve(undefined),
      async *slices(from, to) {
        let part: StoredEntry[] = [];
        for await (const one of entries()) {
          if (one.entry.seq > to && one.entry.erased !== null) erasing.push(one);
          if (one.entry.seq < from || one.entry.seq > to) continue;
          part.push(one);
          if (part.length === slice) {
            yield part;
            part = [];
          }
        }
        yield part;
      },
      async *erasingAfter() {
        yield erasing;
      },
    },
  };
}

function parsed(text: string): Line | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Line) : undefined;
  } catch {
    return undefined;
  }
}
