import { GatewayIntentBits } from "discord-api-types/v10";
import { createMemberList } from "./member-list.ts";
import type { Guild, Role, User, World } from "./model.ts";
import { guildCreatePayload, guildPayload } from "./payloads-guild.ts";
import { botPermissions, everyonePermissions } from "./permissions.ts";
import { createChannel } from "./world.ts";

/** Where the bot's own role stands, so that scripted ladders (positions from 1) are below it unless they say otherwise. */
export const botRolePosition = 250;

export type GuildOptions = { name: string; owner?: User; withBot?: boolean };

/** A guild with its everyone role, one text channel, its owner and, unless refused, the bot. */
export function createGuild(world: World, options: GuildOptions & { owner: User }): Guild {
  const guild: Guild = {
    id: world.nextId(),
    name: options.name,
    ownerId: options.owner.id,
    preferredLocale: "en-US",
    icon: null,
    unavailable: false,
    roles: new Map(),
    members: createMemberList(),
    bans: new Map(),
    timeoutsOfOthers: new Map(),
    auditLog: [],
    channels: new Map(),
    commands: new Map(),
    commandRoles: new Set(),
    ownCommandRoles: new Map(),
  };
  world.guilds.set(guild.id, guild);
  guild.roles.set(guild.id, {
    ...plainRole(guild, guild.id, "@everyone"),
    permissions: everyonePermissions,
    position: 0,
  });
  addGuildChannel(world, guild, "general");
  guild.members.add(newMember(world, options.owner));
  if (options.withBot !== false) addBot(world, guild);
  return guild;
}

export const plainRole = (guild: Guild, id: string, name: string): Role => ({
  id,
  guildId: guild.id,
  name,
  permissions: 0n,
  position: 1,
  color: 0,
  hoist: false,
  mentionable: false,
  botId: null,
});

export const newMember = (world: World, user: User) => ({
  user,
  nick: null,
  roles: [],
  joinedAt: world.now(),
  timeoutUntil: null,
});

export function addGuildChannel(world: World, guild: Guild, name: string, hiddenFrom: readonly string[] = []) {
  const channel = createChannel(world, { guildId: guild.id, name, hiddenFrom, position: guild.channels.size });
  guild.channels.set(channel.id, channel);
  return channel;
}

/** The bot joins: its own role is made and GUILD_CREATE told. Nothing happens when it is already there. */
export function addBot(world: World, guild: Guild): void {
  const { bot } = world.application;
  if (guild.members.has(bot.id)) return;
  const role: Role = {
    ...plainRole(guild, world.nextId(), bot.username),
    permissions: botPermissions,
    position: botRolePosition,
    botId: bot.id,
  };
  guild.roles.set(role.id, role);
  guild.members.add({ ...newMember(world, bot), roles: [role.id] });
  world.emit({
    t: "GUILD_CREATE",
    guildId: guild.id,
    intent: GatewayIntentBits.Guilds,
    data: () => guildCreatePayload(world, guild),
  });
}

/** The bot leaves or is removed: GUILD_DELETE is told and its role and guild commands go with it. */
export function removeBot(world: World, guild: Guild): void {
  const { bot } = world.application;
  if (!guild.members.has(bot.id)) return;
  const { id } = guild;
  world.emit({ t: "GUILD_DELETE", guildId: id, intent: GatewayIntentBits.Guilds, data: () => ({ id }) });
  guild.members.remove(bot.id);
  guild.commands.clear();
  for (const role of guild.roles.values()) if (role.botId === bot.id) guild.roles.delete(role.id);
}

/** An outage of one guild begins (GUILD_DELETE with `unavailable`) or ends (GUILD_CREATE). */
export function setAvailable(world: World, guild: Guild, available: boolean): void {
  if (guild.unavailable === !available) return;
  guild.unavailable = !available;
  const { id } = guild;
  world.emit({
    t: available ? "GUILD_CREATE" : "GUILD_DELETE",
    guildId: id,
    intent: GatewayIntentBits.Guilds,
    data: () => (available ? guildCreatePayload(world, guild) : { id, unavailable: true }),
  });
}

export function changeGuild(world: World, guild: Guild, change: Partial<Pick<Guild, "name" | "preferredLocale">>): void {
  Object.assign(guild, change);
  world.emit({
    t: "GUILD_UPDATE",
    guildId: guild.id,
    intent: GatewayIntentBits.Guilds,
    data: () => guildPayload(guild),
  });
}
