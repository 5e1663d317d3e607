import { z } from "zod";
import type { Tx } from "../../../database/database.ts";
import type { WorkflowEffect } from "../../../generated/sqlite/client.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import type { StaffService } from "../../staff/staff.service.ts";
import type { Approval, Done, Json, Reversal, SomeEffects } from "./types.ts";
import type { Undone } from "../../../kernel/undo.ts";
import { noteOf, untilOf, untilText } from "./words.ts";

export type MeasureKeys = "interim.measure" | "staff.suspend";
type Measure = ReturnType<typeof noteOf> & { userId: string; until: Date };
/** What is left of permissions that were denied. */
const Denied = z.object({ entry_ids: z.array(z.string()) });

export interface MeasureEffectParts {
  staff: Pick<StaffService, "suspendWithin" | "undoSuspendWithin" | "denyWithin" | "undoDenyWithin">;
}

/** What somebody who is kept from the queue may not do meanwhile. */
const queuePermissions = ["workflows.claim", "workflows.review"];
const interimSeconds = 14 * 86_400;

/** What approvals do to the permissions of people. */
export function createMeasureEffects({ staff }: MeasureEffectParts): SomeEffects<MeasureKeys> {
  const lift = ({ tx, reason, permission }: Reversal, { undo }: WorkflowEffect): Promise<Undone> =>
    staff.undoSuspendWithin(tx, undo, { reason, permission });

  /** How each measure takes permissions away. */
  const taken = {
    suspend_permissions: (tx: Tx, measure: Measure) => staff.suspendWithin(tx, measure),
    remove_from_queue: (tx: Tx, measure: Measure) => staff.denyWithin(tx, { ...measure, permissions: queuePermissions }),
  };

  return {
    "staff.suspend": {
      preview: "Their permissions are taken away meanwhile.",
      async apply(approval, { userId, length }) {
        const until = untilOf(length, approval.from);
        const result = await staff.suspendWithin(approval.tx, { ...noteOf(approval), userId, until });
        return [doneOf(result, `Their permissions are taken away ${untilText(until)}.`)];
      },
      undo: lift,
    },
    "interim.measure": {
      preview: ({ measure }) =>
        measure === "remove_from_queue" ? "They no longer work on requests meanwhile." : "Their permissions are taken away meanwhile.",
      async apply(approval, { subject, confidential, measure, dueAt }) {
        if (subject.kind === "server") return [{ status: "skipped", detail: "A server has no permissions to take away." }];
        const until = interimEnd(approval, dueAt);
        const what = measure === "remove_from_queue" ? "They no longer work on requests" : "Their permissions are taken away";
        const note = confidential ? quietly(approval) : noteOf(approval);
        return [doneOf(await taken[measure](approval.tx, { ...note, userId: subject.id, until }), `${what} ${untilText(until)}.`)];
      },
      /** What was taken away says which of the two it was. */
      undo(reversal, row) {
        if (!Denied.safeParse(row.undo).success) return lift(reversal, row);
        return staff.undoDenyWithin(reversal.tx, row.undo, { reason: reversal.reason, permission: reversal.permission });
      },
    },
  };
}

function doneOf(result: { undo: Json } | { skipped: string }, detail: string): Done {
  return "skipped" in result ? { status: "skipped", detail: result.skipped } : { status: "done", detail, undo: result.undo };
}

/** An interim measure never lasts for good: until the investigation is due, else two weeks. */
function interimEnd({ tx, from }: Approval, dueAt: Date | null): Date {
  return dueAt !== null && dueAt > tx.now ? dueAt : addSeconds(from, interimSeconds);
}

/** Who it is about sees the entry, and others read the audit: neither learns of a confidential request from it. */
function quietly(approval: Approval) {
  return { ...noteOf(approval), causeReference: "confidential", reason: "An interim measure" };
}
