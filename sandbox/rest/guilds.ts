import { PermissionFlagsBits, ChannelType, InviteType } from "discord-api-types/v10";
import { unknown } from "../errors.ts";
import type { World, Guild } from "../model.ts";
import { guildChannels, guildPayload } from "../payloads-guild.ts";
import { userPayload } from "../payloads.ts";
import { changeGuild, removeBot } from "../world-guilds.ts";
import { requireBotPermission, requireGuild, requireUser } from "./guards.ts";
import { noContent, objectBody, ok, param, textField, type Route } from "./route.ts";

/** Guilds as the bot sees them, public users, and where the gateway is. */
export function guildRoutes(world: World, gatewayUrl: () => string): Route[] {
  return [
    {
      method: "GET",
      path: "/guilds/{guild_id}",
      auth: "bot",
      handle(call) {
        const { guild } = requireGuild(world, call);
        if (guild.unavailable) throw unknown("Guild");
        const count = guild.members.size;
        const counts = call.query.get("with_counts") === "true" && {
          approximate_member_count: count,
          approximate_presence_count: count,
        };
        return ok({ ...guildPayload(guild), ...counts });
      },
    },
    {
      method: "PATCH",
      path: "/guilds/{guild_id}",
      auth: "bot",
      handle(call) {
        const { guild, self } = requireGuild(world, call);
        requireBotPermission(world, guild, self, PermissionFlagsBits.ManageGuild);
        const name = textField(objectBody(call), "name", { min: 2, max: 100 });
        if (name) changeGuild(world, guild, { name });
        return ok(guildPayload(guild));
      },
    },
    {
      method: "GET",
      path: "/guilds/{guild_id}/channels",
      auth: "bot",
      handle: (call) => ok(guildChannels(requireGuild(world, call).guild)),
    },
    {
      method: "DELETE",
      path: "/users/@me/guilds/{guild_id}",
      auth: "bot",
      handle(call) {
        const guild = world.guilds.get(param(call, "guild_id"));
        if (!guild?.members.has(world.application.bot.id)) throw unknown("Guild");
        removeBot(world, guild);
        return noContent;
      },
    },
    {
      method: "GET",
      path: "/users/{user_id}",
      auth: "bot",
      handle: (call) => ok(userPayload(requireUser(world, param(call, "user_id")))),
    },
    { method: "GET", path: "/gateway", auth: "none", handle: () => ok({ url: gatewayUrl() }) },
    {
      method: "GET",
      path: "/gateway/bot",
      auth: "bot",
      handle: () =>
        ok({
          url: gatewayUrl(),
          shards: 1,
          session_start_limit: { total: 1000, remaining: 1000, reset_after: 14_400_000, max_concurrency: 16 },
        }),
    },
  ];
}

/** Where an invite leads, for anybody who has its code. */
export function inviteRoutes(world: World): Route[] {
  return [
    {
      method: "GET",
      path: "/invites/{code}",
      auth: "none",
      handle(call) {
        const code = param(call, "code");
        const guild = world.invites.get(code);
        if (!guild) throw unknown("Invite");
        return ok(invitePayload(guild, code));
      },
    },
  ];
}

function invitePayload(guild: Guild, code: string) {
  const [channel] = guild.channels.values();
  return {
    type: InviteType.Guild,
    code,
    expires_at: null,
    guild_id: guild.id,
    guild: {
      id: guild.id,
      name: guild.name,
      splash: null,
      banner: null,
      description: null,
      icon: guild.icon,
      features: [],
      verification_level: 0,
      vanity_url_code: null,
      nsfw_level: 0,
      nsfw: false,
      premium_subscription_count: 0,
    },
    channel: { id: channel?.id ?? guild.id, type: ChannelType.GuildText, name: channel?.name ?? null },
  };
}
