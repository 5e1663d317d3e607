import type { ReadClient } from "../../../database/database.ts";
import { isoOrNull } from "../../../kernel/fields.ts";
import type { EmploymentView, RoleChangeView } from "./profile.schema.ts";

const maxChanges = 20;

/** The entry of somebody on the roster, in short; null: they are not on it. */
export async function readEmployment(db: ReadClient, userId: string): Promise<EmploymentView | null> {
  const entry = await db.rosterEntry.findUnique({ where: { userId } });
  if (entry === null) return null;
  return {
    status: entry.status,
    staff_role: entry.staffRole,
    department: entry.department,
    supervisor_id: entry.supervisorId,
    joined_at: isoOrNull(entry.joinedAt),
    trial_ends_at: isoOrNull(entry.trialEndsAt),
    suspended_until: isoOrNull(entry.suspendedUntil),
    ended_at: isoOrNull(entry.endedAt),
  };
}

/** The callsigns that somebody has now. */
export async function readCallsigns(db: ReadClient, userId: string): Promise<string[]> {
  const where = { userId, state: "assigned" };
  return (await db.callsignSlot.findMany({ where, select: { callsign: true }, orderBy: { callsign: "asc" } })).map(
    ({ callsign }) => callsign,
  );
}

/** How the staff role of somebody changed, newest first. */
export async function readRoleChanges(db: ReadClient, userId: string): Promise<RoleChangeView[]> {
  const rows = await db.rosterEvent.findMany({
    where: { userId, OR: [{ formerRole: { not: null } }, { staffRole: { not: null } }] },
    select: { event: true, formerRole: true, staffRole: true, actorId: true, effectiveAt: true },
    orderBy: [{ effectiveAt: "desc" }, { id: "desc" }],
    take: maxChanges,
  });
  return rows.map(({ event, formerRole, staffRole, actorId, effectiveAt }) => ({
    event,
    from: formerRole,
    to: staffRole,
    by: actorId,
    since: effectiveAt.toISOString(),
  }));
}
