import type { FollowedEntry } from "../../generated/sqlite/client.ts";
import { saySame } from "./entries.ts";
import type { FileContents } from "./file.ts";

/** What a file changes of what a list said before. */
export interface EntryChange {
  /** At the origin. */
  id: string;
  /** As it was; undefined where it is new. */
  before: FollowedEntry | undefined;
  /** As it is; undefined where nothing is kept of it any more. */
  after: FollowedEntry | undefined;
}

/** Compare what a list said before, which comes in parts, with its file. What nobody can read of the file stays as it was. */
export async function compareFile(
  said: AsyncIterable<readonly FollowedEntry[]>,
  { entries, held }: Pick<FileContents, "entries" | "held">,
): Promise<EntryChange[]> {
  const changes: EntryChange[] = [];
  const left = new Map(entries);
  for await (const part of said)
    for (const before of part) {
      const { originId: id, revision } = before;
      const now = left.get(id);
      left.delete(id);
      if (now === undefined ? held.has(id) : saySame(before, now)) continue;
      changes.push({ id, before, after: now && { ...now, revision: revision + 1 } });
    }
  for (const [id, after] of left) changes.push({ id, before: undefined, after });
  return changes;
}
