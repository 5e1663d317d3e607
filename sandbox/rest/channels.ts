import { PermissionFlagsBits } from "discord-api-types/v10";
import { DiscordApiError, missingAccess, missingPermissions, unknown } from "../errors.ts";
import { compareIds } from "../ids.ts";
import { messagePayload } from "../message-payload.ts";
import { deleteMessage, editMessage, postMessage, readMessage, requireSomething } from "../messages.ts";
import type { Channel, Message, World } from "../model.ts";
import { channelPayload, dmChannelPayload } from "../payloads.ts";
import { textOf } from "../text.ts";
import { createChannel } from "../world.ts";
import { requireBotPermission, requireUser } from "./guards.ts";
import { integerQuery, noContent, objectBody, ok, param, snowflakeQuery, type Call, type Route } from "./route.ts";

const nonceLifeMs = 300_000;

/** Channels and the bot's messages in them. */
export function channelRoutes(world: World): Route[] {
  const messages = "/channels/{channel_id}/messages";
  const one = `${messages}/{message_id}`;
  return [
    {
      method: "GET",
      path: "/channels/{channel_id}",
      auth: "bot",
      handle(call) {
        const channel = requireChannel(world, call);
        const { guildId } = channel;
        return ok(guildId === null ? dmChannelPayload(channel) : channelPayload({ ...channel, guildId }));
      },
    },
    {
      method: "POST",
      path: "/users/@me/channels",
      auth: "bot",
      handle(call) {
        const recipient = requireUser(world, textOf(objectBody(call)["recipient_id"]));
        const open = [...world.channels.values()].find((channel) => channel.recipient === recipient);
        return ok(dmChannelPayload(open ?? createChannel(world, { guildId: null, name: "", recipient })));
      },
    },
    {
      method: "GET",
      path: messages,
      auth: "bot",
      handle(call) {
        const limit = integerQuery(call, "limit", { min: 1, max: 100, fallback: 50 });
        const before = snowflakeQuery(call, "before");
        const newest = [...requireChannel(world, call).messages.values()].toReversed();
        const found = newest.filter(({ id }) => before === undefined || compareIds(id, before) < 0);
        return ok(found.slice(0, limit).map((message) => messagePayload(world, message)));
      },
    },
    {
      method: "POST",
      path: messages,
      auth: "bot",
      handle(call) {
        const channel = requireChannel(world, call);
        requireSendable(world, channel);
        const body = objectBody(call);
        const content = readMessage(world, body, call);
        requireSomething(content);
        const nonce = (body["nonce"] ?? null) as Message["nonce"];
        const same = body["enforce_nonce"] === true && nonce !== null ? findByNonce(world, channel, nonce) : undefined;
        return ok(messagePayload(world, same ?? postMessage(world, channel, content, { nonce })));
      },
    },
    {
      method: "GET",
      path: one,
      auth: "bot",
      handle: (call) => ok(messagePayload(world, requireMessage(world, call))),
    },
    {
      method: "PATCH",
      path: one,
      auth: "bot",
      handle(call) {
        const message = requireMessage(world, call);
        if (message.author !== world.application.bot)
          throw new DiscordApiError(403, 50005, "Cannot edit a message authored by another user");
        const content = readMessage(world, objectBody(call), { files: call.files, before: message.attachments }, message.flags);
        requireSomething({ ...message, ...content });
        editMessage(world, message, content);
        return ok(messagePayload(world, message));
      },
    },
    {
      method: "DELETE",
      path: one,
      auth: "bot",
      handle(call) {
        const message = requireMessage(world, call);
        requireDeletable(world, message);
        deleteMessage(world, message);
        return noContent;
      },
    },
  ];
}

/** A nonce is remembered for minutes only, and per author. */
function findByNonce(world: World, channel: Channel, nonce: string | number): Message | undefined {
  const { bot } = world.application;
  return [...channel.messages.values()].findLast(
    (message) => message.nonce === nonce && message.author === bot && message.createdAt > world.now() - nonceLifeMs,
  );
}

export function requireChannel(world: World, call: Call): Channel {
  const channel = world.channels.get(param(call, "channel_id"));
  if (!channel) throw unknown("Channel");
  if (channel.guildId !== null && !world.guilds.get(channel.guildId)?.members.has(world.application.bot.id)) throw missingAccess();
  return channel;
}

export function requireMessage(world: World, call: Call): Message {
  const message = requireChannel(world, call).messages.get(param(call, "message_id"));
  if (!message) throw unknown("Message");
  return message;
}

/** 50013 for what others wrote, unless the bot may manage messages. */
function requireDeletable(world: World, { author, guildId }: Message): void {
  const { bot } = world.application;
  if (author === bot) return;
  const guild = world.guilds.get(guildId ?? "");
  const self = guild?.members.get(bot.id);
  if (!guild || !self) throw missingPermissions();
  requireBotPermission(world, guild, self, PermissionFlagsBits.ManageMessages);
}

/** 50007 where a user takes no messages from the bot: closed, a bot as well, or no guild in common. */
function requireSendable(world: World, channel: Channel): void {
  const { recipient } = channel;
  const { bot } = world.application;
  if (recipient) {
    const shared = [...world.guilds.values()].some(({ members }) => members.has(bot.id) && members.has(recipient.id));
    if (recipient.dmsClosed || recipient.bot || !shared) throw new DiscordApiError(403, 50007, "Cannot send messages to this user");
    return;
  }
  const guild = world.guilds.get(channel.guildId ?? "");
  const self = guild?.members.get(bot.id);
  if (!guild || !self) throw missingAccess();
  requireBotPermission(world, guild, self, PermissionFlagsBits.SendMessages);
}
