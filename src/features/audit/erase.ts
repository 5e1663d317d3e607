import type { Database, ReadClient, TransactionClient, Tx } from "../../database/database.ts";
import { addPosition, type Ranges } from "./verify.ts";
import type { AuditInput } from "./record.ts";
import type { Call } from "../../kernel/call.ts";
import { addSeconds, type Clock } from "../../kernel/clock.ts";

/** Whose details go: those of entries about one person or about one record, which is named as entries name their target, or of some sorts. */
export type ErasedEntries = (
  | { subjectUserId: string; targetId?: never; actionPrefixes?: readonly string[] }
  | { targetId: string; subjectUserId?: never; actionPrefixes?: readonly string[] }
  | { actionPrefixes: readonly string[]; subjectUserId?: never; targetId?: never }
) & {
  /** Only entries that are not younger. */
  before?: Date;
};

/** Entries whose details go at once. */
const slice = 500;

/**
 * Delete reason, before and after of entries, and the salts that bind them; the entries stay, and the chain with them.
 * @returns how many entries lost their details, and their positions in the chain: first and last of each run
 */
export async function eraseDetails(tx: Tx, { subjectUserId, targetId, actionPrefixes, before }: ErasedEntries) {
  const entries = await tx.db.auditEntry.findMany({
    where: {
      ...(subjectUserId !== undefined && { subjectUserId }),
      ...(targetId !== undefined && { targetId }),
      ...(actionPrefixes !== undefined && { OR: actionPrefixes.map((prefix) => ({ action: { startsWith: prefix } })) }),
      ...(before !== undefined && { at: { lte: before } }),
    },
    select: { seq: true },
    orderBy: { seq: "asc" },
  });
  return eraseDetailsAt(
    tx,
    entries.map(({ seq }) => seq),
  );
}

/** Delete the details at some positions of the chain, which rise. */
export async function eraseDetailsAt(tx: Tx, seqs: readonly number[]) {
  tx.erases();
  const erased: number[] = [];
  for (let from = 0; from < seqs.length; from += slice) {
    const where = { seq: { in: seqs.slice(from, from + slice) } };
    const there = await tx.db.auditPayload.findMany({ where, select: { seq: true }, orderBy: { seq: "asc" } });
    await tx.db.auditPayload.deleteMany({ where });
    erased.push(...there.map(({ seq }) => seq));
  }
  const ranges: Ranges = [];
  for (const seq of erased) addPosition(ranges, seq);
  return { count: erased.length, ranges };
}

/** Transactions in one sweep. */
const maxSlices = 20;

export interface RetainDeps {
  database: Database;
  clock: Clock;
  record: (tx: Tx, entry: AuditInput) => void;
  /** How long details are kept; 0: permanently. */
  days: number;
}

/** Erase the details of entries that are older than they are kept, oldest first. The entries stay. @returns of how many entries */
export async function retainDetails({ database, clock, record, days }: RetainDeps, call: Call): Promise<number> {
  if (days === 0) return 0;
  const before = addSeconds(clock.now(), -days * 86_400);
  if ((await dueAmongOldest(database.read, before)).length === 0) return 0;
  let total = 0;
  for (let slices = 0; slices < maxSlices; slices += 1) {
    const done = await database.write(call, async (tx) => {
      const due = await dueAmongOldest(tx.db, before);
      if (due.length === 0) return 0;
      const { count, ranges } = await eraseDetailsAt(tx, due);
      const after = { details_erased: count, older_than: before.toISOString() };
      record(tx, { action: "audit.retain", after, erased: ranges, permission: "system.act" });
      return count;
    });
    total += done;
    if (done === 0) break;
  }
  return total;
}

/** More than the first is looked at: an entry of a time when the clock was ahead must not keep the others. */
async function dueAmongOldest(db: ReadClient | TransactionClient, before: Date): Promise<number[]> {
  const inOrder = { select: { seq: true }, orderBy: { seq: "asc" } } as const;
  const oldest = await db.auditPayload.findMany({ ...inOrder, take: slice });
  const where = { seq: { in: oldest.map(({ seq }) => seq) }, at: { lt: before } };
  return (await db.auditEntry.findMany({ where, ...inOrder })).map(({ seq }) => seq);
}
