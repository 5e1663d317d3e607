import { say } from "../../kit/say.ts";
import { hash } from "node:crypto";
import { z } from "zod";
import { OutgoingFailed } from "../../outgoing.ts";
import { ForeignTime, foreignInt, foreignText, readForeign, shownValue } from "../../kernel/foreign.ts";
import { recommendedActions, severities } from "../../kernel/vocabulary.ts";

/** One entry of a feed as it was taken: its number, the record, its revision, and a hash of what it said. Older rows have no hash. */
export const TakenEntry = z.tuple([z.int(), z.string(), z.int()], z.string());
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
  id: foreignText(100, 1),
  revision: foreignInt(1),
  kind: foreignText(20),
  subject_id: foreignText(2048),
  category: foreignText(40),
  severity: z.enum(severities),
  status: foreignText(40),
  // What a later version recommends is nothing that can be done here.
  recommended_action: foreignText(40)
    .nullable()
    .transform((action) => recommendedActions.find((one) => one === action) ?? null),
  starts_at: ForeignTime,
  expires_at: ForeignTime.nullable(),
});
/** What the order of a feed is told by. Without it nothing can be said of what follows. */
const Skeleton = z.object({
  seq: foreignInt(1),
  change: foreignText(40),
  record_id: foreignText(100, 1),
  revision: foreignInt(1),
});
const Contents = z.object({ retract: z.boolean(), number: foreignText(40, 1), record: FeedRecord.nullable() });

/** Why something that others have written could not be read. */
export interface Unread {
  /** The field, such as `/severity`; empty: all of it. */
  field: string;
  value: string;
  reason: string;
}

export interface FeedEntry extends z.infer<typeof Skeleton>, z.infer<typeof Contents> {
  /** Its contents could not be read: it counts in the order, and says nothing. */
  unread?: Unread;
  /** Of what its record says; empty where nothing is said. */
  digest: string;
}

/** A page of `GET /blacklist/changes`. */
const Page = z.object({
  data: z.array(z.unknown()).max(200),
  page: z.object({ next_cursor: z.string().nullable() }),
  meta: z.object({ resume_cursor: foreignText(2000, 1) }),
});
export interface FeedPage {
  data: readonly FeedEntry[];
  page: { next_cursor: string | null };
  meta: { resume_cursor: string };
}

/**
 * A page of a feed. An entry whose contents cannot be read is kept without them.
 * @throws ReadingFailed where it is no page, or the order of an entry cannot be read
 */
export function readPage(value: unknown): FeedPage {
  const page = readForeign(Page, value, { isPart: true });
  if ("faults" in page) throw new ReadingFailed(say("follows.the-answer-is-not-the-feed-of"));
  return { ...page.data, data: page.data.data.map(readEntry) };
}

function readEntry(value: unknown, index: number): FeedEntry {
  const skeleton = readForeign(Skeleton, value);
  if ("faults" in skeleton) {
    const [fault] = skeleton.faults;
    const place = (index + 1).toString();
    throw new ReadingFailed(
      say("follows.entry-of-the-page-cannot-be-read", { count: place, pointer: fault?.pointer || "/", detail: fault?.detail ?? "" }),
    );
  }
  const contents = readForeign(Contents, value);
  if ("data" in contents) return { ...skeleton.data, ...contents.data, digest: digestOf(contents.data) };
  const [{ pointer, detail } = { pointer: "", detail: "" }] = contents.faults;
  const unread = { field: pointer, value: shownValue(valueAt(value, pointer)), reason: detail };
  return { ...skeleton.data, retract: false, number: shownValue(skeleton.data.record_id).slice(0, 40), record: null, unread, digest: "" };
}

function valueAt(value: unknown, pointer: string): unknown {
  const steps = pointer.split("/").slice(1);
  return steps.reduce<unknown>((inner, step) => (typeof inner === "object" && inner !== null ? inner[step as never] : undefined), value);
}

const digestLength = 12;

function digestOf({ number, record }: z.infer<typeof Contents>): string {
  if (record === null) return "";
  const { kind, subject_id, category, severity, status, recommended_action, starts_at, expires_at } = record;
  const said = [number, kind, subject_id, category, severity, status, recommended_action, starts_at, expires_at];
  return hash("sha256", JSON.stringify(said), "base64url").slice(0, digestLength);
}

/** Why a list could not be read this time: its address did not answer, or not as a list does; said to people, so it holds no key. */
export class ReadingFailed extends OutgoingFailed {
  override name = "ReadingFailed";
}

/** What a feed says does not fit what it said before. Nothing more of it is believed until a person has looked. */
export class FeedRefused extends Error {
  override name = "FeedRefused";
}

const rewritten = say("follows.the-list-tells-otherwise-what-it-told");
const withheld = say("follows.the-list-leaves-entries-out");
/** What the columns of a count keep. */
const maxCount = 2_147_483_647;
/** Records whose entries are gone for which no purge has come yet. */
const maxVanished = 10_000;

/** Whether two entries say the same; where either says nothing there is nothing to compare. */
function saysSame(one: string | undefined, other: string | undefined): boolean {
  return !one || !other || one === other;
}

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
    const { seq, record_id: id, revision, record, digest } = entry;
    if (seq <= previous) throw new FeedRefused(say("follows.the-list-is-out-of-order"));
    previous = seq;
    if (seq <= before.lastSeq) {
      const [, toldId, toldRevision, toldDigest] = told.get(seq) ?? [];
      if (toldId !== id || toldRevision !== revision || !saysSame(toldDigest, digest)) throw new FeedRefused(rewritten);
      told.delete(seq);
      continue;
    }
    // Each revision of a record has an entry of its own.
    if (revision > seq) throw new FeedRefused(withheld);
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
      const isSecond = latest?.[0] === seq - 1 && latest[1] === id && latest[2] === revision;
      if (revision !== seen + 1 && !isSecond) throw new FeedRefused(withheld);
      if (isSecond && !saysSame(latest?.[3], digest)) throw new FeedRefused(rewritten);
      if (record !== null && (record.id !== id || record.revision !== revision))
        throw new FeedRefused(say("follows.the-list-contradicts-itself"));
    }
    revisions.set(id, revision);
    latest = [seq, id, revision, digest];
    fresh.push(entry);
  }
  const purged = new Set(fresh.flatMap(({ change, record_id: id }) => (change === "purged" ? [id] : [])));
  for (const [, id] of told.values()) if (!purged.has(id)) vanished.add(id);
  const isEnd = page.page.next_cursor === null;
  if (vanished.size > (isEnd ? 0 : maxVanished)) throw new FeedRefused(rewritten);
  if (isEnd && (unexplained < 0 || unexplained > explainable)) throw new FeedRefused(withheld);
  if (unexplained < -maxCount || explainable > maxCount) throw new FeedRefused(withheld);
  const standing = { vanished: [...vanished], lastSeq, ...(isEnd ? { unexplained: 0, explainable: 0 } : { unexplained, explainable }) };
  if (page.data.length === 0) return { standing: { ...before, ...standing }, fresh };
  const taken = page.data.map(({ seq, record_id: id, revision, digest }): TakenEntry => [seq, id, revision, digest]);
  return { standing: { ...standing, cursor, page: taken }, fresh };
}
