import type { Database } from "../../database/database.ts";
import { inBatches } from "../../kernel/batches.ts";
import type { Call } from "../../kernel/call.ts";
import { requirePermission } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { AuditService } from "../audit/audit.service.ts";
import { openStatuses } from "./transition.ts";

const batch = 100;

/** What time does to open requests. */
export function createExpiry({ database, audit, clock }: { database: Database; audit: AuditService; clock: Clock }) {
  async function expireBatch(call: Call): Promise<number> {
    const due = { status: { in: [...openStatuses] }, expiresAt: { lte: clock.now() } };
    const rows = await database.read.workflowRequest.findMany({
      where: due,
      select: { id: true, reference: true, status: true },
      orderBy: { id: "asc" },
      take: batch,
    });
    if (rows.length === 0) return 0;
    return database.write(call, async (tx) => {
      let expired = 0;
      for (const { id, reference, status } of rows) {
        const data = { status: "expired", updatedAt: tx.now, revision: { increment: 1 } };
        const { count } = await tx.db.workflowRequest.updateMany({ where: { id, status, expiresAt: { lte: tx.now } }, data });
        if (count === 0) continue;
        audit.record(tx, {
          action: "workflow.expire",
          target: { kind: "workflow", id, reference },
          before: { status },
          after: { status: "expired" },
          permission: "system.act",
        });
        expired += 1;
      }
      return expired;
    });
  }

  return {
    /** End open requests past their end; returns how many. For the job that runs each minute. */
    async expireDue(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      return await inBatches(batch, () => expireBatch(call));
    },
  };
}
