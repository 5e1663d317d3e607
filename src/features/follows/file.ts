import { z } from "zod";
import type { FollowedEntry } from "../../generated/sqlite/client.ts";
import { Timestamp } from "../../kernel/fields.ts";
import { recommendedActions, severities } from "../../kernel/vocabulary.ts";
import type { BlacklistTransfer } from "../blacklist/import/import.service.ts";
import type { SourceLine } from "../blacklist/import-lines.ts";
import { entryCategories, entryKinds, maxFileEntries } from "./follows.schema.ts";
import { ReadingFailed } from "./feed.ts";
import { subjectOf } from "./subjects.ts";

/** What is read of a line; the other columns of an export are left alone. */
const Line = z.object({
  kind: z.enum(entryKinds),
  subject_id: z.string().max(253),
  number: z.string().min(1).max(40).optional(),
  status: z.string().max(40).optional(),
  scope: z.string().max(40).optional(),
  category: z.enum(entryCategories).default("other"),
  severity: z.enum(severities).default("medium"),
  recommended_action: z.enum(recommendedActions).nullish(),
  starts_at: Timestamp.optional(),
  expires_at: Timestamp.nullish(),
});

type Readers = BlacklistTransfer["readers"];

/** The lines of a text in one of the documented forms: CSV, a JSON list, or JSON line by line. */
export function linesIn(readers: Readers, text: string): AsyncGenerator<SourceLine> {
  const start = text.replace(/^\ufeff/, "").trimStart();
  if (start.startsWith("[") || /^\{\s*"records"\s*:/.test(start)) return readers.json([text]);
  return start.startsWith("{") ? readers.ndjson([text]) : readers.csv([text]);
}

/**
 * Everything a file lists. A file that cannot be read whole says nothing: a line that is missing would be taken for one that was taken back.
 * @throws ReadingFailed naming the first wrong line
 */
export async function entriesIn(
  lines: AsyncIterable<SourceLine> | Iterable<SourceLine>,
  { listId, categories, now }: { listId: string; categories: readonly string[]; now: Date },
): Promise<Map<string, FollowedEntry>> {
  const entries = new Map<string, FollowedEntry>();
  let count = 0;
  for await (const { line, value, errors } of lines) {
    count += 1;
    if (count > maxFileEntries) throw new ReadingFailed(`A file holds at most ${maxFileEntries.toString()} entries.`);
    const parsed = errors === undefined ? Line.safeParse(value) : undefined;
    if (parsed?.success !== true) throw new ReadingFailed(`Line ${line.toString()} of the file cannot be read.`);
    const { kind, number, status, scope = "network", category, severity } = parsed.data;
    const subject = subjectOf(kind, parsed.data.subject_id);
    if (subject === undefined) throw new ReadingFailed(`Line ${line.toString()} of the file cannot be read.`);
    if (status !== undefined && status !== "active" && status !== "scheduled") continue;
    if (categories.length > 0 && !categories.includes(category)) continue;
    const originId = number ?? `${kind}:${subject}:${scope}`;
    if (entries.has(originId)) throw new ReadingFailed(`Line ${line.toString()} of the file lists the same again.`);
    entries.set(originId, {
      listId,
      originId,
      number: number ?? `${kind}-${subject}`,
      revision: 1,
      kind,
      subject,
      category,
      severity,
      recommendedAction: parsed.data.recommended_action ?? null,
      // Whoever is listed without a time is listed from the beginning, whenever the file is read.
      startsAt: new Date(parsed.data.starts_at ?? 0),
      expiresAt: typeof parsed.data.expires_at === "string" ? new Date(parsed.data.expires_at) : null,
      updatedAt: now,
    });
  }
  return entries;
}
