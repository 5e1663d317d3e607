import {
  ChannelType,
  OverwriteType,
  PermissionFlagsBits,
  type APIGuildMember,
  type APIRole,
  type APIUser,
  type APITextChannel,
  type GatewayGuildMembersChunkDispatchData,
  type ChannelFlags,
  type GuildMemberFlags,
  type RoleFlags,
  type UserFlags,
} from "discord-api-types/v10";
import type { Channel, Guild, Member, Role, User, World } from "./model.ts";
import { permissionsOf } from "./permissions.ts";

/** A bit field with nothing set: its types are enums, which have no zero of their own. */
export const noFlags = <T extends number>() => 0 as T;

export const userPayload = (user: User) =>
  ({
    id: user.id,
    username: user.username,
    discriminator: "0",
    global_name: user.global_name,
    avatar: user.avatar,
    banner: null,
    accent_color: null,
    avatar_decoration_data: null,
    collectibles: null,
    primary_guild: null,
    public_flags: noFlags<UserFlags>(),
    flags: noFlags<UserFlags>(),
    ...(user.bot && { bot: true }),
  }) satisfies APIUser;

/** A time as Discord spells it, with six decimals. */
export const isoTime = (ms: number) => new Date(ms).toISOString().replace("Z", "000+00:00");

export const memberPayload = (member: Member) =>
  ({
    user: userPayload(member.user),
    nick: member.nick,
    avatar: null,
    banner: null,
    roles: [...member.roles],
    joined_at: isoTime(member.joinedAt),
    premium_since: null,
    deaf: false,
    mute: false,
    flags: noFlags<GuildMemberFlags>(),
    pending: false,
    communication_disabled_until: member.timeoutUntil === null ? null : isoTime(member.timeoutUntil),
  }) satisfies APIGuildMember;

export const rolePayload = (role: Role) =>
  ({
    id: role.id,
    name: role.name,
    permissions: role.permissions.toString(),
    position: role.position,
    color: role.color,
    colors: { primary_color: role.color, secondary_color: null, tertiary_color: null },
    hoist: role.hoist,
    managed: role.botId !== null,
    mentionable: role.mentionable,
    icon: null,
    unicode_emoji: null,
    flags: noFlags<RoleFlags>(),
    ...(role.botId !== null && { tags: { bot_id: role.botId } }),
  }) satisfies APIRole;

export const channelPayload = (channel: Channel & { guildId: string }) =>
  ({
    id: channel.id,
    type: ChannelType.GuildText,
    guild_id: channel.guildId,
    name: channel.name,
    position: channel.position,
    permission_overwrites: channel.hiddenFrom.map((id) => ({
      id,
      type: OverwriteType.Role as const,
      allow: "0",
      deny: PermissionFlagsBits.ViewChannel.toString(),
    })),
    nsfw: false,
    topic: null,
    parent_id: null,
    last_message_id: null,
    rate_limit_per_user: 0,
    flags: noFlags<ChannelFlags>(),
  }) satisfies APITextChannel;

export const dmChannelPayload = (channel: Channel) => ({
  id: channel.id,
  type: ChannelType.DM,
  last_message_id: null,
  flags: 0,
  recipients: channel.recipient ? [userPayload(channel.recipient)] : [],
});

export const memberChunk = (
  guild: Guild,
  members: readonly Member[],
  part: { index: number; count: number; nonce?: string; notFound?: string[] },
) =>
  ({
    guild_id: guild.id,
    members: members.map(memberPayload),
    chunk_index: part.index,
    chunk_count: part.count,
    ...(part.notFound && { not_found: part.notFound }),
    ...(part.nonce !== undefined && { nonce: part.nonce }),
  }) satisfies GatewayGuildMembersChunkDispatchData;

/** A member's permission bits as the wire spells them: a decimal string. */
export const permissionString = (world: World, guild: Guild, member: Member) => permissionsOf(guild, member, world.now()).toString();
