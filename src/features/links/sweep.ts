import type { Database } from "../../database/database.ts";
import { inBatches } from "../../kernel/batches.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import { linksPolicy } from "./links.policy.ts";
import type { LinkRecords } from "./records.ts";
import { ending } from "./rows.ts";

const batch = 100;
const reviewPassed = "Nobody looked at it again in time.";

/** What time does to links: a suspicion ends, what is probable or confirmed only waits to be looked at. */
export function createSweep({ database, records, clock }: { database: Database; records: LinkRecords; clock: Clock }) {
  async function sweepBatch(call: Call): Promise<number> {
    const due = { status: "active", confidence: "suspected", reviewAt: { lte: clock.now() } };
    const waiting = await database.read.accountLink.findMany({ where: due, select: { id: true }, orderBy: { id: "asc" }, take: batch });
    if (waiting.length === 0) return 0;
    return await database.write(call, async (tx) => {
      await records.lock(tx);
      const rows = await tx.db.accountLink.findMany({ where: { ...due, id: { in: waiting.map(({ id }) => id) } } });
      for (const row of rows) {
        const note = { verb: "expire", userId: row.userA, permission: linksPolicy.sweep, reason: reviewPassed } as const;
        await records.change(tx, row, ending(tx, reviewPassed), note);
      }
      return rows.length;
    });
  }

  return {
    /** End the suspicions nobody looked at again. For the job that runs each minute. @returns how many */
    async expireDue(call: Call): Promise<number> {
      requirePermission(call, linksPolicy.sweep);
      return await inBatches(batch, () => sweepBatch(call));
    },
  };
}
