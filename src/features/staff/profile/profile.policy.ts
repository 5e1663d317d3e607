import type { GuildState } from "../../../discord/guild-state.ts";
import { can, type Call } from "../../../kernel/call.ts";
import { isoOrNull } from "../../../kernel/fields.ts";
import { createVisibility, noClearance, seesRedactions, type Clearance, type FieldClasses } from "../../../kernel/visibility.ts";
import type { Override, Access } from "../../permissions/access/access-directory.ts";
import { presentUser, staffPolicy } from "../staff.policy.ts";
import type { ActivityView, DisciplineView, ProfileView, SuspensionView } from "./profile.schema.ts";
import { leaveAt, type ProfileRow } from "./store.ts";
import { isQuietAt, type QuietHours } from "../quiet-hours.ts";

/** What of a profile is for whom: the person themselves, readers of profiles, of statistics and of discipline. */
const fields: FieldClasses<ProfileView> = {
  user: "public",
  level: "public",
  rank: "public",
  status: "public",
  staff_roles: "public",
  department: "public",
  timezone: "public",
  availability: "public",
  quiet_hours: "requester",
  leave: { from: "public", until: "public", reason: "requester" },
  guilds: "staff",
  roster: "public",
  callsigns: "public",
  role_history: "staff",
  activity: "decider",
  discipline: "confidential",
  revision: "public",
};
const visible = createVisibility(fields);

/** What this caller is cleared for in the profile of somebody. */
export function clearanceFor(call: Call, userId: string): Clearance {
  const staff = can(call, staffPolicy.profile);
  return {
    ...noClearance,
    requester: staff || call.actor?.id === userId,
    staff,
    decider: can(call, staffPolicy.stats),
    confidential: can(call, staffPolicy.discipline),
  };
}

/** The profile without what this viewer may not see. */
export function visibleProfile(call: Call, view: ProfileView): ProfileView {
  return visible(view, clearanceFor(call, view.user.id), seesRedactions(call));
}

/** What a profile is made from besides its row and the access. */
interface ProfileParts {
  guilds: ReturnType<GuildState["guilds"]>;
  now: Date;
  /** How they stand on the roster, and how they came there. */
  employment?: Pick<ProfileView, "roster" | "callsigns" | "role_history"> | undefined;
  activity?: ActivityView | undefined;
  discipline?: DisciplineView | undefined;
}

/** The whole profile. What leaves goes through {@link visibleProfile}. */
export function presentProfile(
  access: Access,
  row: ProfileRow,
  { guilds, now, employment, activity, discipline }: ProfileParts,
): ProfileView {
  const names = new Map(guilds.map((guild) => [guild.id, guild.name]));
  const leave = leaveAt(row, now);
  return {
    user: presentUser(access),
    level: access.level,
    rank: access.rank,
    status: access.status ?? "former",
    staff_roles: access.held.map(({ role: { key, name, rank, level } }) => ({ key, name, rank, level })),
    department: row.department,
    timezone: row.timezone,
    availability: availabilityOf(row),
    quiet_hours: quietHoursOf(row),
    leave: leave === null ? null : { from: leave.from.toISOString(), until: isoOrNull(leave.until), reason: row.leaveReason },
    guilds: access.members.map(({ guildId, nick, joinedAt, present }) => ({
      guild_id: guildId,
      name: names.get(guildId) ?? null,
      nick,
      joined_at: isoOrNull(joinedAt),
      present,
    })),
    ...employment,
    ...(activity !== undefined && { activity }),
    ...(discipline !== undefined && { discipline }),
    revision: row.revision,
  };
}

export function quietHoursOf({ quietHours }: Pick<ProfileRow, "quietHours">): QuietHours[] {
  return (quietHours ?? []) as QuietHours[];
}

export function availabilityOf({ availability }: Pick<ProfileRow, "availability">): ProfileView["availability"] {
  return availability === "unavailable" ? "unavailable" : "available";
}

/** Whether somebody can be asked at a moment: on duty, by their own word, and not in their quiet hours. */
export function isAvailable(access: Access, row: ProfileRow | undefined, at: Date): boolean {
  if (access.status !== "active" || access.isBarred) return false;
  if (row === undefined) return true;
  return availabilityOf(row) === "available" && !isQuietAt(quietHoursOf(row), row.timezone, at);
}

export function presentSuspension(entry: Override | undefined): SuspensionView | null {
  if (entry === undefined) return null;
  const { id, reason, createdBy, createdAt, expiresAt } = entry;
  return { id, reason, by: createdBy, at: createdAt.toISOString(), until: isoOrNull(expiresAt) };
}
