import { ProblemError } from "../../../kernel/errors.ts";
import type { CallsignsService } from "../../callsigns/callsigns.service.ts";
import type { Blocker, Reversal, SomeEffects } from "./types.ts";
import type { Undone } from "../../../kernel/undo.ts";
import { noteOf } from "./words.ts";

export type CallsignKeys = "callsign.allocate" | "callsign.hold";

export interface CallsignEffectParts {
  callsigns: Pick<CallsignsService, "knowsPool" | "peekWithin" | "allocateWithin" | "holdAllWithin" | "undoWithin">;
}

/** What approvals do to callsigns. */
export function createCallsignEffects({ callsigns }: CallsignEffectParts): SomeEffects<CallsignKeys> {
  const undo = ({ tx, request, permission, reason }: Reversal, { undo: left }: { undo: unknown }): Promise<Undone> =>
    callsigns.undoWithin(tx, left, { causeReference: request.reference, permission, reason });

  return {
    "callsign.allocate": {
      preview: ({ pool }) => `They are given a callsign of the pool ${pool}.`,
      async check(approval, wish): Promise<Blocker[]> {
        if (!(await callsigns.knowsPool(approval.tx.db, wish.pool))) {
          return [{ code: "unknown_pool", detail: `There is no pool of callsigns named ${wish.pool}: make it, or amend the request.` }];
        }
        try {
          await callsigns.peekWithin(approval.tx.db, wish);
          return [];
        } catch (error) {
          if (!(error instanceof ProblemError)) throw error;
          return [{ code: error.code, detail: error.detail ?? `The pool ${wish.pool} has no free callsign.` }];
        }
      },
      async apply(approval, wish) {
        const { slot, reused, undo: left } = await callsigns.allocateWithin(approval.tx, { ...wish, ...noteOf(approval) });
        const detail = reused ? `They keep the callsign ${slot.callsign}.` : `They have the callsign ${slot.callsign}.`;
        const target = { kind: "callsign", id: slot.id, reference: slot.callsign };
        return [{ status: "done", target, detail, undo: left, memo: slot.callsign }];
      },
      undo,
    },
    "callsign.hold": {
      preview: "Their callsigns rest: nobody else gets the numbers meanwhile.",
      async apply(approval, { userId }) {
        const { held, callsigns: names, undo: left } = await callsigns.holdAllWithin(approval.tx, userId, noteOf(approval));
        if (held === 0) return [{ status: "skipped", detail: "They have no callsign." }];
        return [{ status: "done", detail: `Resting now: ${names.join(", ")}.`, undo: left }];
      },
      undo,
    },
  };
}
