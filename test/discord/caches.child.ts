import { ChannelType, type Guild } from "discord.js";
import { createClient } from "../../src/discord/gateway/session.ts";

/** A process that prints the limits of a client's caches. */
const client = createClient({ apiBase: "http://127.0.0.1:1/api", intents: [], ws: {}, repeatMs: undefined });
const add = (manager: object, data: object, ...more: unknown[]): unknown =>
  (manager as { _add(...given: unknown[]): unknown })._add(data, ...more);
const guild = add(client.guilds, { id: "1", name: "Harbour", channels: [], roles: [] }) as Guild;
const channel = add(client.channels, { id: "2", type: ChannelType.GuildText, guild_id: "1" }, guild) as {
  messages: object;
  threads: object;
};
const caches = { users: client.users, members: guild.members, bans: guild.bans, messages: channel.messages, threads: channel.threads };
const limitOf = (manager: object): unknown => (manager as { cache: { maxSize?: number } }).cache.maxSize;
process.stdout.write(JSON.stringify(Object.fromEntries(Object.entries(caches).map(([name, manager]) => [name, limitOf(manager)]))));
await client.destroy();
