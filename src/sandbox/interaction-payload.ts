import { ChannelType } from "discord-api-types/v10";
import type { Interaction } from "./interaction.ts";
import { messagePayload } from "./message-payload.ts";
import type { World } from "./model.ts";
import { channelPayload, memberPayload, permissionString } from "./payloads.ts";
import { mostBytes } from "./uploads.ts";

/** INTERACTION_CREATE for an interaction in a guild. */
export function interactionPayload(world: World, interaction: Interaction) {
  const { guild, member, channel, source } = interaction;
  const self = guild.members.get(world.application.bot.id);
  const permissions = permissionString(world, guild, member);
  return {
    id: interaction.id,
    application_id: world.application.id,
    type: interaction.type,
    token: interaction.token,
    version: 1,
    data: interaction.data,
    guild_id: guild.id,
    guild: { id: guild.id, locale: "en-US", features: [] },
    channel_id: channel.id,
    channel: { ...channelPayload({ ...channel, guildId: guild.id }), type: ChannelType.GuildText, permissions },
    member: { ...memberPayload(member), permissions },
    ...(source && { message: messagePayload(world, source) }),
    app_permissions: self ? permissionString(world, guild, self) : "0",
    locale: member.user.locale ?? "en-US",
    guild_locale: "en-US",
    entitlements: [],
    authorizing_integration_owners: { "0": guild.id },
    context: 0,
    attachment_size_limit: mostBytes,
  };
}
