import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import type { Tx } from "../../../database/database.ts";
import type { StaffProfile } from "../../../generated/sqlite/client.ts";
import type { AuditService } from "../../audit/audit.service.ts";
import type { Leave, AccessDirectory } from "../../permissions/access/access-directory.ts";
import type { RosterService } from "../../roster/roster.service.ts";
import type { QuietHours } from "../quiet-hours.ts";

/** What is kept about a colleague besides their roles; the revision is 0 while nothing was kept yet. */
export interface ProfileRow extends Omit<StaffProfile, "quietHours"> {
  quietHours: unknown;
}

export type ProfileChanges = Partial<Omit<ProfileRow, "userId" | "updatedAt" | "revision" | "quietHours">> & { quietHours?: QuietHours[] };

export const noLeave = { leaveFrom: null, leaveUntil: null, leaveReason: null, leaveBy: null } as const;
const beginning = new Date(0);

/** A profile of which nothing was kept yet. */
export function emptyProfile(userId: string): ProfileRow {
  return {
    userId,
    department: null,
    timezone: null,
    availability: "available",
    quietHours: null,
    ...noLeave,
    updatedAt: beginning,
    revision: 0,
  };
}

function leaveOf({ leaveFrom, leaveUntil }: Pick<ProfileRow, "leaveFrom" | "leaveUntil">): Leave | null {
  return leaveFrom === null ? null : { from: leaveFrom, until: leaveUntil };
}

function isOver(leave: Leave, now: Date): boolean {
  return leave.until !== null && leave.until <= now;
}

/** The leave that runs or is planned at a moment, whether or not the sweep has come by. */
export function leaveAt(row: ProfileRow, now: Date): Leave | null {
  const leave = leaveOf(row);
  return leave === null || isOver(leave, now) ? null : leave;
}

/** Whether a leave has begun since the profile was last written, which nobody was told of. */
export function hasBegunUntold(row: ProfileRow, now: Date): boolean {
  return row.leaveFrom !== null && row.leaveFrom <= now && row.leaveFrom > row.updatedAt;
}

/** A leave on the wire, as events and the audit tell it. */
export function wireLeave(leave: Leave | null): { from: string; until: string | null } | null {
  return leave === null ? null : { from: leave.from.toISOString(), until: leave.until?.toISOString() ?? null };
}

export interface ProfileStore {
  change(tx: Tx, row: ProfileRow, changes: ProfileChanges): Promise<ProfileRow>;
  find(userId: string): Promise<ProfileRow>;
  /** Read a profile to change it, under its lock. A leave that is over ends on the way; memory has what is read after the commit. */
  open(tx: Tx, userId: string): Promise<ProfileRow>;
}

export interface ProfileStoreDeps extends Deps<"database" | "events"> {
  audit: AuditService;
  access: Pick<AccessDirectory, "setLeave">;
  /** Their place on the roster follows a leave. */
  roster: Pick<RosterService, "leaveInTx">;
}

const byTime = { permission: "system.act", source: "time" } as const;

/** The rows of profiles: memory hears of every leave, and what time did to one is settled before anybody changes it. */
export function createProfileStore({ database, audit, events, access, roster }: ProfileStoreDeps): ProfileStore {
  async function change(tx: Tx, row: ProfileRow, changes: ProfileChanges): Promise<ProfileRow> {
    const { userId } = row;
    const { quietHours, ...others } = changes;
    const data = { ...others, ...(quietHours !== undefined && { quietHours: quietHours.map((one) => ({ ...one })) }), updatedAt: tx.now };
    const after = await tx.db.staffProfile.upsert({
      where: { userId },
      create: { userId, ...data },
      update: { ...data, revision: { increment: 1 } },
    });
    if (hasBegunUntold(row, tx.now) && row.leaveFrom !== null) {
      if (after.leaveFrom !== null) events.emit(tx, { type: "staff.access_changed", data: { user_id: userId, change: "loa_start" } });
      await roster.leaveInTx(tx, userId, { event: "loa_started", at: row.leaveFrom, ...byTime });
    }
    tx.afterCommit(() => access.setLeave(userId, leaveOf(after), after.revision));
    return after;
  }

  return {
    change,

    async find(userId: string): Promise<ProfileRow> {
      return (await database.read.staffProfile.findUnique({ where: { userId } })) ?? emptyProfile(userId);
    },

    async open(tx: Tx, userId: string): Promise<ProfileRow> {
      await tx.lock(`staff-profile:${userId}`);
      const row = (await tx.db.staffProfile.findUnique({ where: { userId } })) ?? emptyProfile(userId);
      const leave = leaveOf(row);
      tx.afterCommit(() => access.setLeave(userId, leave, row.revision));
      if (leave === null || !isOver(leave, tx.now)) return row;
      audit.record(tx, {
        action: "staff.loa_end",
        user: userId,
        reason: say("staff.the-leave-is-over"),
        before: { leave: wireLeave(leave) },
        after: { leave: null },
        permission: "system.act",
      });
      events.emit(tx, { type: "staff.access_changed", data: { user_id: userId, change: "loa_end" } });
      const after = await change(tx, row, noLeave);
      await roster.leaveInTx(tx, userId, { event: "loa_ended", at: leave.until ?? tx.now, ...byTime });
      return after;
    },
  };
}
