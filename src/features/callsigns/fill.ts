import { randomInt } from "node:crypto";
import { lasting, liveKeyOf, type CallsignReader } from "./keys.ts";
import { inParts, numberAt, sizeOf, turnedAfter, type Numbers, type Span } from "./numbers.ts";

export const fills = ["lowest", "sequential", "random"] as const;
export type Fill = (typeof fills)[number];

interface Search {
  db: CallsignReader;
  pool: string;
  numbers: Numbers;
  now: Date;
  /** Free, but not wanted. */
  without: ReadonlySet<number>;
}

interface Found {
  number: number;
  /** Where it was looked for, in order; empty where no number was passed over. */
  walk: readonly Span[];
}

/** In a pool that is not full, a few guesses find a free number. */
const guesses = 8;

/** The ways to a free number. Of a large pool only some numbers are looked at, and held in memory, at a time. */
export const fill: Readonly<Record<Fill, (search: Search) => Promise<Found | undefined>>> = {
  lowest: (search) => firstOf(search, search.numbers.spans),

  /** The next one after the highest that was ever given; after the last number the first again. */
  async sequential(search) {
    const { db, pool, numbers } = search;
    const given = { OR: [{ userId: { not: null } }, { reservedBy: { not: null } }, { originReference: { not: null } }] };
    const where = { pool, AND: [given, { OR: within(numbers.spans) }] };
    const { _max: highest } = await db.callsignSlot.aggregate({ where, _max: { number: true } });
    return await firstOf(search, highest.number === null ? numbers.spans : turnedAfter(numbers.spans, highest.number));
  },

  /** Each of the free ones is as likely as the others. */
  async random(search) {
    const number = (await guessed(search)) ?? (await drawn(search));
    return number === undefined ? undefined : { number, walk: [] };
  },
};

/** The database's words for numbers of some spans. */
export function within(spans: readonly Span[]) {
  return spans.map(([first, last]) => ({ number: { gte: first, lte: last } }));
}

async function firstOf(search: Search, walk: readonly Span[]): Promise<Found | undefined> {
  for (const part of inParts({ ...search.numbers, spans: walk })) {
    const [number] = await freeOf(search, part);
    if (number !== undefined) return { number, walk };
  }
  return undefined;
}

async function freeOf({ db, pool, now, without }: Search, part: readonly number[]): Promise<number[]> {
  const where = { liveKey: { in: part.map((number) => liveKeyOf(pool, number)) }, ...lasting(now) };
  const rows = await db.callsignSlot.findMany({ where, select: { number: true } });
  const taken = new Set(rows.map(({ number }) => number));
  return part.filter((number) => !taken.has(number) && !without.has(number));
}

/** What is guessed among all numbers and thrown away unless it is free is spread evenly over the free ones. */
async function guessed(search: Search): Promise<number | undefined> {
  const { spans, kept } = search.numbers;
  const size = sizeOf(spans);
  if (size === 0) return undefined;
  for (let tries = 0; tries < guesses; tries += 1) {
    const number = numberAt(spans, randomInt(size));
    if (number !== undefined && !kept.has(number) && (await freeOf(search, [number])).length === 1) return number;
  }
  return undefined;
}

/** One free number of all, of which only one is kept at a time: each part's own is taken as often as the part has a share in all so far. */
async function drawn(search: Search): Promise<number | undefined> {
  let seen = 0;
  let drawnNumber: number | undefined;
  for (const part of inParts(search.numbers)) {
    const free = await freeOf(search, part);
    seen += free.length;
    if (free.length > 0 && randomInt(seen) < free.length) drawnNumber = free[randomInt(free.length)];
  }
  return drawnNumber;
}
