import { say } from "../../../kit/say.ts";
import { createChecks, type ChecksDeps, type Checks } from "../checks/checks.ts";
import type { SomeEffects, Blocker, Reversal, Approval, Done, Json, Effect } from "./types.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import type { CallsignsService } from "../../callsigns/callsigns.service.ts";
import type { Undone } from "../../../kernel/undo.ts";
import { noteOf, untilOf, dayOrNone, dayOf } from "./words.ts";
import { z } from "zod";
import type { Tx } from "../../../database/database.ts";
import type { WorkflowEffect } from "../../../generated/sqlite/client.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import type { StaffService } from "../../staff/staff.service.ts";
import { can } from "../../../kernel/call.ts";
import type { RosterService } from "../../roster/roster.service.ts";
import type { EffectInputs } from "./inputs.ts";
import { givingBlockers, type Giving } from "./giving.ts";
import { reasonOf, noHold } from "../requests/changes.ts";
import type { Deps } from "../../deps.ts";
import { statusAt, wholeRequest, wholeRequests, type RequestChanges, type Request } from "../requests/workflows.policy.ts";
import type { PermissionKey } from "../../../kernel/permissions.ts";
import { stepOf } from "../requests/steps.ts";
import { tellOf } from "../requests/told.ts";
import type { EventType } from "../../events/types.ts";
import { isOpenStatus, openStatuses } from "../state/table.ts";
import { lockKept } from "../requests/attempt.ts";
import { remindAtOf } from "../requests/timers.ts";

type HoldEffectDeps = Deps<"audit" | "events" | "reach">;

interface Change {
  action: "hold" | "release";
  event: EventType;
  changes: RequestChanges;
  reason: string;
  permission: PermissionKey;
  actorId: string | null;
}

const key = "recruitment.hold";
const notHeld = { isHeld: false, ...noHold };

/** What approvals do to other open requests: while somebody is listed, nobody recruits them by mistake. */
function createHoldEffects({ audit, events, reach }: HoldEffectDeps): SomeEffects<typeof key> {
  async function write(tx: Tx, row: Request, { action, event, changes, reason, permission, actorId }: Change): Promise<void> {
    const revision = row.revision + 1;
    const data = { ...changes, revision, updatedAt: tx.now };
    await tx.db.workflowRequest.update({
      where: { id: row.id },
      data: { ...data, remindAt: remindAtOf({ ...row, ...data } as unknown as Request) },
    });
    const { id: requestId, reference, status } = row;
    await tx.db.workflowStep.create({ data: stepOf(tx, row, { action, actorId, to: status, noteInternal: reason }) });
    const about = row.subjects.find(({ kind }) => kind === "user")?.subjectId;
    const target = { kind: "workflow", id: requestId, reference };
    audit.record(tx, { action: `workflow.${action}`, target, ...(about !== undefined && { subjectUserId: about }), reason, permission });
    tellOf(events, tx, event, row, { status, action });
  }

  async function hold({ tx, request, permission, actorId }: Approval, row: Request): Promise<Done> {
    const target = { kind: "workflow", id: row.id, reference: row.reference };
    // Beside this one: when the other request is reversed, the hold passes on.
    if (row.isHeld && row.holdReference !== null)
      return { status: "done", target, detail: say("workflows.an-open-recruitment-is-held-already"), undo: {} };
    if (row.isHeld) return { status: "skipped", target, detail: say("workflows.somebody-holds-an-open-recruitment-already") };
    const reason = `Approval of ${request.reference}`;
    const changes = { isHeld: true, holdBy: null, holdAt: tx.now, holdReason: reason, holdReference: request.reference };
    await write(tx, row, { action: "hold", event: "workflow.held", changes, reason, permission, actorId });
    return { status: "done", target, detail: say("workflows.an-open-recruitment-is-held"), undo: {} };
  }

  async function release({ tx, request, reason, permission, actorId }: Reversal, row: Request): Promise<Undone> {
    if (!row.isHeld || !isOpenStatus(row.status)) return { restored: true, detail: say("workflows.the-recruitment-was-not-held-any-more") };
    if (row.holdReference !== request.reference) {
      return { restored: row.holdReference !== null, detail: say("workflows.somebody-else-holds-the-recruitment-and-that") };
    }
    const heir = await heirOf(tx, row, request.id);
    const changes = heir === null ? notHeld : { holdReason: `Approval of ${heir}`, holdReference: heir };
    const action = heir === null ? "release" : "hold";
    const event = heir === null ? "workflow.updated" : "workflow.held";
    await write(tx, row, { action, event, changes, reason, permission, actorId });
    return {
      restored: true,
      detail:
        heir === null ? say("workflows.the-recruitment-is-not-held-any-more") : say("workflows.another-request-holds-the-recruitment-now"),
    };
  }

  async function concerned({ tx }: Approval, { userId }: EffectInputs[typeof key]): Promise<Request[]> {
    return await openRecruitments(tx, [userId, ...(await reach.linkedAccountsOf(tx.db, userId))]);
  }

  return {
    [key]: {
      preview: say("workflows.their-open-recruitment-requests-are-held"),
      /** Nothing is in the way; but their locks come before those of records and matches, as their own approvals take them. */
      async check(approval, input) {
        await concerned(approval, input);
        return [];
      },
      async apply(approval, input) {
        const rows = await concerned(approval, input);
        const done: Done[] = [];
        for (const row of rows) done.push(await hold(approval, row));
        return done.length > 0 ? done : [{ status: "skipped", detail: say("workflows.there-is-no-open-recruitment-request") }];
      },
      async undo(reversal, { targetId }) {
        const { tx, request } = reversal;
        // All of them before the first, in the one order.
        await lockKept(
          tx,
          request.effects.flatMap((one) => (one.key === key && one.targetId !== null ? [one.targetId] : [])),
        );
        const row = await wholeRequest(tx, await tx.db.workflowRequest.findUnique({ where: { id: targetId ?? "" } }));
        return row === null ? { restored: true, detail: say("workflows.the-recruitment-request-is-gone") } : await release(reversal, row);
      },
    },
  };
}

/** The open recruitment requests about some people, each locked. */
async function openRecruitments(tx: Tx, userIds: readonly string[]): Promise<Request[]> {
  const subjects = { some: { kind: "user", subjectId: { in: [...userIds] } } };
  const where = { type: "recruitment", status: { in: [...openStatuses] }, subjects };
  const found = await tx.db.workflowRequest.findMany({ where, select: { id: true } });
  const ids = found.map(({ id }) => id);
  if (ids.length === 0) return [];
  await lockKept(tx, ids);
  const open = await tx.db.workflowRequest.findMany({ where: { ...where, id: { in: ids } }, orderBy: { id: "asc" } });
  const rows = await wholeRequests(tx, open);
  return rows.filter((row) => isOpenStatus(statusAt(row, tx.now)));
}

/** Another request whose approval holds the same since the hold began: what somebody released stays released; null when there is none. */
async function heirOf(tx: Tx, held: Request, requestId: string): Promise<string | null> {
  const found = await tx.db.workflowEffect.findFirst({
    where: {
      key,
      status: "done",
      targetId: held.id,
      requestId: { not: requestId },
      ...(held.holdAt !== null && { at: { gte: held.holdAt } }),
    },
    orderBy: { at: "asc" },
    select: { request: { select: { reference: true } } },
  });
  return found?.request.reference ?? null;
}

type RosterKeys = "roster.demote" | "roster.probation" | "roster.suspend" | "roster.terminate" | "roster.trial";
type Move = Parameters<RosterService["moveInTx"]>[2];
type Wanted = Omit<Move, "causeReference" | "permission" | "reason">;

interface RosterEffectDeps {
  roster: Pick<RosterService, "find" | "whyNotBegin" | "beginTrialInTx" | "moveInTx" | "undoInTx">;
  staff: Pick<StaffService, "staffRoleOf" | "mappedRolesHeldBy">;
  permissions: Giving;
}

/** What approvals do to entries of the roster. */
function createRosterEffects({ roster, staff, permissions }: RosterEffectDeps, checks: Checks): SomeEffects<RosterKeys> {
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
