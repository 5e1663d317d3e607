import { Prisma } from "../generated/sqlite/client.ts";
import { holdSeries } from "./counter.ts";
import { insertAll } from "./insert.ts";
import { seriesNames, type Insert, type Series, type SeriesEnd, type SeriesName, type Tx } from "./tx.ts";

/** What a transaction adds to its series, by their names, until it is written. */
export type Appended = Map<SeriesName, { series: Series<never>; entries: unknown[] }>;

/**
 * Number everything that was added, and insert it, in two statements on PostgreSQL, or in one when the transaction holds the ends of the
 * series. They are taken in one order, so that two transactions never wait for each other.
 * @param more further rows, inserted in the same statement
 * @returns what inserts it
 */
export async function numberSeries(tx: Tx, appended: Appended, more: readonly Insert[]): Promise<() => Promise<void>> {
  const names = seriesNames.filter((name) => appended.has(name));
  if (names.length === 0) return () => insertAll(tx, more);
  await holdSeries(tx, names);
  const inserts: Insert[] = [];
  const ends: Prisma.Sql[] = [];
  for (const [name, { series, entries }] of appended) {
    const last = tx.seriesEnds.get(name) as SeriesEnd;
    const { inserts: rows, head = null } = (series as unknown as Series<unknown>).rowsOf(tx, entries, last);
    inserts.push(...rows);
    ends.push(Prisma.sql`(${name}, ${last.number + entries.length}, ${head})`);
  }
  const move = Prisma.sql`INSERT INTO counters (name, value, head) VALUES ${Prisma.join(ends)}
    ON CONFLICT (name) DO UPDATE SET value = excluded.value, head = excluded.head`;
  return () => insertAll(tx, [...inserts, ...more], [move]);
}
