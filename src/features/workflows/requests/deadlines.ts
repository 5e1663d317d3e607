import type { Deps } from "../../deps.ts";
import { stepOf } from "./steps.ts";
import { tellOf } from "./told.ts";
import type { Tx } from "../../../database/database.ts";
import { earliestOf } from "../../../database/earliest.ts";
import { requirePermission, type Call } from "../../../kernel/call.ts";
import { sweepIsolated } from "../../../kernel/isolated.ts";
import { openStatuses } from "../state/table.ts";
import type { WorkflowRequest, WorkflowSubject } from "../../../generated/sqlite/client.ts";
import { remindAtOf, remindersOf, toldWith } from "./timers.ts";
import { noHold } from "./changes.ts";

const batch = 100;

export type ReminderDeps = Deps<"database" | "events" | "clock" | "logger">;

type DueReminder = Pick<WorkflowRequest, "id" | "remindAt">;

/** Tells of open requests that wait longer than they should. What is over expires and is not reminded of. */
export function createReminders({ database, events, clock, logger }: ReminderDeps) {
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

  const findDue = (after: DueReminder | undefined): Promise<DueReminder[]> => {
    const behind = after && {
      OR: [{ remindAt: { gt: after.remindAt ?? clock.now() } }, { remindAt: after.remindAt, id: { gt: after.id } }],
    };
    return database.read.workflowRequest.findMany({
      where: { AND: [dueAt(clock.now()), behind ?? {}] },
      select: { id: true, remindAt: true },
      orderBy: [{ remindAt: "asc" }, { id: "asc" }],
      take: batch,
    });
  };

  /** @returns how many reminders were given */
  const remindAll = (call: Call, found: readonly DueReminder[]): Promise<number> =>
    database.write(call, async (tx) => {
      // In the order of their ids, as everybody who locks several takes them.
      const ids = found.map(({ id }) => id).toSorted();
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
      return given;
    });

  return {
    /** Tell of what waits too long, each thing once; returns how many reminders were given. For the job that runs each minute. */
    async remind(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      return await sweepIsolated({
        size: batch,
        find: findDue,
        work: (found) => remindAll(call, found),
        logger,
        failure: "nobody could be reminded of a request; it is tried again in a minute",
        idsOf: ({ id }) => ({ workflow_request: id }),
      });
    },

    /** When the next reminder of a request is due. */
    nextReminder: (): Promise<Date | null> => earliestOf(database.read, "WorkflowRequest", "remindAt"),
  };
}

export type ExpiryDeps = Deps<"database" | "audit" | "events" | "clock" | "logger">;

type DueRequest = Pick<WorkflowRequest, "id" | "reference" | "type" | "status" | "revision"> & { subjects: WorkflowSubject[] };

/** What time does to open requests. */
export function createExpiry({ database, audit, events, clock, logger }: ExpiryDeps) {
  const findDue = (after: DueRequest | undefined): Promise<DueRequest[]> =>
    database.read.workflowRequest.findMany({
      where: { status: { in: [...openStatuses] }, expiresAt: { lte: clock.now() }, ...(after !== undefined && { id: { gt: after.id } }) },
      select: { id: true, reference: true, type: true, status: true, revision: true, subjects: true },
      orderBy: { id: "asc" },
      take: batch,
    });

  const expireAll = (call: Call, rows: readonly DueRequest[]): Promise<number> =>
    database.write(call, async (tx) => {
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

  return {
    /** End open requests past their end; returns how many. For the job that runs each minute. */
    async expireDue(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      return await sweepIsolated({
        size: batch,
        find: findDue,
        work: (rows) => expireAll(call, rows),
        logger,
        failure: "a request past its end could not be ended; it is tried again in a minute",
        idsOf: ({ id }) => ({ workflow_request: id }),
      });
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
