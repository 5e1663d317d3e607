import type { BlacklistRecord } from "../../generated/sqlite/client.ts";
import { textsOf } from "../../kernel/parsing.ts";
import { wordsOf } from "../../kernel/words.ts";

type Texts = Pick<BlacklistRecord, "id" | "reasonPublic" | "reasonInternal" | "revokeReason" | "subjectName" | "tags" | "evidence">;

/** What {@link wordRows} needs of a record. */
export const textColumns = {
  id: true,
  reasonPublic: true,
  reasonInternal: true,
  revokeReason: true,
  subjectName: true,
  tags: true,
  evidence: true,
} as const satisfies Record<keyof Texts, true>;

/** The words by which a record is found; those that stand only in its internal reason are hidden. */
export function wordRows(row: Texts): { recordId: string; word: string; isHidden: boolean }[] {
  const open = wordsOf(openTexts(row).join(" "));
  const known = new Set(open);
  const hidden = wordsOf(row.reasonInternal ?? "").filter((word) => !known.has(word));
  return [
    ...open.map((word) => ({ recordId: row.id, word, isHidden: false })),
    ...hidden.map((word) => ({ recordId: row.id, word, isHidden: true })),
  ];
}

/** Everything that words come from, to tell whether it changed. */
export function textOf(row: Texts): string {
  return JSON.stringify([openTexts(row), row.reasonInternal]);
}

function openTexts({ reasonPublic, revokeReason, subjectName, tags, evidence }: Texts): (string | null)[] {
  return [reasonPublic, subjectName, revokeReason, ...textsOf(tags), ...notesOf(evidence)];
}

function notesOf(evidence: unknown): string[] {
  return Array.isArray(evidence) ? evidence.flatMap((item: { title?: unknown; note?: unknown }) => textsOf([item.title, item.note])) : [];
}
