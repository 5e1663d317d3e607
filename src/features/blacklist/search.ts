import type { ReadClient } from "../../database/database.ts";
import type { Prisma } from "../../generated/sqlite/client.ts";
import { isSnowflake } from "../../kernel/fields.ts";
import { beginningWith, searchedWords } from "../../kernel/words.ts";
import { kinds } from "./blacklist.schema.ts";

type Where = Prisma.BlacklistRecordWhereInput;
type Reader = Pick<ReadClient, "blacklistRecord" | "blacklistWord">;

/**
 * A word in at most so many places leads the search; records with a more frequent one are met soon enough on the way
 * through the list. SQLite is given at most 999 values in a statement.
 */
const fewPlaces = 800;

/** What a search is made with. */
export interface Search {
  q: string;
  /** Whether words of the internal reason are searched, too. */
  readsConfidential: boolean;
}

/**
 * Every word of the question begins one of the record's; or the whole is the id of the subject or the number of the record.
 * The rarest word is looked up first: neither database knows how rare it is, and would walk through all records for the last few.
 */
export async function searchCondition(db: Reader, { q, readsConfidential }: Search): Promise<Where> {
  const starts = searchedWords(q).map(beginningWith);
  const named = namedBy(q);
  const words = starts.map((word): Where => ({ words: { some: { word, ...(!readsConfidential && { isHidden: false }) } } }));
  const found = { OR: [...named, ...(words.length === 0 ? [] : [{ AND: words }])] };
  const places = await Promise.all(starts.map((word) => placesOf(db, word)));
  const [few] = places.filter((ids) => ids.length <= fewPlaces).toSorted((a, b) => a.length - b.length);
  if (few === undefined && words.length > 0) return found;
  const rows = named.length === 0 ? [] : await db.blacklistRecord.findMany({ where: { OR: named }, select: { id: true } });
  return { AND: [{ id: { in: [...new Set([...(few ?? []), ...rows.map(({ id }) => id)])] } }, found] };
}

/** The first records a word stands in, hidden or not: whether it may be searched is seen where it counts. */
async function placesOf(db: Reader, word: ReturnType<typeof beginningWith>): Promise<string[]> {
  return (await db.blacklistWord.findMany({ where: { word }, select: { recordId: true }, take: fewPlaces + 1 })).map(
    ({ recordId }) => recordId,
  );
}

function namedBy(q: string): Where[] {
  const number = /^bl-(\d{6,9})$/i.exec(q)?.[1];
  return [...(isSnowflake(q) ? [aboutSubject(q)] : []), ...(number === undefined ? [] : [{ number: Number(number) }])];
}

/** Both kinds are named: the index begins with them. */
export function aboutSubject(subjectId: string): Where {
  return { kind: { in: [...kinds] }, subjectId };
}
