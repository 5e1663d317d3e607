import type { Tx } from "../../database/database.ts";
import type { Prisma } from "../../generated/sqlite/client.ts";
import { recordNotFound } from "../../kernel/errors.ts";
import { requireRevision } from "../../kernel/revision.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import { confirmationsPermission } from "./confirmations.policy.ts";
import { canSee } from "./rights.ts";
import { answersOf, statusAt, titleOf, withoutInput, type Answer, type ConfirmationRow } from "./rows.ts";
import { needs, type ConfirmationView, type Need } from "./confirmations.schema.ts";

/** One step of a held change; without a status it stays pending. */
interface Step {
  /** The audit action after `confirmation.`. */
  verb: "accept" | "decline" | "expire" | "fail";
  status?: "applied" | "declined" | "expired" | "failed";
  /** What the caller said, when a person took the step. */
  answer?: Answer["as"];
  /** Who has to confirm after it. */
  needs?: readonly Need[];
  failure?: string;
  reason?: string | undefined;
}

/** What people say, as which answer it is kept, and while it counts. */
const sayings: Readonly<Record<"yes" | "no", { as: readonly Answer["as"][]; countsIn: readonly ConfirmationView["status"][] }>> = {
  yes: { as: needs, countsIn: ["pending", "applied"] },
  no: { as: ["declined"], countsIn: ["declined"] },
};

export type ConfirmationRecords = ReturnType<typeof createConfirmationRecords>;

/** The rows of held changes: every step is one update with its audit entry and, at the end, its event. */
export function createConfirmationRecords({ audit, events }: { audit: AuditService; events: Pick<EventsService, "emit"> }) {
  /**
   * Hold every change that waits until the end. A transaction that decides on one, or ends several, takes this lock first and those of what is changed
   * after it, so that two never wait for each other.
   */
  const lock = (tx: Tx): Promise<void> => tx.lock("confirmations");

  async function read(tx: Tx, id: string): Promise<ConfirmationRow> {
    await lock(tx);
    return await tx.db.confirmation.findUniqueOrThrow({ where: { id }, omit: withoutInput });
  }

  return {
    lock,
    /** The row under the lock. */
    read,

    /**
     * The row under the lock, when the caller may know of it and can say something about it.
     * @param wanted what they want to say: where they have said it already, and it counts, it is to be answered again
     * @throws ProblemError record_not_found, precondition_failed
     */
    async open(tx: Tx, id: string, wanted: keyof typeof sayings, ifMatch?: number): Promise<{ row: ConfirmationRow; isSaid: boolean }> {
      const row = await read(tx, id);
      if (!canSee(tx.call, row)) throw recordNotFound();
      requireRevision(ifMatch, row.revision);
      const status = statusAt(row, tx.now);
      const { as, countsIn } = sayings[wanted];
      const isSaid = countsIn.includes(status) && answersOf(row).some((one) => one.user_id === tx.call.actor?.id && as.includes(one.as));
      if (!isSaid && status !== "pending") throw recordNotFound();
      return { row, isSaid };
    },

    async change(tx: Tx, row: ConfirmationRow, step: Step): Promise<ConfirmationRow> {
      const changed = await tx.db.confirmation.update({ where: { id: row.id }, data: dataOf(tx, row, step), omit: withoutInput });
      audit.record(tx, {
        action: `confirmation.${step.verb}`,
        target: { kind: "confirmation", id: row.id },
        ...(row.subjectUserId !== null && { subjectUserId: row.subjectUserId }),
        ...(step.reason !== undefined && { reason: step.reason }),
        before: { status: row.status, needs: row.needs },
        after: {
          action: row.action,
          status: changed.status,
          needs: changed.needs,
          ...(step.failure !== undefined && { failure: step.failure }),
        },
        permission: step.verb === "expire" ? "system.act" : confirmationsPermission,
      });
      if (step.status !== undefined) events.emit(tx, { type: "confirmation.ended", data: { id: row.id, status: step.status } });
      return changed;
    },
  };
}

function dataOf(tx: Tx, row: ConfirmationRow, step: Step): Prisma.ConfirmationUpdateInput {
  const { status, answer, needs, failure } = step;
  return {
    revision: { increment: 1 },
    ...(status !== undefined && { status, endedAt: tx.now }),
    ...(status !== undefined && titleOf(row) !== row.summary && { summary: titleOf(row), input: {} }),
    ...(needs !== undefined && { needs: [...needs] }),
    ...(failure !== undefined && { failure }),
    ...(answer !== undefined && { answers: [...answersOf(row), ...answerOf(tx, answer, step.reason)] }),
  };
}

/** What the caller says now; nobody says anything in the name of the service itself. */
export function answerOf({ call, now }: Tx, as: Answer["as"], reason?: string): Answer[] {
  if (call.actor === null) return [];
  return [
    {
      user_id: call.actor.id,
      as,
      at: now.toISOString(),
      ...(call.guildId !== undefined && { guild_id: call.guildId }),
      ...(call.makers !== undefined && { makers: [...call.makers] }),
      ...(reason !== undefined && { reason }),
    },
  ];
}
