import { Prisma } from "../generated/sqlite/client.ts";
import { takeNumbers } from "./counter.ts";
import { insertAll } from "./insert.ts";
import type { Insert, Series, Tx } from "./tx.ts";

/** What a transaction adds to its series, by their names, until it is written. */
export type Appended = Map<string, { series: Series<never>; entries: unknown[] }>;

/**
 * Number everything that was added, and insert it, in two statements on PostgreSQL. The counters are taken in one order, so that two
 * transactions never wait for each other.
 * @param more further rows, inserted in the same statement
 * @returns what inserts it
 */
export async function numberSeries(tx: Tx, appended: Appended, more: readonly Insert[]): Promise<() => Promise<void>> {
  if (appended.size === 0) return () => insertAll(tx, more);
  const all = [...appended].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const ends = await takeNumbers(
    tx,
    all.map(([name, { entries }]) => ({ name, count: entries.length })),
  );
  const inserts: Insert[] = [];
  const heads: Prisma.Sql[] = [];
  for (const [name, { series, entries }] of all) {
    const { number, head } = ends.get(name) ?? { number: 0, head: null };
    const rows = (series as unknown as Series<unknown>).rowsOf(tx, entries, { number: number - entries.length, head });
    inserts.push(...rows.inserts);
    if (rows.head !== undefined) heads.push(Prisma.sql`UPDATE counters SET head = ${rows.head} WHERE name = ${name}`);
  }
  return () => insertAll(tx, [...inserts, ...more], heads);
}
