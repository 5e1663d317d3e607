import type { Deps } from "../../deps.ts";
import { stepOf } from "./steps.ts";
import { tellOf } from "./told.ts";
import type { Tx } from "../../../database/database.ts";
import { earliestOf } from "../../../database/earliest.ts";
import { inBatches } from "../../../kernel/pause.ts";
import { requirePermission, type Call } from "../../../kernel/call.ts";
import { openStatuses } from "../state/table.ts";
import type { WorkflowRequest, WorkflowSubject } from "../../../generated/sqlite/client.ts";
import { remindAtOf, remindersOf, toldWith } from "./timers.ts";
import { noHold } from "./changes.ts";

const batch = 100;

export type ReminderDeps = Deps<"database" | "events" | "clock">;

/** Tells of open requests that wait longer than they should. What is over expires and is not reminded of. */
export function createReminders({ database, events, clock }: ReminderDeps) {
  const dueAt = (now: Date) => ({
    status: { in: [...openStatuses] },
    remindAt: { lte: now },
    OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
  });

  function emitDue(tx: Tx, row: WorkflowRequest & { subjects: WorkflowSubject[] }): number {
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
        given += emitDue(tx, row);
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

    /** When the next reminder of a request is due. */
    nextReminder: (): Promise<Date | null> => earliestOf(database.read, "WorkflowRequest", "remindAt"),
  };
}

export type ExpiryDeps = Deps<"database" | "audit" | "events" | "clock">;

/** What time does to open requests. */
export function createExpiry({ database, audit, events, clock }: ExpiryDeps) {
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
        await tx.db.workflowStep.createMany({ data: [stepOf(tx, row, { action: "expire", to: "expired" })] });
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

    /** When the next open request ends. */
    nextExpiry: (): Promise<Date | null> =>
      earliestOf(
        database.read,
        "WorkflowRequest",
        "expiresAt",
        openStatuses.map((status) => ({ status })),
      ),
  };
}
