import { PermissionFlagsBits } from "discord-api-types/v10";
import { DiscordApiError } from "../errors.ts";
import { messagePayload } from "../message-payload.ts";
import { setPinned } from "../messages.ts";
import type { Channel, Message, World } from "../model.ts";
import { requireChannel, requireMessage } from "./channels.ts";
import { requireBotPermission } from "./guards.ts";
import { integerQuery, noContent, ok, type Call, type Route } from "./route.ts";

const maxPins = 250;

type Pinned = Message & { pinnedAt: number };

/** Pinned messages, at their present addresses and at the older ones. */
export function pinRoutes(world: World): Route[] {
  return [
    { method: "GET", path: "/channels/{channel_id}/messages/pins", auth: "bot", handle: (call) => ok(page(world, call)) },
    {
      method: "GET",
      path: "/channels/{channel_id}/pins",
      auth: "bot",
      handle: (call) => ok(pinsOf(requireChannel(world, call)).map((message) => messagePayload(world, message))),
    },
    ...["/channels/{channel_id}/messages/pins/{message_id}", "/channels/{channel_id}/pins/{message_id}"].flatMap((path): Route[] => [
      { method: "PUT", path, auth: "bot", handle: (call) => change(world, call, true) },
      { method: "DELETE", path, auth: "bot", handle: (call) => change(world, call, false) },
    ]),
  ];
}

/** The newest pin first. */
const pinsOf = ({ messages }: Channel): Pinned[] =>
  [...messages.values()]
    .filter((message): message is Pinned => message.pinnedAt !== null)
    .toReversed()
    .toSorted((a, b) => b.pinnedAt - a.pinnedAt);

function page(world: World, call: Call) {
  const limit = integerQuery(call, "limit", { min: 1, max: 50, fallback: 50 });
  const before = Date.parse(call.query.get("before") ?? "");
  const found = pinsOf(requireChannel(world, call)).filter(({ pinnedAt }) => Number.isNaN(before) || pinnedAt < before);
  return {
    items: found.slice(0, limit).map((message) => ({
      pinned_at: new Date(message.pinnedAt).toISOString(),
      message: messagePayload(world, message),
    })),
    has_more: found.length > limit,
  };
}

/** 50013 without the permission to pin, 30003 when there are too many. */
function change(world: World, call: Call, isPinned: boolean) {
  const channel = requireChannel(world, call);
  const guild = world.guilds.get(channel.guildId ?? "");
  const self = guild?.members.get(world.application.bot.id);
  if (guild && self) requireBotPermission(world, guild, self, PermissionFlagsBits.PinMessages);
  const message = requireMessage(world, call);
  if (isPinned && message.pinnedAt === null && pinsOf(channel).length >= maxPins)
    throw new DiscordApiError(400, 30003, `Maximum number of pins reached for the channel (${maxPins})`);
  setPinned(world, message, isPinned);
  return noContent;
}
