import { Prisma } from "../generated/sqlite/client.ts";
import type { SeriesEnd } from "./known-ends.ts";
import { seriesNames, type SeriesName, type Tx } from "./tx.ts";

export interface NumberOptions {
  /** Takes so many at once; the last of them is returned. */
  count?: number;
  /**
   * The transaction takes no other lock afterwards. Where counters are read, the ends of the series are then taken with the number, so that
   * others wait one round trip less; where they are known, the number is.
   */
  isLast?: boolean;
}

/**
 * The next number of a sequence, starting at 1. It is gapless because it is taken back with the transaction; others wait
 * for the same sequence until the transaction ends, so take it late.
 */
export async function nextNumber(tx: Tx, name: string, { count = 1, isLast = false }: NumberOptions = {}): Promise<number> {
  const { knownEnds } = tx;
  if (!isLast) await knownEnds?.read(name);
  const known = isLast ? await knownEnds?.take(name, true) : undefined;
  if (known !== undefined) {
    const number = known.number + count;
    knownEnds?.move(name, { ...known, number });
    return number;
  }
  const takesSeries = isLast && knownEnds === undefined;
  const ends = await takeNumbers(tx, [{ name, count }, ...(takesSeries ? seriesNames.map((series) => ({ name: series, count: 0 })) : [])]);
  if (takesSeries) for (const series of seriesNames) tx.seriesEnds.set(series, endOf(ends, series));
  const end = endOf(ends, name);
  knownEnds?.move(name, end);
  return end.number;
}

/** Take the ends of some series, unless the transaction holds them. */
export async function holdSeries(tx: Tx, names: readonly SeriesName[]): Promise<void> {
  const missing: SeriesName[] = [];
  for (const name of names.filter((one) => !tx.seriesEnds.has(one))) {
    const known = await tx.knownEnds?.take(name, false);
    if (known === undefined) missing.push(name);
    else tx.seriesEnds.set(name, known);
  }
  if (missing.length === 0) return;
  const ends = await takeNumbers(
    tx,
    missing.map((name) => ({ name, count: 0 })),
  );
  for (const name of missing) tx.seriesEnds.set(name, endOf(ends, name));
}

function endOf(ends: ReadonlyMap<string, SeriesEnd>, name: string): SeriesEnd {
  const end = ends.get(name);
  if (end === undefined) throw new Error(`the sequence ${name} gave no number`);
  return end;
}

/**
 * Numbers of several sequences in one statement. Others wait for them in the order in which they are named.
 * @returns the last number taken of each, with what is kept beside it
 */
async function takeNumbers(tx: Tx, wanted: readonly { name: string; count: number }[]): Promise<Map<string, SeriesEnd>> {
  const values = Prisma.join(wanted.map(({ name, count }) => Prisma.sql`(${name}, ${count})`));
  const rows = await tx.db.$queryRaw<{ name: string; value: number | bigint; head: string | null }[]>`
    INSERT INTO counters (name, value) VALUES ${values}
    ON CONFLICT (name) DO UPDATE SET value = counters.value + excluded.value
    RETURNING name, value, head`;
  return new Map(rows.map(({ name, value, head }) => [name, { number: Number(value), head }]));
}
