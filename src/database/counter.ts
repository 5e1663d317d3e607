import type { Tx } from "./write.ts";

/**
 * The next number of a sequence, starting at 1. It is gapless because it is taken back with the transaction; others wait
 * for the same sequence until the transaction ends, so take it late.
 */
export async function nextNumber(tx: Tx, name: string): Promise<number> {
  const rows = await tx.db.$queryRaw<{ value: number | bigint }[]>`
    INSERT INTO counters (name, value) VALUES (${name}, 1)
    ON CONFLICT (name) DO UPDATE SET value = counters.value + 1
    RETURNING value`;
  const [row] = rows;
  if (row === undefined) throw new Error(`the sequence ${name} gave no number`);
  return Number(row.value);
}
