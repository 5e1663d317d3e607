import { missingAccess, missingPermissions, unknown } from "../errors.ts";
import type { Guild, Member, Role, User, World } from "../model.ts";
import { compareRoles, highestRole, outranks, permissionsOf } from "../permissions.ts";
import { param, type Call } from "./route.ts";

/** The guild of the path and the bot in it: 10004 when there is none, 50001 when the bot is not in it. */
export function requireGuild(world: World, call: Call): { guild: Guild; self: Member } {
  const guild = world.guilds.get(param(call, "guild_id"));
  if (!guild) throw unknown("Guild");
  const self = guild.members.get(world.application.bot.id);
  if (!self) throw missingAccess();
  return { guild, self };
}

/** 50013 unless the bot holds the permission in the guild. */
export function requireBotPermission(world: World, guild: Guild, self: Member, bit: bigint): void {
  if (!(permissionsOf(guild, self, world.now()) & bit)) throw missingPermissions();
}

/** 50013 unless the bot stands above the member. */
export function requireAbove(guild: Guild, self: Member, target: Member): void {
  if (!outranks(guild, self, target)) throw missingPermissions();
}

/** 50013 unless the role is below the bot's highest and may be handled at all. */
export function requireRoleBelow(guild: Guild, self: Member, role: Role): void {
  const own = highestRole(guild, self);
  if (role.id === guild.id || role.botId !== null) throw missingPermissions();
  if (self.user.id !== guild.ownerId && (!own || compareRoles(own, role) <= 0)) throw missingPermissions();
}

export function requireMember(guild: Guild, userId: string): Member {
  const member = guild.members.get(userId);
  if (!member) throw unknown("Member");
  return member;
}

export function requireUser(world: World, userId: string): User {
  const user = world.users.get(userId);
  if (!user) throw unknown("User");
  return user;
}

export function requireRole(guild: Guild, roleId: string): Role {
  const role = guild.roles.get(roleId);
  if (!role) throw unknown("Role");
  return role;
}
