import type { Database } from "../../../database/database.ts";
import { inBatches } from "../../../kernel/pause.ts";
import { requirePermission, type Call } from "../../../kernel/call.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { AuditService } from "../../audit/audit.service.ts";
import type { EventsService } from "../../events/events.service.ts";
import { openStatuses } from "../state/table.ts";
import { noHold } from "./changes.ts";
import { tellOf } from "./told.ts";

const batch = 100;

export interface ExpiryParts {
  database: Database;
  audit: Pick<AuditService, "record">;
  events: Pick<EventsService, "emit">;
  clock: Clock;
}

/** What time does to open requests. */
export function createExpiry({ database, audit, events, clock }: ExpiryParts) {
  async function expireBatch(call: Call): Promise<number> {
    const due = { status: { in: [...openStatuses] }, expiresAt: { lte: clock.now() } };
    const rows = await database.read.workflowRequest.findMany({
      where: due,
      select: { id: true, reference: true, type: true, status: true, revision: true, subjects: true },
      orderBy: { id: "asc" },
      take: batch,
    });
    if (rows.length === 0) return 0;
    return database.write(call, async (tx) => {
      let expired = 0;
      for (const row of rows) {
        const { id, reference, status, revision } = row;
        await tx.lock(`workflow:${id}`);
        const data = { status: "expired", isHeld: false, ...noHold, updatedAt: tx.now, remindAt: null, revision: revision + 1 };
        const { count } = await tx.db.workflowRequest.updateMany({ where: { id, revision, expiresAt: { lte: tx.now } }, data });
        if (count === 0) continue;
        const step = {
          requestId: id,
          revision: revision + 1,
          action: "expire",
          via: tx.call.via,
          at: tx.now,
          from: status,
          to: "expired",
          data: {},
        };
        await tx.db.workflowStep.createMany({ data: [step] });
        tellOf(events, tx, "workflow.expired", row, { status: "expired", action: "expire" });
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
