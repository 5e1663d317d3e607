import { nextNumber } from "../../database/counter.ts";
import type { Tx } from "../../database/database.ts";
import { insertRows } from "../../database/insert.ts";

/** One change of a record, as the feed keeps it. */
export interface Change {
  recordId: string;
  number: number;
  revision: number;
  what: "created" | "updated" | "started" | "superseded" | "revoked" | "expired" | "purged";
  kind: string;
  category: string | null;
}

/** @returns queues a change that is numbered and inserted right before the commit, so that the feed is in the order of commits */
export function createFeed(): (tx: Tx, change: Change) => void {
  const queues = new WeakMap<Tx, Change[]>();
  return (tx, change) => {
    const queue = queues.get(tx);
    if (queue !== undefined) return void queue.push(change);
    const fresh = [change];
    queues.set(tx, fresh);
    tx.beforeCommit(async () => {
      queues.delete(tx);
      // Held by the audit and the events, too: taken in one order, the three journals never wait for each other.
      await tx.lock("audit");
      const last = await nextNumber(tx, "blacklist_changes", fresh.length);
      const first = last - fresh.length + 1;
      const rows = fresh.map((one, index) => ({ ...one, seq: first + index, at: tx.now }));
      await insertRows(tx, "blacklist_changes", rows);
    });
  };
}
