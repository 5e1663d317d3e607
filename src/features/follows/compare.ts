import type { FollowedEntry } from "../../generated/sqlite/client.ts";
import { saySame } from "./entries.ts";
import type { FileContents } from "./file.ts";

/** What a file changes of what a list said before. */
export interface FileChanges {
  /** The rows that change or go, as they were. */
  before: readonly FollowedEntry[];
  /** What is new or says something else. */
  rows: readonly FollowedEntry[];
  /** Ids of which nothing is kept any more. */
  gone: readonly string[];
}

/** Compare what a list said before, which comes in parts, with its file. What nobody can read of the file stays as it was. */
export async function compareFile(
  said: AsyncIterable<readonly FollowedEntry[]>,
  { entries, held }: Pick<FileContents, "entries" | "held">,
): Promise<FileChanges> {
  const [before, gone]: [FollowedEntry[], string[]] = [[], []];
  const left = new Map(entries);
  const changed: FollowedEntry[] = [];
  for await (const part of said)
    for (const row of part) {
      const now = left.get(row.originId);
      left.delete(row.originId);
      if (now === undefined ? held.has(row.originId) : saySame(row, now)) continue;
      before.push(row);
      if (now === undefined) gone.push(row.originId);
      else changed.push({ ...now, revision: row.revision + 1 });
    }
  return { before, rows: [...changed, ...left.values()], gone };
}
