import { PermissionFlagsBits } from "discord-api-types/v10";
import type { Guild, Member, Role } from "./model.ts";

const byName: Record<string, bigint> = PermissionFlagsBits;

export const allPermissions = Object.values(byName).reduce((sum, bit) => sum | bit, 0n);

/** What a member keeps while timed out. Source: Discord's permission documentation. */
const timedOutPermissions = PermissionFlagsBits.ViewChannel | PermissionFlagsBits.ReadMessageHistory;

/** What every member may do in a new guild. */
export const everyonePermissions =
  PermissionFlagsBits.ViewChannel |
  PermissionFlagsBits.SendMessages |
  PermissionFlagsBits.ReadMessageHistory |
  PermissionFlagsBits.ChangeNickname |
  PermissionFlagsBits.UseApplicationCommands;

/** What the bot's own role carries when it is invited. */
export const botPermissions =
  everyonePermissions |
  PermissionFlagsBits.ManageRoles |
  PermissionFlagsBits.ManageNicknames |
  PermissionFlagsBits.KickMembers |
  PermissionFlagsBits.BanMembers |
  PermissionFlagsBits.ModerateMembers |
  PermissionFlagsBits.ViewAuditLog |
  PermissionFlagsBits.EmbedLinks |
  PermissionFlagsBits.AttachFiles |
  PermissionFlagsBits.PinMessages;

/** The bit field of permission names such as `BanMembers`; throws on a name Discord does not have. */
export function permissionBits(names: readonly string[]): bigint {
  let bits = 0n;
  for (const name of names) {
    const bit = byName[name];
    if (bit === undefined) throw new TypeError(`unknown permission ${name}`);
    bits |= bit;
  }
  return bits;
}

/** A member's permissions in the guild: owner and administrators hold all, a timeout leaves only reading. */
export function permissionsOf(guild: Guild, member: Member, now: number): bigint {
  if (guild.ownerId === member.user.id) return allPermissions;
  let bits = guild.roles.get(guild.id)?.permissions ?? 0n;
  for (const id of member.roles) bits |= guild.roles.get(id)?.permissions ?? 0n;
  if (bits & PermissionFlagsBits.Administrator) return allPermissions;
  if (member.timeoutUntil !== null && member.timeoutUntil > now) return bits & timedOutPermissions;
  return bits;
}

/** Positive when `a` stands above `b`; equal positions go to the older role, as in Discord's clients. */
export function compareRoles(a: Role, b: Role): number {
  if (a.position !== b.position) return a.position - b.position;
  if (a.id === b.id) return 0;
  return BigInt(a.id) < BigInt(b.id) ? 1 : -1;
}

/** The highest role of a member; the everyone role when it has no other. */
export function highestRole(guild: Guild, member: Member): Role | undefined {
  let highest = guild.roles.get(guild.id);
  for (const id of member.roles) {
    const role = guild.roles.get(id);
    if (role && (!highest || compareRoles(role, highest) > 0)) highest = role;
  }
  return highest;
}

/** Whether the actor stands strictly above the target in the ladder; the owner stands above all. */
export function outranks(guild: Guild, actor: Member, target: Member): boolean {
  if (target.user.id === guild.ownerId) return false;
  if (actor.user.id === guild.ownerId) return true;
  const own = highestRole(guild, actor);
  const other = highestRole(guild, target);
  return own !== undefined && other !== undefined && compareRoles(own, other) > 0;
}
