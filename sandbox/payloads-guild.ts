import type { APIGuild, GatewayGuildCreateDispatchData, GuildSystemChannelFlags } from "discord-api-types/v10";
import type { Guild, World } from "./model.ts";
import { channelPayload, isoTime, memberPayload, noFlags, rolePayload } from "./payloads.ts";

export const guildPayload = (guild: Guild) =>
  ({
    id: guild.id,
    name: guild.name,
    icon: guild.icon,
    description: null,
    home_header: null,
    splash: null,
    discovery_splash: null,
    features: [],
    banner: null,
    owner_id: guild.ownerId,
    application_id: null,
    region: "deprecated",
    afk_channel_id: null,
    afk_timeout: 300,
    system_channel_id: null,
    system_channel_flags: noFlags<GuildSystemChannelFlags>(),
    widget_enabled: false,
    widget_channel_id: null,
    verification_level: 0,
    roles: [...guild.roles.values()].map(rolePayload),
    default_message_notifications: 0,
    mfa_level: 0,
    explicit_content_filter: 0,
    max_presences: null,
    max_members: 500_000,
    max_stage_video_channel_users: 50,
    max_video_channel_users: 25,
    vanity_url_code: null,
    premium_tier: 0,
    premium_subscription_count: 0,
    preferred_locale: guild.preferredLocale as APIGuild["preferred_locale"],
    rules_channel_id: null,
    safety_alerts_channel_id: null,
    public_updates_channel_id: null,
    premium_progress_bar_enabled: false,
    nsfw: false,
    nsfw_level: 0,
    hub_type: null,
    emojis: [],
    stickers: [],
    incidents_data: null,
  }) satisfies APIGuild & { nsfw: boolean; home_header: null };

export const guildChannels = (guild: Guild) =>
  [...guild.channels.values()].map((channel) => channelPayload({ ...channel, guildId: guild.id }));

/** Of the members only the bot is listed: nobody may rely on a cache filled at connect. */
export function guildCreatePayload(world: World, guild: Guild) {
  const self = guild.members.get(world.application.bot.id);
  return {
    ...guildPayload(guild),
    joined_at: isoTime(self?.joinedAt ?? world.now()),
    large: guild.members.size > 250,
    unavailable: false,
    member_count: guild.members.size,
    members: self ? [memberPayload(self)] : [],
    channels: guildChannels(guild),
    threads: [],
    presences: [],
    voice_states: [],
    stage_instances: [],
    guild_scheduled_events: [],
    soundboard_sounds: [],
  } satisfies GatewayGuildCreateDispatchData;
}
