import type { BlacklistRecord } from "../../generated/sqlite/client.ts";
import { textsOf } from "../../kernel/stored.ts";
import { wordsOf } from "../../kernel/words.ts";

/** The words by which a record is found; those that stand only in its internal reason are hidden. */
export function wordRows(row: BlacklistRecord): { recordId: string; word: string; isHidden: boolean }[] {
  const open = wordsOf([row.reasonPublic, row.subjectName, ...textsOf(row.tags)].join(" "));
  const known = new Set(open);
  const hidden = wordsOf(row.reasonInternal ?? "").filter((word) => !known.has(word));
  return [
    ...open.map((word) => ({ recordId: row.id, word, isHidden: false })),
    ...hidden.map((word) => ({ recordId: row.id, word, isHidden: true })),
  ];
}
