import { ChannelType, InviteType } from "discord-api-types/v10";
import { unknown } from "../errors.ts";
import type { Guild, World } from "../model.ts";
import { ok, param, type Route } from "./route.ts";

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
