import type { GuildInfo, MemberState } from "../../../discord/guild-state.ts";
import type { RosterEntry } from "../../../generated/sqlite/client.ts";
import type { Access } from "../../permissions/access/access-directory.ts";
import { factsOf, type RosterFacts, type ShownFacts } from "../facts.ts";
import type { RosterExtras, RosterStep } from "../records.ts";
import type { RosterEventName } from "../states.ts";

/** The rank of a staff role; undefined for one that is not configured. */
export type RankOf = (key: string) => number | undefined;

/** What the guilds show, with lists as the database takes them. */
export interface Shown extends ShownFacts {
  held_roles: string[];
}

/** What an entry says the guilds showed; `held_roles` null: never brought in step. */
export interface Stored extends Omit<Shown, "held_roles"> {
  held_roles: string[] | null;
}

/** What brings an entry in step. Without steps only a first look is kept: nothing has changed yet. */
export interface Following {
  steps: RosterStep[];
  extras: RosterExtras;
}

/** How an entry follows. */
export interface FollowOptions {
  /** The staff role it comes to, where it follows at all; without, it moves only with what was gained or lost. */
  staffRole?: string | null;
}

/** Their staff role follows Discord; everybody else's stays, and the difference is only shown. */
const followed: ReadonlySet<string> = new Set(["trial", "active", "inactive"]);

export function followsDiscord({ status }: Pick<RosterEntry, "status">): boolean {
  return followed.has(status);
}

/** Those who are to hold the Discord role of a staff role. */
const working: ReadonlySet<string> = new Set(["trial", "active", "loa", "probation", "inactive"]);

export function isWorking({ status }: Pick<RosterEntry, "status">): boolean {
  return working.has(status);
}

/** Whether somebody is still on the roster although they lost every staff role they had. Whether they leave it is for a person to decide. */
export function hasLostRoles(
  entry: Pick<RosterEntry, "status" | "staffRole">,
  { status, isBot }: Pick<Access, "status" | "isBot">,
): boolean {
  return isWorking(entry) && entry.staffRole === null && (status === "former" || (isBot && status === null));
}

/** What the guilds show of somebody; null when nothing at all is known of them. */
export function shownOf({ members, held }: Pick<Access, "members" | "held">, guilds: readonly GuildInfo[]): Shown | null {
  if (members.length === 0) return null;
  const present = presentIn(members, guilds);
  const mapped = new Set(held.flatMap(({ refs }) => refs.map((ref) => ref.split(":")[0])));
  const named = present.find(({ guildId }) => mapped.has(guildId)) ?? present[0];
  return {
    held_roles: held.map(({ role }) => role.key).toSorted(),
    in_guild: present.length > 0,
    nickname: named === undefined ? null : nameOf(named),
  };
}

/** The memberships that count, the oldest guild first. */
export function presentIn(members: readonly MemberState[], guilds: readonly GuildInfo[]): MemberState[] {
  const there = new Set(guilds.flatMap(({ id, present }) => (present ? [id] : [])));
  const found = members.filter(({ guildId, present }) => present && there.has(guildId));
  return found.toSorted((a, b) => (BigInt(a.guildId) < BigInt(b.guildId) ? -1 : 1));
}

/** The name a guild shows. */
export function nameOf({ nick, globalName, username }: Pick<MemberState, "nick" | "globalName" | "username">): string {
  return nick ?? globalName ?? username;
}

export function storedOf({ heldRoles, inGuild, nickname }: RosterEntry): Stored {
  return { held_roles: Array.isArray(heldRoles) ? heldRoles.map(String) : null, in_guild: inGuild, nickname };
}

/**
 * What brings an entry in step with what the guilds show.
 * @returns null when nothing differs, and for somebody without entry who holds no staff role
 */
export function stepsFor(
  entry: RosterEntry | null,
  shown: Shown,
  rankOf: RankOf,
  at: Date,
  { staffRole: wanted }: FollowOptions = {},
): Following | null {
  if (entry === null) return shown.held_roles.length === 0 ? null : { steps: [hired(shown, rankOf, at)], extras: extrasOf(shown, at) };
  const stored = storedOf(entry);
  // Who is in no guild is shown by no name; the last one is kept.
  const now = shown.in_guild ? shown : { ...shown, nickname: stored.nickname };
  const facts = factsOf(entry);
  const [was, isFirst] = [stored.held_roles ?? now.held_roles, stored.held_roles === null];
  const given = wanted === undefined && isFirst && facts.staff_role === null ? highestOf(now.held_roles, rankOf) : wanted;
  const staffRole = followsDiscord(entry) ? staffRoleAfter(facts.staff_role, was, now.held_roles, rankOf, given) : facts.staff_role;
  const steps = [
    ...roleSteps(facts, was, now.held_roles),
    ...staffRoleSteps(facts, staffRole, rankOf),
    ...(isFirst ? [] : shownSteps({ ...facts, staff_role: staffRole }, stored, now)),
  ];
  return steps.length === 0 && !isFirst ? null : { steps, extras: extrasOf(now, at) };
}

/** The one with the highest rank; null without any. Roles that are not configured stand below all others. */
export function highestOf(keys: readonly string[], rankOf: RankOf): string | null {
  const [highest] = keys.toSorted((a, b) => (rankOf(b) ?? -1) - (rankOf(a) ?? -1) || (a < b ? -1 : 1));
  return highest ?? null;
}

function hired(shown: Shown, rankOf: RankOf, at: Date): RosterStep {
  const after: RosterFacts = {
    status: "active",
    status_before: null,
    trial_ends_at: null,
    suspended_until: null,
    joined_at: at.toISOString(),
    ended_at: null,
    origin_reference: null,
    staff_role: highestOf(shown.held_roles, rankOf),
    department: null,
    supervisor_id: null,
  };
  return { event: "hired", after };
}

function staffRoleAfter(
  current: string | null,
  was: readonly string[],
  held: readonly string[],
  rankOf: RankOf,
  wanted: string | null | undefined,
): string | null {
  if (wanted !== undefined) return wanted;
  if (current !== null && was.includes(current) && !held.includes(current)) return highestOf(held, rankOf);
  const gained = highestOf(missingFrom(was, held), rankOf);
  if (gained === null) return current;
  const isHigher = current === null || (rankOf(gained) ?? -1) > (rankOf(current) ?? -1);
  return isHigher ? gained : current;
}

/** A line for each role: gained ones first, so that who changes from one to another is never without. */
function roleSteps(after: RosterFacts, was: readonly string[], held: readonly string[]): RosterStep[] {
  let now = was.toSorted();
  const line = (event: RosterEventName, next: string[]): RosterStep => {
    const shown = { before: { held_roles: now }, after: { held_roles: next } };
    now = next;
    return { event, after, shown };
  };
  return [
    ...missingFrom(was, held).map((key) => line("role_added", [...now, key].toSorted())),
    ...missingFrom(held, was).map((key) =>
      line(
        "role_removed",
        now.filter((one) => one !== key),
      ),
    ),
  ];
}

function staffRoleSteps(facts: RosterFacts, staffRole: string | null, rankOf: RankOf): RosterStep[] {
  if (staffRole === facts.staff_role) return [];
  const rank = (key: string | null): number => (key === null ? -2 : (rankOf(key) ?? -1));
  const event = rank(staffRole) >= rank(facts.staff_role) ? "promoted" : "demoted";
  return [{ event, after: { ...facts, staff_role: staffRole } }];
}

function shownSteps(after: RosterFacts, stored: Stored, now: Shown): RosterStep[] {
  const rows = [
    { event: "synced", field: "in_guild" },
    { event: "renamed", field: "nickname" },
  ] as const;
  return rows.flatMap(({ event, field }) =>
    stored[field] === now[field]
      ? []
      : [{ event, after, shown: { before: { [field]: stored[field] }, after: { [field]: now[field] } } } satisfies RosterStep],
  );
}

function extrasOf({ held_roles, in_guild, nickname }: Shown, at: Date): RosterExtras {
  return { heldRoles: held_roles, inGuild: in_guild, nickname, syncedAt: at };
}

/** What the second list has and the first has not, sorted. */
function missingFrom(first: readonly string[], second: readonly string[]): string[] {
  return second.filter((key) => !first.includes(key)).toSorted();
}
