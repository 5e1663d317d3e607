import type { ReadClient } from "../../database/database.ts";
import type { ClientWhere } from "../../database/where.ts";
import { isSnowflake } from "../../kernel/fields.ts";
import { beginningWith, searchedWords } from "../../kernel/words.ts";
import { kinds } from "./blacklist.schema.ts";

type Where = ClientWhere<"BlacklistRecord">;
type Reader = Pick<ReadClient, "blacklistRecord" | "blacklistWord">;

/**
 * A condition that at most so many records meet leads to them; records that meet a more frequent one are met soon enough on the way
 * through the list. SQLite is given at most 999 values in a statement.
 */
export const fewRecords = 800;

/** What a search is made with. */
export interface Search {
  q: string;
  /** Whether words of the internal reason are searched, too. */
  readsConfidential: boolean;
}

/** What a search stands for. */
export interface Found {
  where: Where;
  /** The only records that can meet it, where they are few. */
  few?: string[];
}

/**
 * Every word of the question begins one of the record's; or the whole is the id of the subject or the number of the record.
 * The rarest word is looked up first: neither database knows how rare it is, and would walk through all records for the last few.
 */
export async function searchCondition(db: Reader, { q, readsConfidential }: Search): Promise<Found> {
  const starts = searchedWords(q).map(beginningWith);
  const named = namedBy(q);
  // A negation, so that the words of a record are looked up and not the records of a word.
  const hidden = readsConfidential ? {} : { isHidden: { not: true } };
  const words = starts.map((word): Where => ({ words: { some: { word, ...hidden } } }));
  const where = { OR: [...named, ...(words.length === 0 ? [] : [{ AND: words }])] };
  const few = words.length === 0 ? [] : await rarest(db, starts, readsConfidential ? [false, true] : [false]);
  if (few === undefined) return { where };
  const rows = named.length === 0 ? [] : await db.blacklistRecord.findMany({ where: { OR: named }, select: { id: true } });
  return { where, few: [...new Set([...few, ...rows.map(({ id }) => id)])] };
}

type Start = ReturnType<typeof beginningWith>;

/** The records of the word that stands in the fewest; undefined when each stands in many. */
async function rarest(db: Reader, starts: readonly Start[], hidden: readonly boolean[]): Promise<string[] | undefined> {
  const places = await Promise.all(starts.map((word) => placesOf(db, word, hidden)));
  return places.filter((ids) => ids.length <= fewRecords).toSorted((a, b) => a.length - b.length)[0];
}

/**
 * The first records a word stands in where the caller may read it. Hidden places are not counted for others: how a page comes about
 * would tell them of words that they may not read.
 */
async function placesOf(db: Reader, word: Start, hidden: readonly boolean[]): Promise<string[]> {
  const places = await Promise.all(
    hidden.map((isHidden) =>
      db.blacklistWord.findMany({
        where: { isHidden, word },
        select: { recordId: true },
        // The order of the index: any other would have the database sort every place.
        orderBy: [{ isHidden: "asc" }, { word: "asc" }, { recordId: "asc" }],
        take: fewRecords + 1,
      }),
    ),
  );
  return [...new Set(places.flat().map(({ recordId }) => recordId))];
}

function namedBy(q: string): Where[] {
  const number = /^bl-(\d{6,9})$/i.exec(q)?.[1];
  return [...(isSnowflake(q) ? [aboutSubject(q)] : []), ...(number === undefined ? [] : [{ number: Number(number) }])];
}

/** Both kinds are named: the index begins with them. */
export function aboutSubject(subjectId: string): Where {
  return { kind: { in: [...kinds] }, subjectId };
}
