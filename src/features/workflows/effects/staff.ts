import { say } from "../../../kit/say.ts";
import { createChecks, type ChecksDeps } from "../checks/checks.ts";
import { createHoldEffects, type HoldEffectDeps } from "./holds.ts";
import { createRosterEffects, type RosterEffectDeps, type RosterKeys } from "./roster.ts";
import type { SomeEffects, Blocker, Reversal, Approval, Done, Json } from "./types.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import type { CallsignsService } from "../../callsigns/callsigns.service.ts";
import type { Undone } from "../../../kernel/undo.ts";
import { noteOf, untilOf, dayOrNone } from "./words.ts";
import { z } from "zod";
import type { Tx } from "../../../database/database.ts";
import type { WorkflowEffect } from "../../../generated/sqlite/client.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import type { StaffService } from "../../staff/staff.service.ts";

type Keys = CallsignKeys | MeasureKeys | RosterKeys | "recruitment.hold";

export type StaffEffectDeps = CallsignEffectDeps & ChecksDeps & HoldEffectDeps & MeasureEffectDeps & RosterEffectDeps;

/** What approvals do to people: their place on the roster, their callsigns, their permissions, and recruitments of them. */
export function createStaffEffects(parts: StaffEffectDeps): SomeEffects<Keys> {
  return {
    ...createCallsignEffects(parts),
    ...createHoldEffects(parts),
    ...createMeasureEffects(parts),
    ...createRosterEffects(parts, createChecks(parts)),
  };
}

export type CallsignKeys = "callsign.allocate" | "callsign.hold";

export interface CallsignEffectDeps {
  callsigns: Pick<CallsignsService, "knowsPool" | "peekInTx" | "allocateInTx" | "holdAllInTx" | "undoInTx">;
}

/** What approvals do to callsigns. */
export function createCallsignEffects({ callsigns }: CallsignEffectDeps): SomeEffects<CallsignKeys> {
  const undo = ({ tx, request, permission, reason }: Reversal, { undo: left }: { undo: unknown }): Promise<Undone> =>
    callsigns.undoInTx(tx, left, { causeReference: request.reference, permission, reason });

  return {
    "callsign.allocate": {
      preview: ({ pool }) => say("workflows.they-are-given-a-callsign-of-the", { pool }),
      async check(approval, wish): Promise<Blocker[]> {
        if (!(await callsigns.knowsPool(approval.tx.db, wish.pool))) {
          return [{ code: "unknown_pool", detail: say("workflows.there-is-no-pool-of-callsigns-named", { pool: wish.pool }) }];
        }
        try {
          await callsigns.peekInTx(approval.tx.db, wish);
          return [];
        } catch (error) {
          if (!(error instanceof ProblemError)) throw error;
          return [{ code: error.code, detail: error.detail ?? say("workflows.the-pool-has-no-free-callsign", { pool: wish.pool }) }];
        }
      },
      async apply(approval, wish) {
        const { slot, reused, undo: left } = await callsigns.allocateInTx(approval.tx, { ...wish, ...noteOf(approval) });
        const detail = reused
          ? say("workflows.they-keep-the-callsign", { callsign: slot.callsign })
          : say("workflows.they-have-the-callsign", { callsign: slot.callsign });
        const target = { kind: "callsign", id: slot.id, reference: slot.callsign };
        return [{ status: "done", target, detail, undo: left, memo: slot.callsign }];
      },
      undo,
    },
    "callsign.hold": {
      preview: say("workflows.their-callsigns-rest-nobody-else-gets-the"),
      async apply(approval, { userId }) {
        const { held, callsigns: names, undo: left } = await callsigns.holdAllInTx(approval.tx, userId, noteOf(approval));
        if (held === 0) return [{ status: "skipped", detail: say("workflows.they-have-no-callsign") }];
        return [{ status: "done", detail: say("workflows.resting-now", { names: names.join(", ") }), undo: left }];
      },
      undo,
    },
  };
}

export type MeasureKeys = "interim.measure" | "staff.suspend";
type Measure = ReturnType<typeof noteOf> & { userId: string; until: Date };
/** What is left of permissions that were denied. */
const Denied = z.object({ entry_ids: z.array(z.string()) });

export interface MeasureEffectDeps {
  staff: Pick<StaffService, "suspendInTx" | "undoSuspendInTx" | "denyInTx" | "undoDenyInTx">;
}

/** What somebody who is kept from the queue may not do meanwhile. */
const queuePermissions = ["workflows.claim", "workflows.review"];
const interimSeconds = 14 * 86_400;

/** What approvals do to the permissions of people. */
export function createMeasureEffects({ staff }: MeasureEffectDeps): SomeEffects<MeasureKeys> {
  const lift = ({ tx, reason, permission }: Reversal, { undo }: WorkflowEffect): Promise<Undone> =>
    staff.undoSuspendInTx(tx, undo, { reason, permission });

  /** How each measure takes permissions away. */
  const taken = {
    suspend_permissions: (tx: Tx, measure: Measure) => staff.suspendInTx(tx, measure),
    remove_from_queue: (tx: Tx, measure: Measure) => staff.denyInTx(tx, { ...measure, permissions: queuePermissions }),
  };

  return {
    "staff.suspend": {
      preview: say("workflows.their-permissions-are-taken-away-meanwhile"),
      async apply(approval, { userId, length }) {
        const until = untilOf(length, approval.from);
        const result = await staff.suspendInTx(approval.tx, { ...noteOf(approval), userId, until });
        return [doneOf(result, say("workflows.permissions-taken", { at: dayOrNone(until) }))];
      },
      undo: lift,
    },
    "interim.measure": {
      preview: ({ measure }) =>
        measure === "remove_from_queue"
          ? say("workflows.they-no-longer-work-on-requests-meanwhile")
          : say("workflows.their-permissions-are-taken-away-meanwhile"),
      async apply(approval, { subject, confidential, measure, dueAt }) {
        if (subject.kind === "server") return [{ status: "skipped", detail: say("workflows.a-server-has-no-permissions-to-take") }];
        const until = interimEnd(approval, dueAt);
        const told = measure === "remove_from_queue" ? "workflows.no-requests" : "workflows.permissions-taken";
        const note = confidential ? quietly(approval) : noteOf(approval);
        return [doneOf(await taken[measure](approval.tx, { ...note, userId: subject.id, until }), say(told, { at: dayOrNone(until) }))];
      },
      /** What was taken away says which of the two it was. */
      undo(reversal, row) {
        if (!Denied.safeParse(row.undo).success) return lift(reversal, row);
        return staff.undoDenyInTx(reversal.tx, row.undo, { reason: reversal.reason, permission: reversal.permission });
      },
    },
  };
}

function doneOf(result: { undo: Json } | { skipped: string }, detail: string): Done {
  return "skipped" in result ? { status: "skipped", detail: result.skipped } : { status: "done", detail, undo: result.undo };
}

/** An interim measure never lasts permanently: until the investigation is due, else two weeks. */
function interimEnd({ tx, from }: Approval, dueAt: Date | null): Date {
  return dueAt !== null && dueAt > tx.now ? dueAt : addSeconds(from, interimSeconds);
}

/** Who it is about sees the entry, and others read the audit: neither learns of a confidential request from it. */
function quietly(approval: Approval) {
  return { ...noteOf(approval), causeReference: "confidential", reason: "An interim measure" };
}
