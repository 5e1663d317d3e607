import { tellOf } from "./told.ts";
import type { Database, Tx } from "../../../database/database.ts";
import { inBatches } from "../../../kernel/pause.ts";
import { requirePermission, type Call } from "../../../kernel/call.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { EventsService } from "../../events/events.service.ts";
import { openStatuses } from "../state/table.ts";
import type { WorkflowRequest, WorkflowSubject } from "../../../generated/sqlite/client.ts";
import { remindAtOf, remindersOf, toldWith } from "./timers.ts";

const batch = 100;

export interface ReminderParts {
  database: Database;
  events: Pick<EventsService, "emit">;
  clock: Clock;
}

/** Tells of open requests that wait longer than they should. What is over expires and is not reminded of. */
export function createReminders({ database, events, clock }: ReminderParts) {
  const dueAt = (now: Date) => ({
    status: { in: [...openStatuses] },
    remindAt: { lte: now },
    OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
  });

  function tell(tx: Tx, row: WorkflowRequest & { subjects: WorkflowSubject[] }): number {
    const due = remindersOf(row).filter(([, at]) => at <= tx.now);
    for (const [reminder, at] of due) {
      const said = { status: row.status, reminder, due_at: at.toISOString(), assignee_id: row.assigneeId };
      tellOf(events, tx, "workflow.overdue", row, said);
    }
    return due.length;
  }

  /** @returns how many requests were looked at, and how many reminders were given */
  async function remindBatch(call: Call): Promise<{ seen: number; given: number }> {
    const found = await database.read.workflowRequest.findMany({
      where: dueAt(clock.now()),
      select: { id: true },
      orderBy: [{ remindAt: "asc" }, { id: "asc" }],
      take: batch,
    });
    if (found.length === 0) return { seen: 0, given: 0 };
    // In the order of their ids, as everybody who locks several takes them.
    const ids = found.map(({ id }) => id).toSorted();
    return await database.write(call, async (tx) => {
      let given = 0;
      for (const id of ids) await tx.lock(`workflow:${id}`);
      const rows = await tx.db.workflowRequest.findMany({ where: { id: { in: ids }, ...dueAt(tx.now) }, include: { subjects: true } });
      for (const row of rows) {
        given += tell(tx, row);
        const told = toldWith(row, tx.now);
        await tx.db.workflowRequest.update({
          where: { id: row.id },
          data: { told, remindAt: remindAtOf({ ...row, told }) },
          select: { id: true },
        });
      }
      return { seen: found.length, given };
    });
  }

  return {
    /** Tell of what waits too long, each thing once; returns how many reminders were given. For the job that runs each minute. */
    async remind(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      let total = 0;
      await inBatches(batch, async () => {
        const { seen, given } = await remindBatch(call);
        total += given;
        return seen;
      });
      return total;
    },
  };
}
