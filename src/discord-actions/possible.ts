import { say } from "../kit/say.ts";
import { PermissionFlagsBits } from "discord-api-types/v10";
import type { GuildStanding, RoleInfo, Standing } from "../discord/guild-state.ts";
import type { DiscordAction } from "../kernel/discord-port.ts";

type Without<Key extends string, Of> = Of extends unknown ? Omit<Of, Key> : never;

/** Something the bot does to a person in a guild, without what does not matter for whether Discord lets it. */
export type MemberAction = Without<"id" | "reason", Extract<DiscordAction, { guildId: string }>>;

export const impossibleCodes = [
  "bot_missing_permission",
  "bot_not_in_guild",
  "bot_role_too_low",
  "not_a_member",
  "role_not_manageable",
  "target_has_administrator",
  "target_is_bot_itself",
  "target_is_guild_owner",
  "unknown_role",
  "unknown_user",
] as const;
export const alreadyCodes = [
  "already_banned",
  "not_banned",
  "already_timed_out",
  "not_timed_out",
  "already_has_role",
  "already_lacks_role",
] as const;

/** Discord would refuse it; `detail` says why, and what would help. */
export interface Impossible {
  outcome: "impossible";
  code: (typeof impossibleCodes)[number];
  detail: string;
}

/** There is nothing to do. */
export interface Already {
  outcome: "already";
  code: (typeof alreadyCodes)[number];
  detail: string;
}

/** It cannot be done while the person is away, and is done when they come back. */
export interface Waits {
  outcome: "waits";
  code: "waits_for_return";
  detail: string;
}

export type Verdict = Impossible | Already | Waits;

/** What is known of a guild; whatever is undefined is not known, and no reason to refuse. */
export interface PossibleFacts {
  guild: GuildStanding | undefined;
  /** Whether the person is banned there. */
  isBanned: boolean | undefined;
  now: Date;
}

interface Spec {
  bit: bigint;
  /** As Discord calls it. */
  permission: string;
  /** What follows "I can't". */
  act: string;
  /** Whether Discord compares the highest roles of the bot and the person. */
  isOverMember: boolean;
}

const bits = PermissionFlagsBits;
const timeouts = { bit: bits.ModerateMembers, permission: say("discord-actions.timeout-members"), isOverMember: true };
const bans = { bit: bits.BanMembers, permission: say("discord-actions.ban-members") };
const roles = { bit: bits.ManageRoles, permission: say("discord-actions.manage-roles"), isOverMember: false };

/** What Discord asks of the bot for each kind of action. Source: Discord's documentation of permissions, "Permission Hierarchy". */
export const actionNeeds: Readonly<Record<MemberAction["kind"], Spec>> = {
  ban: { ...bans, act: say("discord-actions.ban-them"), isOverMember: true },
  unban: { ...bans, act: say("discord-actions.unban-them"), isOverMember: false },
  kick: {
    bit: bits.KickMembers,
    permission: say("discord-actions.kick-members"),
    act: say("discord-actions.kick-them"),
    isOverMember: true,
  },
  timeout: { ...timeouts, act: say("discord-actions.time-them-out") },
  timeout_lift: { ...timeouts, act: say("discord-actions.lift-their-timeout") },
  nickname: {
    bit: bits.ManageNicknames,
    permission: say("discord-actions.manage-nicknames"),
    act: say("discord-actions.change-their-nickname"),
    isOverMember: true,
  },
  role_add: { ...roles, act: say("discord-actions.give-them-the-role") },
  role_remove: { ...roles, act: say("discord-actions.remove-their-role") },
};

const second = 1000;
/** The longest timeout that Discord sets, in milliseconds; a longer one is cut to it. */
const longestTimeout = 28 * 86_400 * second;
/** An end that is cut moves with the time of the request: so much less is no reason to set it again. */
const cutSlack = 86_400 * second;

/**
 * Why Discord would refuse an action, or why there is nothing to do; null when nothing known speaks against it.
 * Pure: it judges by these facts alone.
 */
export function whyNot(action: MemberAction, { guild, isBanned, now }: PossibleFacts): Verdict | null {
  if (guild === undefined) return null;
  const target = guild.member(action.userId);
  const refused =
    botProblem(action, guild, now) ??
    (isOfRole(action) ? roleProblem(action, guild) : undefined) ??
    (target === null ? awayProblem(action, guild) : memberProblem(action, guild, target));
  return refused ?? alreadySo(action, { guild, target, isBanned, now }) ?? null;
}

/** Everything but the role of the person: who they are, and what the bot may do in the guild. */
function botProblem({ kind, userId }: MemberAction, guild: GuildStanding, now: Date): Impossible | undefined {
  const { bot, botId, ownerId, name } = guild;
  const { act, bit, permission, isOverMember } = actionNeeds[kind];
  if (bot === null) return impossible("bot_not_in_guild", say("discord-actions.impossible-gone", { act, name }));
  if (isOverMember && userId === botId)
    return impossible("target_is_bot_itself", say("discord-actions.i-cant-in-that-would-be-me", { act, name }));
  if (isOverMember && userId === ownerId)
    return impossible("target_is_guild_owner", say("discord-actions.i-cant-in-they-own-the-server", { act, name }));
  const ends = bot.timedOutUntil;
  if (ends !== null && ends > now && !hasPermission(guild, bot, bits.Administrator)) {
    const until = ends.toISOString();
    return impossible("bot_missing_permission", say("discord-actions.impossible-timed-out", { act, name, until }));
  }
  if (hasPermission(guild, bot, bit)) return undefined;
  return impossible("bot_missing_permission", say("discord-actions.impossible-permission", { act, name, permission }));
}

type RoleAction = Extract<MemberAction, { roleId: string }>;

function isOfRole(action: MemberAction): action is RoleAction {
  return action.kind === "role_add" || action.kind === "role_remove";
}

/** Why the bot cannot give or take a role, whoever it is about. */
export function roleProblem({ kind, roleId }: Pick<RoleAction, "kind" | "roleId">, guild: GuildStanding): Impossible | undefined {
  const { name } = guild;
  const { act } = actionNeeds[kind];
  const found = guild.roles.get(roleId);
  if (found === undefined) return impossible("unknown_role", say("discord-actions.impossible-role-deleted", { act, name }));
  if (roleId === guild.id) return impossible("role_not_manageable", say("discord-actions.impossible-role-everyone", { act, name }));
  const role = found.name;
  if (found.managed === true) return impossible("role_not_manageable", say("discord-actions.impossible-role-managed", { act, role, name }));
  const highest = highestRole(guild, guild.bot);
  if (highest === undefined || compareRoles(highest, found) > 0) return undefined;
  const mine = highest.name;
  if (highest.id === roleId) return impossible("role_not_manageable", say("discord-actions.impossible-role-own", { act, role, name }));
  return impossible("role_not_manageable", say("discord-actions.impossible-role-above", { act, role, name, mine }));
}

function awayProblem({ kind }: MemberAction, { name }: GuildStanding): Impossible | Waits | undefined {
  if (kind === "kick") return impossible("not_a_member", say("discord-actions.i-cant-kick-them-in-they-are", { name }));
  if (kind === "ban" || kind === "unban") return undefined;
  return { outcome: "waits", code: "waits_for_return", detail: say("discord-actions.waits-for-return", { name }) };
}

function memberProblem({ kind }: MemberAction, guild: GuildStanding, target: Standing | undefined): Impossible | undefined {
  const { act, isOverMember } = actionNeeds[kind];
  if (target === undefined || !isOverMember) return undefined;
  const { name } = guild;
  if (actionNeeds[kind].bit === bits.ModerateMembers && hasPermission(guild, target, bits.Administrator)) {
    const role = rolesOf(guild, target).find(({ permissions = 0n }) => (permissions & bits.Administrator) !== 0n)?.name ?? "";
    return impossible("target_has_administrator", say("discord-actions.impossible-administrator", { act, name, role }));
  }
  const [highest, theirs] = [highestRole(guild, guild.bot), highestRole(guild, target)];
  if (highest === undefined || theirs === undefined || compareRoles(highest, theirs) > 0) return undefined;
  const [mine, role] = [highest.name, theirs.name];
  if (highest.id === theirs.id) return impossible("bot_role_too_low", say("discord-actions.impossible-same-role", { act, name, mine }));
  return impossible("bot_role_too_low", say("discord-actions.impossible-lower-role", { act, name, mine, role }));
}

interface AlreadyFacts extends PossibleFacts {
  guild: GuildStanding;
  target: Standing | null | undefined;
}

function alreadySo(action: MemberAction, { guild, target, isBanned, now }: AlreadyFacts): Already | undefined {
  const { name } = guild;
  const role = isOfRole(action) ? (guild.roles.get(action.roleId)?.name ?? "") : "";
  const ends = target?.timedOutUntil ?? null;
  switch (action.kind) {
    case "ban":
      return isBanned === true ? already("already_banned", say("discord-actions.they-are-already-banned-in", { name })) : undefined;
    case "unban":
      // A member cannot be banned at the same time.
      if (isBanned !== false && (target === undefined || target === null)) return undefined;
      return already("not_banned", say("discord-actions.they-are-not-banned-in", { name }));
    case "timeout": {
      if (ends === null || ends <= now) return undefined;
      const [wanted, longest] = [Date.parse(action.until), now.getTime() + longestTimeout];
      if (ends.getTime() < (wanted > longest ? longest - cutSlack : wanted - second)) return undefined;
      const until = ends.toISOString();
      return already("already_timed_out", say("discord-actions.they-are-already-timed-out-in-until", { name, until }));
    }
    case "timeout_lift":
      if (target === undefined || target === null || (ends !== null && ends > now)) return undefined;
      return already("not_timed_out", say("discord-actions.they-are-not-timed-out-in", { name }));
    case "role_add":
      return target?.roleIds.includes(action.roleId) === true
        ? already("already_has_role", say("discord-actions.they-already-have-the-role-in", { role, name }))
        : undefined;
    case "role_remove":
      return target?.roleIds.includes(action.roleId) === false
        ? already("already_lacks_role", say("discord-actions.they-do-not-have-the-role-in", { role, name }))
        : undefined;
    default:
      return undefined;
  }
}

/** Whether a member holds a permission in the whole guild. What the gateway has not reported counts as held: it is no reason to refuse. */
export function hasPermission(guild: GuildStanding, member: Standing, bit: bigint): boolean {
  const held = rolesOf(guild, member);
  const isKnown = held.every(({ permissions }) => permissions !== undefined);
  if (!isKnown && bit !== bits.Administrator) return true;
  const sum = held.reduce((all, { permissions = 0n }) => all | permissions, 0n);
  return (sum & (bit | bits.Administrator)) !== 0n;
}

/** The roles of a member, with the everyone role. */
function rolesOf(guild: GuildStanding, { roleIds }: Standing): RoleInfo[] {
  return [guild.id, ...roleIds].flatMap((id) => guild.roles.get(id) ?? []);
}

/** The role of a member that decides the hierarchy: the everyone role where they have no other. */
function highestRole(guild: GuildStanding, member: Standing | null): RoleInfo | undefined {
  return member === null ? undefined : rolesOf(guild, member).toSorted(compareRoles).at(-1);
}

/** Positive when `a` is above `b`. Of equal positions the older role, which has the lower id, is above. */
function compareRoles(a: RoleInfo, b: RoleInfo): number {
  if (a.position !== b.position) return a.position - b.position;
  if (a.id === b.id) return 0;
  return BigInt(a.id) < BigInt(b.id) ? 1 : -1;
}

function impossible(code: Impossible["code"], detail: string): Impossible {
  return { outcome: "impossible", code, detail };
}

function already(code: Already["code"], detail: string): Already {
  return { outcome: "already", code, detail };
}
