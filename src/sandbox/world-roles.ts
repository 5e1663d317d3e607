import { GatewayIntentBits } from "discord-api-types/v10";
import type { Guild, Role, World } from "./model.ts";
import { rolePayload } from "./payloads.ts";
import { plainRole } from "./world-guilds.ts";

export type RoleChange = Partial<Pick<Role, "name" | "permissions" | "position" | "color" | "hoist" | "mentionable">>;

/** A new role; without a position it is placed like Discord's: at 1, below every older role of that position. */
export function createRole(world: World, guild: Guild, change: RoleChange): Role {
  const role = { ...plainRole(guild, world.nextId(), "new role"), ...change };
  guild.roles.set(role.id, role);
  tellRole(world, "GUILD_ROLE_CREATE", role);
  return role;
}

export function updateRole(world: World, role: Role, change: RoleChange): void {
  Object.assign(role, change);
  tellRole(world, "GUILD_ROLE_UPDATE", role);
}

function tellRole(world: World, t: "GUILD_ROLE_CREATE" | "GUILD_ROLE_UPDATE", role: Role): void {
  world.emit({
    t,
    guildId: role.guildId,
    intent: GatewayIntentBits.Guilds,
    data: () => ({ guild_id: role.guildId, role: rolePayload(role) }),
  });
}

/** Takes the role away from everybody and tells only GUILD_ROLE_DELETE, no member updates. */
export function deleteRole(world: World, guild: Guild, role: Role): void {
  guild.roles.delete(role.id);
  for (const member of guild.members.values())
    if (member.roles.includes(role.id)) member.roles = member.roles.filter((id) => id !== role.id);
  world.emit({
    t: "GUILD_ROLE_DELETE",
    guildId: guild.id,
    intent: GatewayIntentBits.Guilds,
    data: () => ({ guild_id: guild.id, role_id: role.id }),
  });
}
