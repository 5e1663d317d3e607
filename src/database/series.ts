import { Prisma } from "../generated/sqlite/client.ts";
import { holdSeries } from "./counter.ts";
import { insertAll } from "./insert.ts";
import type { Move, SeriesEnd, Ticket } from "./known-ends.ts";
import { seriesNames, type Insert, type Series, type SeriesName, type Tx } from "./tx.ts";

/** What a transaction adds to its series, by their names, until it is written. */
export type Appended = Map<SeriesName, { series: Series<never>; entries: unknown[] }>;

/**
 * Number everything that was added, and insert it, in two statements on PostgreSQL, or in one when the transaction holds the ends of the
 * series. They are taken in one order, so that two transactions never wait for each other.
 * @param more further rows, inserted in the same statement
 * @returns what inserts it
 */
export async function numberSeries(tx: Tx, appended: Appended, more: readonly Insert[]): Promise<() => Promise<void>> {
  await holdSeries(
    tx,
    seriesNames.filter((name) => appended.has(name)),
  );
  const inserts: Insert[] = [];
  const ends = new Map<SeriesName, SeriesEnd>();
  for (const [name, { series, entries }] of appended) {
    const last = tx.seriesEnds.get(name) as SeriesEnd;
    const { inserts: rows, head = null } = (series as unknown as Series<unknown>).rowsOf(tx, entries, last);
    inserts.push(...rows);
    const end = { number: last.number + entries.length, head };
    tx.knownEnds?.move(name, end);
    ends.set(name, end);
  }
  const { moves = [], after = [] } = tx.knownEnds?.expected() ?? {};
  for (const { name } of moves) ends.delete(name as SeriesName);
  return async () => {
    const moved = moves.length === 0 ? undefined : moveFrom(tx, moves, after);
    const inserted = insertAll(tx, [...inserts, ...more], ends.size === 0 ? [] : [moveTo(ends)]);
    tx.knownEnds?.sent();
    await Promise.all([moved, inserted]);
  };
}

/** Move counters that the transaction has read, and so holds. */
function moveTo(ends: ReadonlyMap<SeriesName, SeriesEnd>): Prisma.Sql {
  const values = [...ends].map(([name, { number, head }]) => Prisma.sql`(${name}, ${number}, ${head})`);
  return Prisma.sql`INSERT INTO counters (name, value, head) VALUES ${Prisma.join(values)}
    ON CONFLICT (name) DO UPDATE SET value = excluded.value, head = excluded.head`;
}

/** Move counters that stand where they are expected once others have ended. PostgreSQL takes the transaction back where one does not. */
async function moveFrom(tx: Tx, moves: readonly Move[], after: readonly Ticket[]): Promise<void> {
  const [space = 0] = after.map((one) => one.space);
  const rows = moves.map(({ name, from, to }) => ({
    name,
    from_value: from.number,
    from_head: from.head,
    value: to.number,
    head: to.head,
  }));
  const numbers = after.map(({ number }) => number);
  await tx.db.$executeRaw`SELECT provost_move_counters(${space}::integer, ${JSON.stringify(numbers)}::json, ${JSON.stringify(rows)}::json)`;
}
