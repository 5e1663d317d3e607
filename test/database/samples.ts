import type { Series, SeriesName } from "../../src/database/tx.ts";
import { systemCall, type Call } from "../../src/kernel/call.ts";
import type { ReadClient, TransactionClient } from "../../src/database/database.ts";

/** A call of the system, with an idempotency key if one is named. */
export function sampleCall(key?: string, fingerprint = "body"): Call {
  const idempotency = key === undefined ? null : { scope: `test:${key}`, fingerprint, status: 201 };
  return { ...systemCall("job", "request-1"), idempotency };
}

/** Write a row that is easy to look for. */
export async function addOwner({ db }: { db: Pick<TransactionClient, "owner"> }, userId: string): Promise<void> {
  await db.owner.create({ data: { userId, createdBy: "test", createdAt: new Date("2026-01-01T00:00:00Z") } });
}

/** The ids of all rows that addOwner has written, sorted. */
export async function ownerIds(db: Pick<ReadClient, "owner">): Promise<string[]> {
  const rows = await db.owner.findMany({ select: { userId: true }, orderBy: { userId: "asc" } });
  return rows.map(({ userId }) => userId);
}

/** Count the turns of the event loop. @returns ends the count, and how many there were */
export function countTurns(): () => number {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  return () => {
    isOver = true;
    return turns;
  };
}

/** A promise and the function that fulfils it. */
export function createGate(): { open: () => void; opened: Promise<void> } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** Entries are rows of settings; the head is the last entry. */
export const seriesOf = (name: SeriesName): Series<string> => ({
  name,
  rowsOf({ now }, entries, last) {
    const rows = entries.map((entry, index) => {
      const number = (last.number + 1 + index).toString().padStart(6, "0");
      return { key: `${name}:${number}`, value: { entry, before: index === 0 ? last.head : entries[index - 1] }, updatedAt: now };
    });
    return { inserts: [{ model: "Setting", rows }], head: entries.at(-1) ?? "" };
  },
});
