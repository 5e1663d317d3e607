import { Prisma } from "../generated/sqlite/client.ts";
import type { SeriesEnd, Tx } from "./tx.ts";

/**
 * The next number of a sequence, starting at 1. It is gapless because it is taken back with the transaction; others wait
 * for the same sequence until the transaction ends, so take it late.
 * @param count takes so many at once; the last of them is returned
 */
export async function nextNumber(tx: Tx, name: string, count = 1): Promise<number> {
  const end = (await takeNumbers(tx, [{ name, count }])).get(name);
  if (end === undefined) throw new Error(`the sequence ${name} gave no number`);
  return end.number;
}

/**
 * Numbers of several sequences in one statement. Others wait for them in the order in which they are named.
 * @returns the last number taken of each, with what was kept beside the one before
 */
export async function takeNumbers(tx: Tx, wanted: readonly { name: string; count: number }[]): Promise<Map<string, SeriesEnd>> {
  const values = Prisma.join(wanted.map(({ name, count }) => Prisma.sql`(${name}, ${count})`));
  const rows = await tx.db.$queryRaw<{ name: string; value: number | bigint; head: string | null }[]>`
    INSERT INTO counters (name, value) VALUES ${values}
    ON CONFLICT (name) DO UPDATE SET value = counters.value + excluded.value
    RETURNING name, value, head`;
  return new Map(rows.map(({ name, value, head }) => [name, { number: Number(value), head }]));
}
