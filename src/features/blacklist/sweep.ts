import type { Database } from "../../database/database.ts";
import { inBatches } from "../../kernel/pause.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import { changedRecord } from "./bulk.ts";
import { statusAt } from "./blacklist.policy.ts";
import type { BlacklistRecords } from "./records.ts";

const batch = 100;

/** What time does to records. */
export function createSweep({ database, records, clock }: { database: Database; records: BlacklistRecords; clock: Clock }) {
  /** Ends records past their end and starts scheduled ones; returns how many. */
  async function sweepBatch(call: Call): Promise<number> {
    const now = clock.now();
    const due = {
      OR: [
        { status: { in: ["active", "scheduled"] }, expiresAt: { lte: now } },
        { status: "scheduled", startsAt: { lte: now } },
      ],
    };
    const ids = await database.read.blacklistRecord.findMany({ where: due, select: { id: true }, orderBy: { id: "asc" }, take: batch });
    if (ids.length === 0) return 0;
    return database.write(call, async (tx) => {
      // Every lock before the first change: whoever changes one of them waits for its matches after it, too.
      for (const { id } of ids) await tx.lock(`blacklist:${id}`);
      const rows = await tx.db.blacklistRecord.findMany({ where: { id: { in: ids.map(({ id }) => id) } }, orderBy: { id: "asc" } });
      const changed = rows.flatMap((row) => {
        const status = statusAt(row, tx.now);
        if (status === row.status) return [];
        const isOver = status === "expired";
        const note = { action: isOver ? "blacklist.expire" : "blacklist.start", permission: "system.act" } as const;
        return [changedRecord(row, { status, ...(isOver && { activeKey: null }) }, note, tx.now)];
      });
      await records.changeAll(tx, changed);
      return changed.length;
    });
  }

  return {
    /** Bring every record's status up to the present time. For the job that runs each minute. */
    async expireDue(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      return await inBatches(batch, () => sweepBatch(call));
    },
  };
}
