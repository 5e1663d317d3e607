import type { Tx } from "./tx.ts";

/**
 * The next number of a sequence, starting at 1. It is gapless because it is taken back with the transaction; others wait
 * for the same sequence until the transaction ends, so take it late.
 * @param count takes so many at once; the last of them is returned
 */
export async function nextNumber(tx: Tx, name: string, count = 1): Promise<number> {
  const rows = await tx.db.$queryRaw<{ value: number | bigint }[]>`
    INSERT INTO counters (name, value) VALUES (${name}, ${count})
    ON CONFLICT (name) DO UPDATE SET value = counters.value + ${count}
    RETURNING value`;
  const [row] = rows;
  if (row === undefined) throw new Error(`the sequence ${name} gave no number`);
  return Number(row.value);
}
