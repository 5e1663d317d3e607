import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { OutgoingFailed } from "../../outgoing.ts";
import { severities } from "../../kernel/vocabulary.ts";

/** One entry of a feed as it was taken: its number, the record, and its revision. */
export const TakenEntry = z.tuple([z.int(), z.string(), z.int()]);
type TakenEntry = z.infer<typeof TakenEntry>;

/** How far a feed was read, so that what comes next can be told to follow from it. */
export interface Standing {
  /** Where the page begins that was read last; null: the beginning. */
  cursor: string | null;
  /** The entries of that page. It is read again each time, which shows whether what was told before still stands. */
  page: readonly TakenEntry[];
  /** Records whose entries are gone; a purge has to follow that says so. */
  vanished: readonly string[];
  lastSeq: number;
  /** Numbers that no entry had, less the fewest that purges account for. */
  unexplained: number;
  /** How many more these purges can account for, as a change of category has two entries. */
  explainable: number;
}

/** What is read of a record; everything else it may hold is left alone. */
const FeedRecord = z.object({
  id: z.string(),
  revision: z.int(),
  kind: z.string().max(20),
  subject_id: z.string().max(253),
  category: z.string().max(40),
  severity: z.enum(severities),
  status: z.string(),
  recommended_action: z.string().max(40).nullable(),
  starts_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable(),
});
const FeedEntry = z.object({
  seq: z.int().positive(),
  change: z.string(),
  retract: z.boolean(),
  record_id: z.string().min(1).max(100),
  number: z.string().min(1).max(40),
  revision: z.int().positive(),
  record: FeedRecord.nullable(),
});
export type FeedEntry = z.infer<typeof FeedEntry>;

/** A page of `GET /blacklist/changes`. */
export const FeedPage = z.object({
  data: z.array(FeedEntry).max(200),
  page: z.object({ next_cursor: z.string().nullable() }),
  meta: z.object({ resume_cursor: z.string().min(1).max(2000) }),
});
export type FeedPage = z.infer<typeof FeedPage>;

/** Why a list could not be read this time: its address did not answer, or not as a list does; said to people, so it holds no key. */
export class ReadingFailed extends OutgoingFailed {
  override name = "ReadingFailed";
}

/** What a feed says does not fit what it said before. Nothing more of it is believed until a person has looked. */
export class FeedRefused extends Error {
  override name = "FeedRefused";
}

const rewritten = "The list tells otherwise what it told before.";
const withheld = "The list leaves entries out.";

/**
 * Check that a page follows from what was read before. Its numbers only rise. Each record's revisions follow each other, as an entry stands
 * for each of them, or two where the category has changed. Where a number is missing, its record was purged: a purge says by its revision how
 * many entries went with it at least and at most, and at the end of the feed what is missing lies between the two.
 * @param known the revisions of the records of the page that were taken last
 * @returns where the feed stands after it, and the entries that are new
 * @throws FeedRefused
 */
export function followPage(
  before: Standing,
  { cursor, page, known }: { cursor: string | null; page: FeedPage; known: ReadonlyMap<string, number> },
): { standing: Standing; fresh: FeedEntry[] } {
  const revisions = new Map(known);
  const vanished = new Set(before.vanished);
  const told = new Map((cursor === before.cursor ? before.page : []).map((entry) => [entry[0], entry]));
  const fresh: FeedEntry[] = [];
  let { lastSeq, unexplained, explainable } = before;
  let latest = before.page.at(-1);
  let previous = cursor === before.cursor ? 0 : before.lastSeq;
  for (const entry of page.data) {
    const { seq, record_id: id, revision, record } = entry;
    if (seq <= previous) throw new FeedRefused("The list is out of order.");
    previous = seq;
    if (seq <= before.lastSeq) {
      const [, toldId, toldRevision] = told.get(seq) ?? [];
      if (toldId !== id || toldRevision !== revision) throw new FeedRefused(rewritten);
      told.delete(seq);
      continue;
    }
    unexplained += seq - lastSeq - 1;
    lastSeq = seq;
    const seen = revisions.get(id) ?? 0;
    if (entry.change === "purged") {
      if (revision <= seen) throw new FeedRefused(rewritten);
      unexplained -= revision - 1 - seen;
      // The first revision has one entry; of the last that was read, the second entry may have come later.
      explainable += seen === 0 ? revision - 2 : revision - seen;
      vanished.delete(id);
    } else {
      const isSecond = isDeepStrictEqual(latest, [seq - 1, id, revision]);
      if (revision !== seen + 1 && !isSecond) throw new FeedRefused(withheld);
      if (record !== null && (record.id !== id || record.revision !== revision)) throw new FeedRefused("The list contradicts itself.");
    }
    revisions.set(id, revision);
    latest = [seq, id, revision];
    fresh.push(entry);
  }
  const purged = new Set(fresh.flatMap(({ change, record_id: id }) => (change === "purged" ? [id] : [])));
  for (const [, id] of told.values()) if (!purged.has(id)) vanished.add(id);
  const isEnd = page.page.next_cursor === null;
  if (isEnd && vanished.size > 0) throw new FeedRefused(rewritten);
  if (isEnd && (unexplained < 0 || unexplained > explainable)) throw new FeedRefused(withheld);
  const standing = { vanished: [...vanished], lastSeq, ...(isEnd ? { unexplained: 0, explainable: 0 } : { unexplained, explainable }) };
  if (page.data.length === 0) return { standing: { ...before, ...standing }, fresh };
  const taken = page.data.map(({ seq, record_id: id, revision }): TakenEntry => [seq, id, revision]);
  return { standing: { ...standing, cursor, page: taken }, fresh };
}
