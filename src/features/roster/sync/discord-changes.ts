import { say } from "../../../kit/say.ts";
import type { GuildInfo, MemberState } from "../../../discord/guild-state.ts";
import type { RosterEntry } from "../../../generated/sqlite/client.ts";
import { roleRef } from "../../../kernel/ids.ts";
import type { Access, StaffRoleRecord } from "../../permissions/access/access-directory.ts";
import { isHalted, isLive } from "../states.ts";
import { nameOf, presentIn } from "./diff.ts";
import { nicknameFor } from "../../../kernel/nickname.ts";
import type { SyncChange, SyncMemberInput } from "./sync.schema.ts";

/** What the bot is asked to do about a member. */
export type Wish =
  | { kind: "role_add" | "role_remove"; guildId: string; roleId: string }
  | { kind: "nickname"; guildId: string; nickname: string };

/** One difference, and what puts it right in Discord; without a wish `reason` says why not. */
export interface DiscordChange {
  change: SyncChange;
  wish: Wish | null;
}

/** What the roster says of somebody, and what Discord shows. */
export interface DiscordFacts {
  entry: RosterEntry;
  person: Pick<Access, "members" | "held" | "isOwner">;
  guilds: readonly GuildInfo[];
  /** The staff role of the entry as it is configured. */
  role: StaffRoleRecord | undefined;
  /** Their callsign, with how nicknames of its pool are written. */
  callsign: { template: string; callsign: string } | null;
  apply: SyncMemberInput["apply"];
}

const ownersKeep = say("roster.an-owners-roles-are-not-taken-away");

/** What makes Discord what the roster says: roles are given before others are taken, and none that is not mapped is touched. */
export function discordChangesOf(facts: DiscordFacts): { changes: DiscordChange[]; warnings: string[] } {
  const { entry, role, apply } = facts;
  const warnings: string[] = [];
  const asksRoles = apply?.some((field) => field === "held_roles" || field === "staff_role") ?? false;
  const touchesRoles = asksRoles || (apply === undefined && !isHalted(entry));
  const members = presentIn(facts.person.members, facts.guilds);
  const changes: DiscordChange[] = [];
  if (isLive(entry) && role === undefined) warnings.push(say("roster.the-entry-names-no-staff-role-that"));
  else if (touchesRoles) changes.push(...(isLive(entry) && role !== undefined ? given(facts, role, members) : []), ...taken(facts));
  else if (isHalted(entry)) warnings.push(say("roster.the-entry-is-roles-are-left-as", { status: entry.status }));
  if (isLive(entry) && (apply?.includes("nickname") ?? true)) changes.push(...named(facts, members));
  if (members.length === 0) warnings.push(say("roster.the-person-is-in-none-of-the"));
  return { changes, warnings };
}

/** One of the mapped roles in every server in which the staff role is mapped and they hold none of them. */
function given({ entry }: DiscordFacts, role: StaffRoleRecord, members: readonly MemberState[]): DiscordChange[] {
  return members.flatMap(({ guildId, roleIds }) => {
    const mapped = role.discord.filter((one) => one.guildId === guildId);
    const [first] = mapped;
    if (first === undefined || mapped.some(({ roleId }) => roleIds.includes(roleId))) return [];
    const { roleId } = first;
    const change = { ...changeOf(guildId, roleId), discord: null, roster: entry.staffRole, action: "add_role" } as const;
    return [{ change, wish: { kind: "role_add", guildId, roleId } as const }];
  });
}

/** The mapped roles they hold that stand above their staff role: those at or below it are theirs as well. After leaving, every one. */
function taken({ entry, person, role }: DiscordFacts): DiscordChange[] {
  const own = isLive(entry) ? role : undefined;
  const keeps = own?.key;
  return person.held.flatMap(({ role: held, refs }) => {
    if (own !== undefined && held.rank <= own.rank) return [];
    const isKept = person.isOwner || held.level === "owner";
    return refs.map((ref): DiscordChange => {
      const [guildId = "", roleId = ""] = ref.split(":");
      const change = { ...changeOf(guildId, roleId), discord: held.key, roster: keeps ?? null, action: "remove_role" } as const;
      if (isKept) return { change: { ...change, reason: ownersKeep }, wish: null };
      return { change, wish: { kind: "role_remove", guildId, roleId } };
    });
  });
}

function named({ callsign, role }: DiscordFacts, members: readonly MemberState[]): DiscordChange[] {
  if (callsign === null || role === undefined) return [];
  const mapped = new Set(role.discord.map(({ guildId }) => guildId));
  return members.flatMap((member): DiscordChange[] => {
    const { guildId } = member;
    const nickname = nicknameFor(callsign.template, callsign.callsign, nameOf(member));
    if (!mapped.has(guildId) || nickname === nameOf(member)) return [];
    const change = { field: "nickname", discord: nameOf(member), roster: nickname, action: "set_nickname", guild_id: guildId } as const;
    return [{ change: { ...change, applied: false, reason: null }, wish: { kind: "nickname", guildId, nickname } }];
  });
}

function changeOf(guildId: string, roleId: string) {
  return { field: "held_roles", guild_id: guildId, role_id: roleId, applied: false, reason: null } as const;
}

/** The memberships as they are once these were done. */
export function afterwards(members: readonly MemberState[], wishes: readonly Wish[]): MemberState[] {
  return members.map((member) => wishes.filter(({ guildId }) => guildId === member.guildId).reduce(done, member));
}

function done(member: MemberState, wish: Wish): MemberState {
  if (wish.kind === "nickname") return { ...member, nick: wish.nickname };
  const others = member.roleIds.filter((roleId) => roleId !== wish.roleId);
  return { ...member, roleIds: wish.kind === "role_add" ? [...others, wish.roleId] : others };
}

/** The staff roles that memberships give. */
export function heldBy(members: readonly MemberState[], roles: readonly StaffRoleRecord[]): Access["held"] {
  const refs = new Set(members.flatMap(({ guildId, roleIds }) => roleIds.map((roleId) => roleRef(guildId, roleId))));
  return roles.flatMap((role) => {
    const found = role.discord.map(({ guildId, roleId }) => roleRef(guildId, roleId)).filter((ref) => refs.has(ref));
    return found.length === 0 ? [] : [{ role, refs: found }];
  });
}
