import type { Database } from "../../database/database.ts";
import { inBatches } from "../../kernel/batches.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import { standOf, timeIsOver, type CallsignRecords } from "./records.ts";

const batch = 100;
const permission = "system.act";

export interface CallsignSweepDeps {
  database: Database;
  records: CallsignRecords;
  clock: Clock;
}

/** What time does to callsigns. */
export function createCallsignsSweep({ database, records, clock }: CallsignSweepDeps) {
  async function sweepBatch(call: Call): Promise<number> {
    const due = { state: { in: ["reserved", "held"] }, until: { lte: clock.now() } };
    const found = await database.read.callsignSlot.findMany({
      where: due,
      select: { id: true, pool: true },
      orderBy: { id: "asc" },
      take: batch,
    });
    if (found.length === 0) return 0;
    return await database.write(call, async (tx) => {
      await records.lock(tx, { pools: found.map(({ pool }) => pool) });
      const rows = await tx.db.callsignSlot.findMany({ where: { ...due, id: { in: found.map(({ id }) => id) } }, orderBy: { id: "asc" } });
      for (const row of rows) {
        const stand = { ...standOf(row), state: "ended" } as const;
        await records.change(tx, row, stand, { causeReference: null, permission, reason: timeIsOver });
      }
      return rows.length;
    });
  }

  return {
    /** Free the numbers whose reservation or rest is over. For the job that runs each minute. @returns how many */
    async sweep(call: Call): Promise<number> {
      requirePermission(call, permission);
      return await inBatches(batch, () => sweepBatch(call));
    },
  };
}
