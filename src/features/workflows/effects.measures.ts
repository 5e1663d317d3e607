import type { z } from "zod";
import type { WorkflowEffect } from "../../generated/sqlite/client.ts";
import { addSeconds } from "../../kernel/clock.ts";
import type { StaffService } from "../staff/staff.service.ts";
import type { Approval, Done, Json, Reversal, SomeEffects } from "./effects.types.ts";
import type { Undone } from "../../kernel/undo.ts";
import { noteOf, untilOf, untilText } from "./effects.words.ts";
import type { InvestigationPayload } from "./workflows.payloads.ts";

export type MeasureKeys = "interim.measure" | "staff.suspend";
type Investigation = z.output<typeof InvestigationPayload>;

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

  /** How each measure takes permissions away; the subject's id and the end come from the request. */
  const taken = {
    suspend_permissions: (approval: Approval, userId: string, until: Date) =>
      staff.suspendWithin(approval.tx, { ...quietly(approval), userId, until }),
    remove_from_queue: (approval: Approval, userId: string, until: Date) =>
      staff.denyWithin(approval.tx, { ...quietly(approval), userId, permissions: queuePermissions, until }),
  };

  return {
    "staff.suspend": {
      preview: "Their permissions are taken away meanwhile.",
      async apply(approval) {
        const until = untilOf(approval.payload, approval.from);
        const result = await staff.suspendWithin(approval.tx, { ...noteOf(approval), userId: String(approval.payload["user_id"]), until });
        return [doneOf(result, `Their permissions are taken away ${untilText(until)}.`)];
      },
      undo: lift,
    },
    "interim.measure": {
      preview: ({ interim }) =>
        interim === "remove_from_queue" ? "They no longer work on requests meanwhile." : "Their permissions are taken away meanwhile.",
      async apply(approval) {
        const { subject, interim } = approval.payload as Investigation;
        if (subject.kind === "server" || interim === "none")
          return [{ status: "skipped", detail: "A server has no permissions to take away." }];
        const until = interimEnd(approval);
        const what = interim === "remove_from_queue" ? "They no longer work on requests" : "Their permissions are taken away";
        return [doneOf(await taken[interim](approval, subject.id, until), `${what} ${untilText(until)}.`)];
      },
      undo(reversal, effect) {
        const { interim } = reversal.payload as Investigation;
        if (interim === "suspend_permissions") return lift(reversal, effect);
        return staff.undoDenyWithin(reversal.tx, effect.undo, { reason: reversal.reason, permission: reversal.permission });
      },
    },
  };
}

function doneOf(result: { undo: Json } | { skipped: string }, detail: string): Done {
  return "skipped" in result ? { status: "skipped", detail: result.skipped } : { status: "done", detail, undo: result.undo };
}

/** An interim measure never lasts for good: until the investigation is due, else two weeks. */
function interimEnd({ tx, from, payload }: Approval): Date {
  const { due_at: dueAt } = payload as Investigation;
  const due = dueAt === undefined ? null : new Date(dueAt);
  return due !== null && due > tx.now ? due : addSeconds(from, interimSeconds);
}

/** Who it is about sees the entry, and others read the audit: neither learns of a confidential request from it. */
function quietly(approval: Approval) {
  const { confidential } = approval.payload as Investigation;
  return confidential ? { ...noteOf(approval), causeReference: "confidential", reason: "An interim measure" } : noteOf(approval);
}
