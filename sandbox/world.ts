import { randomBytes } from "node:crypto";
import { GatewayIntentBits } from "discord-api-types/v10";
import { createIds } from "./ids.ts";
import type { Channel, User, World, WorldEvent } from "./model.ts";
import { permissionsOf } from "./permissions.ts";

export type UserOptions = { global_name?: string | null; avatar?: string | null; bot?: boolean };

/**
 * The state of a small Discord with one application, and the events its changes cause. No input or output.
 * @param now clock in milliseconds since 1970; ids and times come from it
 */
export function createWorld(now: () => number): World {
  const nextId = createIds(now);
  const users: World["users"] = new Map();
  const guilds: World["guilds"] = new Map();
  const listeners = new Set<(event: WorldEvent) => void>();
  const id = nextId();
  const bot: User = { id, username: "Sandbox Bot", global_name: null, avatar: null, bot: true, dmsClosed: false };
  users.set(id, bot);
  return {
    now,
    nextId,
    users,
    guilds,
    channels: new Map(),
    invites: new Map(),
    files: new Map(),
    cdn: { origin: "", secret: randomBytes(16).toString("hex") },
    application: {
      id,
      name: "Sandbox Application",
      bot,
      botToken: `sandbox.${Buffer.from(id).toString("base64url")}.${randomBytes(24).toString("base64url")}`,
      clientSecret: `sandbox-secret-${randomBytes(16).toString("hex")}`,
      privilegedIntents: GatewayIntentBits.GuildMembers,
      redirectUris: new Set(),
      commands: new Map(),
    },
    emit(event) {
      if (listeners.size === 0) return;
      const guild = event.guildId === null ? undefined : guilds.get(event.guildId);
      const self = guild?.members.get(id);
      if (event.guildId !== null && !self) return;
      if (guild && self && event.permission !== undefined && !(permissionsOf(guild, self, now()) & event.permission)) return;
      for (const listener of listeners) listener(event);
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function createUser(world: World, username: string, options: UserOptions = {}): User {
  const user: User = {
    id: world.nextId(),
    username,
    global_name: options.global_name ?? null,
    avatar: options.avatar ?? null,
    bot: options.bot ?? false,
    dmsClosed: false,
  };
  world.users.set(user.id, user);
  return user;
}

/** A channel of a guild, or with `guildId` null the direct-message channel with a user. */
export function createChannel(world: World, place: Pick<Channel, "guildId" | "name"> & Partial<Channel>): Channel {
  const channel: Channel = {
    id: world.nextId(),
    guildId: place.guildId,
    name: place.name,
    position: place.position ?? 0,
    hiddenFrom: place.hiddenFrom ?? [],
    recipient: place.recipient ?? null,
    messages: new Map(),
  };
  world.channels.set(channel.id, channel);
  return channel;
}
