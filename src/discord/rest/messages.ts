import { ChannelType, OverwriteType, PermissionFlagsBits, Routes } from "discord-api-types/v10";
import { z } from "zod";
import type { DiscordCalls, MessageSource } from "../../kernel/discord-port.ts";
import { ProblemError } from "../../kernel/errors.ts";
import type { ServedGuilds } from "../guild-state.ts";
import { refusalStatus } from "./errors.ts";

interface MessagesOptions {
  rest: DiscordCalls;
  /** The guilds whose messages are fetched. */
  served: ServedGuilds;
}

const deadlineMs = 8000;
const Message = z.object({
  id: z.string(),
  channel_id: z.string(),
  author: z.object({ id: z.string() }),
  content: z.string(),
  timestamp: z.string(),
  edited_timestamp: z.string().nullable(),
  attachments: z.array(z.object({ filename: z.string(), size: z.number(), url: z.string() })),
});

/** Fetches messages from Discord itself, never from what a person sent about them. */
export function createMessages({ rest, served }: MessagesOptions): MessageSource {
  /** Fetch and parse; undefined for both 403 and 404. */
  async function fetchAs<T>(route: `/${string}`, schema: z.ZodType<T>): Promise<T | undefined> {
    try {
      const answer = schema.safeParse(await rest.call({ method: "GET", route, purpose: "lookup", deadlineMs }));
      if (!answer.success)
        throw new ProblemError("discord_error", { detail: "Discord answered with something else.", cause: answer.error });
      return answer.data;
    } catch (error) {
      const status = refusalStatus(error);
      if (status === 403 || status === 404) return undefined;
      throw error;
    }
  }

  /** Whether a person may read a channel. Everything is fetched now, since the guild state has no channels. */
  async function isShown(channel: Channel, guildId: string, viewerId: string): Promise<boolean> {
    const parent = isThread(channel) ? await fetchAs(Routes.channel(channel.parent_id ?? ""), Channel) : channel;
    const guild = await fetchAs(Routes.guild(guildId), Guild);
    const member = await fetchAs(Routes.guildMember(guildId, viewerId), Member);
    if (parent === undefined || guild === undefined || member === undefined) return false;
    return canRead(viewerId, member, { guild, channel: parent, isPrivate: channel.type === ChannelType.PrivateThread });
  }

  return {
    async fetch(channelId, messageId, viewerId) {
      const channel = await fetchAs(Routes.channel(channelId), Channel);
      const guildId = channel?.guild_id;
      if (channel === undefined || guildId === undefined || !served.has(guildId)) return undefined;
      if (viewerId !== null && !(await isShown(channel, guildId, viewerId))) return undefined;
      const message = await fetchAs(Routes.channelMessage(channelId, messageId), Message);
      if (message === undefined || message.id !== messageId || message.channel_id !== channelId) return undefined;
      return {
        guildId,
        channelId,
        messageId,
        authorId: message.author.id,
        content: message.content,
        sentAt: new Date(message.timestamp),
        editedAt: message.edited_timestamp === null ? null : new Date(message.edited_timestamp),
        attachments: message.attachments.map(({ filename, size, url }) => ({ name: filename, bytes: size, url })),
      };
    },
  };
}

const Bits = z.string().transform(BigInt);

/** The fields of a channel that decide who sees it. */
export const Channel = z.object({
  id: z.string(),
  type: z.int(),
  guild_id: z.string().optional(),
  parent_id: z.string().nullish(),
  permission_overwrites: z.array(z.object({ id: z.string(), type: z.int(), allow: Bits, deny: Bits })).default([]),
});
export type Channel = z.output<typeof Channel>;

export const Guild = z.object({ id: z.string(), owner_id: z.string(), roles: z.array(z.object({ id: z.string(), permissions: Bits })) });
type Guild = z.output<typeof Guild>;

export const Member = z.object({ roles: z.array(z.string()) });
type Member = z.output<typeof Member>;

const reading = PermissionFlagsBits.ViewChannel | PermissionFlagsBits.ReadMessageHistory;
const threads: ReadonlySet<number> = new Set([ChannelType.AnnouncementThread, ChannelType.PublicThread, ChannelType.PrivateThread]);

function isThread({ type }: Channel): boolean {
  return threads.has(type);
}

/**
 * Whether a member may read the history of a channel.
 * @param channel for a thread its parent channel
 * @param isPrivate whether it is a private thread; its members are not looked up, so only those who manage threads may read it
 */
export function canRead(
  userId: string,
  member: Member,
  { guild, channel, isPrivate }: { guild: Guild; channel: Channel; isPrivate: boolean },
): boolean {
  const wanted = isPrivate ? reading | PermissionFlagsBits.ManageThreads : reading;
  return (permissionsOf(userId, member, guild, channel) & wanted) === wanted;
}

const every = ~0n;

/** What a member may do in a guild, or in one of its channels, by the rules Discord documents for permissions. */
export function permissionsOf(userId: string, member: Member, guild: Guild, channel?: Channel): bigint {
  if (guild.owner_id === userId) return every;
  const roleIds = new Set([guild.id, ...member.roles]);
  const base = guild.roles.filter(({ id }) => roleIds.has(id)).reduce((bits, { permissions }) => bits | permissions, 0n);
  if ((base & PermissionFlagsBits.Administrator) !== 0n) return every;
  return channel === undefined ? base : overwritten(base, userId, roleIds, channel);
}

/** Applies the overwrites in Discord's order: everyone, then the member's roles together, then the member. */
function overwritten(
  base: bigint,
  userId: string,
  roleIds: ReadonlySet<string>,
  { guild_id: everyone, permission_overwrites: all }: Channel,
): bigint {
  const rounds = [
    all.filter(({ id }) => id === everyone),
    all.filter(({ id, type }) => type === Number(OverwriteType.Role) && id !== everyone && roleIds.has(id)),
    all.filter(({ id, type }) => type === Number(OverwriteType.Member) && id === userId),
  ];
  return rounds.reduce((bits, round) => {
    const deny = round.reduce((sum, one) => sum | one.deny, 0n);
    const allow = round.reduce((sum, one) => sum | one.allow, 0n);
    return (bits & ~deny) | allow;
  }, base);
}
