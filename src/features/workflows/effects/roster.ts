import { say } from "../../../kit/say.ts";
import { can } from "../../../kernel/call.ts";
import type { StaffService } from "../../staff/staff.service.ts";
import type { RosterService } from "../../roster/roster.service.ts";
import type { Checks } from "../checks/checks.ts";
import type { EffectInputs } from "./inputs.ts";
import type { Approval, Blocker, Done, Effect, Reversal, SomeEffects } from "./types.ts";
import type { Undone } from "../../../kernel/undo.ts";
import { givingBlockers, type Giving } from "./giving.ts";
import { dayOf, noteOf, untilOf, dayOrNone } from "./words.ts";
import { reasonOf } from "../requests/changes.ts";

export type RosterKeys = "roster.demote" | "roster.probation" | "roster.suspend" | "roster.terminate" | "roster.trial";
type Move = Parameters<RosterService["moveInTx"]>[2];
type Wanted = Omit<Move, "causeReference" | "permission" | "reason">;

export interface RosterEffectDeps {
  roster: Pick<RosterService, "find" | "whyNotBegin" | "beginTrialInTx" | "moveInTx" | "undoInTx">;
  staff: Pick<StaffService, "staffRoleOf" | "mappedRolesHeldBy">;
  permissions: Giving;
}

/** What approvals do to entries of the roster. */
export function createRosterEffects({ roster, staff, permissions }: RosterEffectDeps, checks: Checks): SomeEffects<RosterKeys> {
  const undo = ({ tx, request, permission, reason }: Reversal, { undo: left }: { undo: unknown }): Promise<Undone> =>
    roster.undoInTx(tx, left, { causeReference: request.reference, permission, reason });

  async function move(approval: Approval, userId: string, wanted: Wanted, detail: string): Promise<Done[]> {
    const moved = await roster.moveInTx(approval.tx, userId, { ...wanted, ...noteOf(approval) });
    if ("skipped" in moved) return [{ status: "skipped", detail: moved.skipped }];
    return [{ status: "done", target: { kind: "roster_entry", id: moved.entry.id }, detail, undo: moved.undo }];
  }

  /** Somebody on the roster waits, until an end or until it is lifted. */
  const halting = (
    to: "suspended" | "probation",
    preview: string,
    told: "workflows.suspended-on-roster" | "workflows.on-probation",
  ): Effect<EffectInputs["roster.suspend"]> => ({
    preview,
    apply(approval, { userId, length }) {
      const until = untilOf(length, approval.from);
      return move(approval, userId, { event: "suspended", to, until }, say(told, { at: dayOrNone(until) }));
    },
    undo,
  });

  return {
    "roster.trial": {
      preview: ({ trialDays: days }) =>
        days === 0 ? say("workflows.they-join-the-roster") : say("workflows.they-join-the-roster-on-a-trial", { days }),
      async check(approval, { userId, roleKey }) {
        const { tx, request } = approval;
        const refusal = roster.whyNotBegin(await roster.find(tx.db, userId), {
          isCorrection: await isCorrection(approval, userId, roster),
        });
        const failed = (await checks.of(tx.db, userId, tx.now, request.reference)).filter(({ result }) => result === "fail");
        return [
          ...givingBlockers(permissions, tx.call, [{ userId, roleKey }]),
          ...(refusal === null ? [] : [{ code: "roster_refuses", detail: refusal }]),
          // What the roster itself refuses cannot be waived, and stands above already.
          ...failed.flatMap(({ key, detail }): Blocker[] => (key === "roster" ? [] : [{ code: "check_failed", detail, isWaivable: true }])),
        ];
      },
      async apply(approval, { userId, roleKey, department, trialDays }) {
        const { tx, request } = approval;
        const fresh = await checks.of(tx.db, userId, tx.now, request.reference);
        await tx.db.workflowRequest.update({ where: { id: request.id }, data: { checks: fresh } });
        const begun = await roster.beginTrialInTx(tx, {
          ...noteOf(approval),
          userId,
          staffRole: roleKey,
          department,
          trialDays,
          isCorrection: await isCorrection(approval, userId, roster),
        });
        const { trialEndsAt } = begun.entry;
        const detail =
          trialEndsAt === null
            ? say("workflows.they-are-on-the-roster")
            : say("workflows.they-are-on-the-roster-on-trial", { day: dayOf(trialEndsAt) });
        return [{ status: "done", target: { kind: "roster_entry", id: begun.entry.id }, detail, undo: begun.undo }];
      },
      undo,
    },
    "roster.probation": halting("probation", say("workflows.they-are-put-on-probation"), "workflows.on-probation"),
    "roster.suspend": halting("suspended", say("workflows.they-are-suspended-on-the-roster"), "workflows.suspended-on-roster"),
    "roster.demote": {
      preview: ({ roleKey }) => say("workflows.their-staff-role-becomes", { role: roleKey ?? "none" }),
      async check(approval, { userId, roleKey }) {
        const role = roleKey ?? "";
        const entry = await roster.find(approval.tx.db, userId);
        const held = [entry?.staffRole ?? "", ...staff.mappedRolesHeldBy(userId).map(({ staffRole }) => staffRole)];
        const from = Math.max(...held.map((key) => staff.staffRoleOf(key)?.rank ?? -1));
        const to = staff.staffRoleOf(role);
        const isDownward = to === undefined || to.rank < from || to.key === entry?.staffRole;
        return [
          ...givingBlockers(permissions, approval.tx.call, [{ userId, roleKey: role }]),
          ...(isDownward ? [] : [{ code: "no_demotion", detail: say("workflows.the-staff-role-is-not-below-the") }]),
        ];
      },
      apply: (approval, { userId, roleKey }) =>
        move(
          approval,
          userId,
          { event: "demoted", staffRole: roleKey },
          say("workflows.their-staff-role-on-the-roster-is", { role: roleKey ?? "none" }),
        ),
      undo,
    },
    "roster.terminate": {
      preview: say("workflows.they-leave-the-roster"),
      apply: (approval, { userId }) => move(approval, userId, { event: "terminated" }, say("workflows.they-are-terminated-on-the-roster")),
      undo,
    },
  };
}

/**
 * Who was terminated comes back only when somebody who may put the roster right says why, or when the recruitment that a reversal
 * took back is put in force again.
 */
async function isCorrection({ tx, request, input }: Approval, userId: string, roster: Pick<RosterService, "find">): Promise<boolean> {
  if (reasonOf(input) !== null && can(tx.call, "roster.apply_fixes")) return true;
  const entry = await roster.find(tx.db, userId);
  return request.reversedAt !== null && entry?.originReference === request.reference;
}
