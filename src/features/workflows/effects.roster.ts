import type { z } from "zod";
import { can } from "../../kernel/call.ts";
import type { StaffService } from "../staff/staff.service.ts";
import type { RosterService } from "../roster/roster.service.ts";
import type { Checks } from "./checks.ts";
import { draftsOf } from "./effects.drafts.ts";
import { rankBlockers } from "./effects.ranks.ts";
import type { Approval, Blocker, Done, Effect, Reversal, SomeEffects } from "./effects.types.ts";
import type { Undone } from "../../kernel/undo.ts";
import { dayOf, noteOf, untilOf, untilText } from "./effects.words.ts";
import { reasonOf } from "./workflows.changes.ts";
import type { PunishmentPayload, RecruitmentPayload } from "./workflows.payloads.ts";

export type RosterKeys = "roster.demote" | "roster.probation" | "roster.suspend" | "roster.terminate" | "roster.trial";
type Recruitment = z.output<typeof RecruitmentPayload>;
type Move = Parameters<RosterService["moveWithin"]>[2];
type Wanted = Omit<Move, "causeReference" | "permission" | "reason">;

export interface RosterEffectParts {
  roster: Pick<RosterService, "find" | "whyNotBegin" | "beginTrialWithin" | "moveWithin" | "undoWithin">;
  staff: Pick<StaffService, "staffRoleOf">;
}

/** What approvals do to entries of the roster. */
export function createRosterEffects({ roster, staff }: RosterEffectParts, checks: Checks): SomeEffects<RosterKeys> {
  const undo = ({ tx, request, permission, reason }: Reversal, { undo: left }: { undo: unknown }): Promise<Undone> =>
    roster.undoWithin(tx, left, { causeReference: request.reference, permission, reason });

  async function move(approval: Approval, wanted: Wanted, detail: string): Promise<Done[]> {
    const userId = String(approval.payload["user_id"]);
    const moved = await roster.moveWithin(approval.tx, userId, { ...wanted, ...noteOf(approval) });
    if ("skipped" in moved) return [{ status: "skipped", detail: moved.skipped }];
    return [{ status: "done", target: { kind: "roster_entry", id: moved.entry.id }, detail, undo: moved.undo }];
  }

  /** Somebody on the roster waits, until an end or until it is lifted. */
  const halting = (to: "suspended" | "probation", preview: string, told: string): Effect => ({
    preview,
    apply(approval) {
      const until = haltedUntil(approval);
      return move(approval, { event: "suspended", to, until }, `${told} ${untilText(until)}.`);
    },
    undo,
  });

  return {
    "roster.trial": {
      preview: ({ trial_days: days }) =>
        days === 0 ? "They join the roster." : `They join the roster on a trial of ${String(days)} days.`,
      async check(approval) {
        const { tx, payload, request } = approval;
        const refusal = roster.whyNotBegin(await roster.find(tx.db, String(payload["user_id"])), {
          isCorrection: await isCorrection(approval, roster),
        });
        const failed = (await checks.of(tx.db, payload, tx.now, request.reference)).filter(({ result }) => result === "fail");
        return [
          ...rankBlockers(staff, approval, [String(payload["position"])]),
          ...(refusal === null ? [] : [{ code: "roster_refuses", detail: refusal }]),
          // What the roster itself refuses cannot be waived, and stands above already.
          ...failed.flatMap(({ key, detail }): Blocker[] => (key === "roster" ? [] : [{ code: "check_failed", detail, isWaivable: true }])),
        ];
      },
      async apply(approval) {
        const { tx, request } = approval;
        const { user_id: userId, position, department, trial_days: trialDays } = approval.payload as Recruitment;
        const fresh = await checks.of(tx.db, approval.payload, tx.now, request.reference);
        await tx.db.workflowRequest.update({ where: { id: request.id }, data: { checks: fresh } });
        const begun = await roster.beginTrialWithin(tx, {
          ...noteOf(approval),
          userId,
          staffRole: position,
          department,
          trialDays,
          isCorrection: await isCorrection(approval, roster),
        });
        const { trialEndsAt } = begun.entry;
        const detail = trialEndsAt === null ? "They are on the roster." : `They are on the roster, on trial until ${dayOf(trialEndsAt)}.`;
        return [{ status: "done", target: { kind: "roster_entry", id: begun.entry.id }, detail, undo: begun.undo }];
      },
      undo,
    },
    "roster.probation": halting("probation", "They are put on probation.", "They are on probation"),
    "roster.suspend": halting("suspended", "They are suspended on the roster.", "They are suspended on the roster"),
    "roster.demote": {
      preview: ({ demote_to: role }) => `Their staff role becomes ${String(role)}.`,
      async check(approval) {
        const { user_id: userId, demote_to: role = "" } = approval.payload as z.output<typeof PunishmentPayload>;
        const held = (await roster.find(approval.tx.db, userId))?.staffRole ?? "";
        const [from, to] = [staff.staffRoleOf(held), staff.staffRoleOf(role)];
        const isUpward = from !== undefined && to !== undefined && to.rank >= from.rank && to.key !== from.key;
        return [
          ...rankBlockers(staff, approval, [role]),
          ...(isUpward ? [{ code: "no_demotion", detail: "The staff role is not below the one they have." }] : []),
        ];
      },
      apply(approval) {
        const role = (approval.payload as z.output<typeof PunishmentPayload>).demote_to ?? null;
        return move(approval, { event: "demoted", staffRole: role }, `Their staff role on the roster is ${role ?? "none"}.`);
      },
      undo,
    },
    "roster.terminate": {
      preview: "They leave the roster.",
      apply: (approval) => move(approval, { event: "terminated" }, "They are terminated on the roster."),
      undo,
    },
  };
}

/** As long as the record that somebody is listed by, or as the payload says. */
function haltedUntil(approval: Approval): Date | null {
  if (approval.type === "blacklist-user") return draftsOf(approval)[0]?.expiresAt ?? null;
  return untilOf(approval.payload, approval.from);
}

/**
 * Who was terminated comes back only when somebody who may put the roster right says why, or when the recruitment that a reversal
 * took back is put in force again.
 */
async function isCorrection({ tx, request, payload, input }: Approval, roster: Pick<RosterService, "find">): Promise<boolean> {
  if (reasonOf(input) !== null && can(tx.call, "roster.apply_fixes")) return true;
  const entry = await roster.find(tx.db, String(payload["user_id"]));
  return request.reversedAt !== null && entry?.originReference === request.reference;
}
