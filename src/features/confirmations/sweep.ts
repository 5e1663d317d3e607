import type { Database, Tx } from "../../database/database.ts";
import { inBatches } from "../../kernel/batches.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { ConfirmationRecords } from "./records.ts";

const batch = 100;

/** What time does to held changes. */
export function createSweep({ database, records, clock }: { database: Database; records: ConfirmationRecords; clock: Clock }) {
  async function expireBatch(call: Call): Promise<number> {
    const ids = await database.read.confirmation.findMany({
      where: { status: "pending", expiresAt: { lte: clock.now() } },
      select: { id: true },
      orderBy: { id: "asc" },
      take: batch,
    });
    if (ids.length === 0) return 0;
    return database.write(call, async (tx) => {
      let expired = 0;
      for (const { id } of ids) {
        const row = await records.read(tx, id);
        if (row.status !== "pending") continue;
        await records.change(tx, row, { verb: "expire", status: "expired" });
        expired += 1;
      }
      return expired;
    });
  }

  return {
    async endAbout(tx: Tx, userId: string): Promise<void> {
      const where = { subjectUserId: userId, status: "pending", NOT: { id: tx.call.confirmation ?? "" } };
      const pending = await tx.db.confirmation.findMany({ where, select: { id: true }, orderBy: { id: "asc" } });
      for (const { id } of pending) {
        const row = await records.read(tx, id);
        if (row.status === "pending") await records.change(tx, row, { verb: "expire", status: "expired" });
      }
    },

    /** End held changes that nobody confirmed in time; returns how many. For the job that runs each minute. */
    async expireDue(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      return await inBatches(batch, () => expireBatch(call));
    },
  };
}
