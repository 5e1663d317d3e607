import type { AuditInput } from "./record.ts";
import type { Database, Tx } from "../../database/database.ts";
import type { Call } from "../../kernel/call.ts";
import { addSeconds, type Clock } from "../../kernel/clock.ts";
import { eraseDetailsAt } from "./erase.ts";

/** Entries whose details go in one transaction, and transactions in one sweep. */
const slice = 500;
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
