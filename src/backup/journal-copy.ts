import { readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { ifMissing, syncToDisk } from "../kernel/files.ts";

/**
 * Add to a copy of the journal of deletions what it does not have yet. A line that is being written while this reads is left for the next time; the
 * journal itself is never touched, as a running server writes it.
 * @returns how many lines the copy has
 */
export async function growJournalCopy(copy: string, journals: readonly string[]): Promise<number> {
  const kept = await linesOf(copy);
  const before = kept.size;
  for (const journal of journals) for (const line of await linesOf(journal)) kept.add(line);
  if (kept.size === before && before > 0) return before;
  const partial = `${copy}.partial`;
  await writeFile(partial, [...kept].map((line) => `${line}\n`).join(""), { mode: 0o600 });
  await syncToDisk(partial);
  await rename(partial, copy);
  await syncToDisk(dirname(copy));
  return kept.size;
}

async function linesOf(path: string): Promise<Set<string>> {
  const text = await readFile(path, "utf8").catch(ifMissing(""));
  return new Set(
    text
      .slice(0, text.lastIndexOf("\n") + 1)
      .split("\n")
      .filter((line) => line !== ""),
  );
}
