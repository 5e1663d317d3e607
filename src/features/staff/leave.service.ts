import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import { firstOf } from "../../database/earliest.ts";
import { requirePermission, requireWrite, type Call } from "../../kernel/call.ts";
import { fieldError } from "../../kernel/errors.ts";
import { sweepIsolated } from "../../kernel/isolated.ts";
import { requireRevision } from "../../kernel/revision.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { Leave, Access, AccessDirectory } from "../permissions/access/access-directory.ts";
import type { RosterService } from "../roster/roster.service.ts";
import { EndLeaveInput, endOf, StartLeaveInput, type LeaveStateView } from "./duty/duty.schema.ts";
import { findColleague, illegal, permissionUsed, requireMayManage, staffPolicy, withoutAccess } from "./staff.policy.ts";
import { hasBegunUntold, leaveAt, noLeave, wireLeave, type ProfileRow, type ProfileStore } from "./profile/store.ts";

export interface LeavesDeps extends Deps<"database" | "events" | "clock" | "logger"> {
  audit: AuditService;
  access: Pick<AccessDirectory, "resolve">;
  permissions: Pick<PermissionsService, "requireRankAbove">;
  roster: Pick<RosterService, "leaveInTx">;
  profiles: ProfileStore;
}

const yearMs = 366 * 86_400_000;
const batch = 100;

/** Leave of absence: staff take and end their own, others are managed. */
export function createLeavesService({ database, audit, events, access, permissions, roster, profiles, clock, logger }: LeavesDeps) {
  async function write(tx: Tx, target: Access, before: ProfileRow, wanted: Partial<ProfileRow>, note: Note): Promise<LeaveStateView> {
    const { leaveFrom, leaveUntil, leaveReason, leaveBy } = { ...noLeave, ...wanted };
    const after = await profiles.change(tx, before, { leaveFrom, leaveUntil, leaveReason, leaveBy });
    await follow(tx, before, after);
    audit.record(tx, {
      action: `staff.${note.change}`,
      user: target.id,
      ...(note.reason !== undefined && { reason: note.reason }),
      before: { leave: wireLeave(leaveAt(before, tx.now)) },
      after: { leave: wireLeave(leaveAt(after, tx.now)) },
      ...permissionUsed(tx.call, target.id),
    });
    events.emit(tx, { type: "staff.access_changed", data: { user_id: target.id, change: note.change } });
    return present(target, after, tx.now);
  }

  /** A leave that begins or ends now is one on the roster, too; a planned one is not yet. */
  async function follow(tx: Tx, before: ProfileRow, after: ProfileRow): Promise<void> {
    const { userId } = after;
    const permission = staffPolicy.manage;
    if (isRunning(leaveAt(before, tx.now), tx.now) && after.leaveFrom === null)
      await roster.leaveInTx(tx, userId, { permission, event: "loa_ended", at: tx.now });
    if (after.leaveFrom !== null && after.leaveFrom <= tx.now)
      await roster.leaveInTx(tx, userId, { permission, event: "loa_started", at: after.leaveFrom });
  }

  /** End leaves that are over, and tell of those that have begun. */
  const endDueLeaves = (call: Call, userIds: readonly string[]): Promise<number> =>
    database.write(call, async (tx) => {
      for (const userId of userIds) {
        const row = await profiles.open(tx, userId);
        if (hasBegunUntold(row, tx.now)) await profiles.change(tx, row, {});
      }
      return userIds.length;
    });

  return {
    /**
     * Begin a leave or plan one; a planned one is replaced.
     * @throws ProblemError record_not_found, hierarchy_violation, invalid_transition, validation_failed
     */
    async startLeave(call: Call, userId: string, given: StartLeaveInput): Promise<LeaveStateView> {
      requireWrite(call, staffPolicy.manage, { own: userId });
      const input = StartLeaveInput.parse(given);
      const target = await findColleague(access, userId);
      requireMayManage(call, target, permissions, { isOwnAllowed: true });
      return await database.write(call, async (tx) => {
        const leave = leaveWanted(input, tx.now);
        const before = await profiles.open(tx, userId);
        // Under the lock it is later than at the start of the transaction: a leave begun meanwhile has begun.
        const now = clock.now();
        if (target.status === "former") throw illegal("former", "loa_start", []);
        if (isRunning(leaveAt(before, now), now)) throw illegal("loa", "loa_start", ["loa_end"]);
        const { reason } = input;
        const wanted = { leaveFrom: leave.from, leaveUntil: leave.until, leaveReason: reason, leaveBy: call.actor?.id ?? null };
        return await write(tx, target, before, wanted, { change: "loa_start", reason });
      });
    },

    /**
     * End the leave that runs, or call off the planned one.
     * @throws ProblemError record_not_found, hierarchy_violation, precondition_failed, invalid_transition
     */
    async endLeave(call: Call, userId: string, given: EndLeaveInput = {}, ifMatch?: number): Promise<LeaveStateView> {
      requireWrite(call, staffPolicy.manage, { own: userId });
      const { reason } = EndLeaveInput.parse(given);
      const target = await findColleague(access, userId);
      return await database.write(call, async (tx) => {
        const before = await profiles.open(tx, userId);
        requireMayEnd(call, target, before, permissions);
        requireRevision(ifMatch, before.revision);
        if (leaveAt(before, tx.now) === null) throw illegal(target.status, "loa_end", ["loa_start"]);
        return await write(tx, target, before, noLeave, { change: "loa_end", ...(reason !== undefined && { reason }) });
      });
    },

    /** Bring every leave up to the present time; returns how many were due. For the job that runs each minute. */
    async settleLeaves(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      const now = clock.now();
      const begun = await database.read.staffProfile.findMany({ where: { leaveFrom: { lte: now } } });
      const due = begun.filter((row) => leaveAt(row, now) === null || hasBegunUntold(row, now)).map(({ userId }) => userId);
      return await sweepIsolated<string>({
        size: batch,
        find: (after) => {
          const from = after === undefined ? 0 : due.indexOf(after) + 1;
          return Promise.resolve(due.slice(from, from + batch));
        },
        work: (userIds) => endDueLeaves(call, userIds),
        logger,
        failure: "a leave could not be begun or ended; it is tried again in a minute",
        idsOf: (userId) => ({ user_id: userId }),
      });
    },

    /** When the next leave begins or ends. */
    async nextDue(): Promise<Date | null> {
      const now = clock.now();
      const rows = await database.read.staffProfile.findMany({ where: { leaveFrom: { not: null } } });
      return firstOf(...rows.map((row) => (hasBegunUntold(row, now) || isPlanned(row, now) ? row.leaveFrom : row.leaveUntil)));
    },
  };
}

interface Note {
  change: "loa_start" | "loa_end";
  reason?: string;
}

function isPlanned({ leaveFrom }: ProfileRow, now: Date): boolean {
  return leaveFrom !== null && leaveFrom > now;
}

/** @throws ProblemError validation_failed */
function leaveWanted(input: StartLeaveInput, now: Date): Leave {
  const from = input.from === undefined ? now : new Date(input.from);
  if (Math.abs(from.getTime() - now.getTime()) > yearMs) throw fieldError("/from", "too_far", say("staff.a-leave-begins-within-a-year-of"));
  const until = endOf(input, from);
  if (until !== null && (until <= from || until <= now))
    throw fieldError(input.duration === undefined ? "/until" : "/duration", "too_early", say("staff.a-leave-ends-after-it-begins-and"));
  return { from, until };
}

/** Anyone who is barred by nothing but a leave they took themselves may come back from it. */
function requireMayEnd(call: Call, target: Access, row: ProfileRow, permissions: LeavesDeps["permissions"]): void {
  const isOwn = call.actor?.id === target.id;
  if (!isOwn || !target.isBarred) return requireMayManage(call, target, permissions, { isOwnAllowed: true });
  const isLeaveAlone = !target.reasons.some(({ code }) => code === "suspension" || code === "blacklist");
  if (!isLeaveAlone || row.leaveBy !== target.id) throw withoutAccess();
}

function isRunning(leave: Leave | null, now: Date): boolean {
  return leave !== null && leave.from <= now;
}

function present(target: Access, row: ProfileRow, now: Date): LeaveStateView {
  const leave = leaveAt(row, now);
  const status = target.status === "suspended" || target.status === "former" ? target.status : isRunning(leave, now) ? "loa" : "active";
  const wire = wireLeave(leave);
  return { user_id: target.id, status, leave: wire === null ? null : { ...wire, reason: row.leaveReason }, revision: row.revision };
}
