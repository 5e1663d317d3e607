import type { Tx, Database } from "../../database/database.ts";
import { addPosition, type Ranges } from "./verify.ts";
import type { AuditInput } from "./record.ts";
import type { Call } from "../../kernel/call.ts";
import { addSeconds, type Clock } from "../../kernel/clock.ts";

/** Whose details go: those of entries about one person or about one record, which is named as entries name their target. */
export type ErasedEntries = ({ subjectUserId: string; targetId?: never } | { targetId: string; subjectUserId?: never }) & {
  /** Only entries whose action begins so. */
  actionPrefix?: string;
  /** Only entries that are not younger. */
  before?: Date;
};

export interface ErasedDetails {
  /** How many entries lost their details. */
  count: number;
  /** Their positions in the chain: first and last of each run. */
  ranges: Ranges;
}

/** Entries whose details go at once. */
const slice = 500;

/** Delete reason, before and after of entries, and the salts that bind them; the entries stay, and the chain with them. */
export async function eraseDetails(tx: Tx, { subjectUserId, targetId, actionPrefix, before }: ErasedEntries): Promise<ErasedDetails> {
  const entries = await tx.db.auditEntry.findMany({
    where: {
      ...(subjectUserId === undefined ? { targetId } : { subjectUserId }),
      ...(actionPrefix !== undefined && { action: { startsWith: actionPrefix } }),
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
export async function eraseDetailsAt(tx: Tx, seqs: readonly number[]): Promise<ErasedDetails> {
  const erased: number[] = [];
  for (let from = 0; from < seqs.length; from += slice) {
    const where = { seq: { in: seqs.slice(from, from + slice) } };
    const there = await tx.db.auditPayload.findMany({ where, select: { seq: true }, orderBy: { seq: "asc" } });
    await tx.db.auditPayload.deleteMany({ where });
    erased.push(...there.map(({ seq }) => seq));
  }
  return { count: erased.length, ranges: rangesOf(erased) };
}

function rangesOf(seqs: readonly number[]): Ranges {
  const ranges: Ranges = [];
  for (const seq of seqs) addPosition(ranges, seq);
  return ranges;
}

/** Transactions in one sweep. */
const maxSlices = 20;

export interface RetainDeps {
  database: Database;
  clock: Clock;
  record: (tx: Tx, entry: AuditInput) => void;
  /** How long details are kept; 0: for good. */
  days: number;
}

/** Erase the details of entries that are older than they are kept, oldest first. The entries stay. @returns of how many entries */
export async function retainDetails({ database, clock, record, days }: RetainDeps, call: Call): Promise<number> {
  if (days === 0) return 0;
  const before = addSeconds(clock.now(), -days * 86_400);
  // More than the first: an entry of a time when the clock was ahead must not keep the others.
  const oldest = await database.read.auditPayload.findMany({ select: { seq: true }, orderBy: { seq: "asc" }, take: slice });
  const seqs = oldest.map(({ seq }) => seq);
  if ((await dueOf(database.read, seqs, before)).length === 0) return 0;
  let total = 0;
  for (let slices = 0; slices < maxSlices; slices += 1) {
    const done = await database.write(call, async (tx) => {
      const oldest = await tx.db.auditPayload.findMany({ select: { seq: true }, orderBy: { seq: "asc" }, take: slice });
      const due = await dueOf(
        tx.db,
        oldest.map(({ seq }) => seq),
        before,
      );
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

async function dueOf(db: Pick<Tx["db"], "auditEntry"> | Database["read"], seqs: number[], before: Date): Promise<number[]> {
  const where = { seq: { in: seqs }, at: { lt: before } };
  const rows = await (db as Tx["db"]).auditEntry.findMany({ where, select: { seq: true }, orderBy: { seq: "asc" } });
  return rows.map(({ seq }) => seq);
}
