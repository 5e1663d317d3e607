import { ChannelType, Routes } from "discord.js";
import { z } from "zod";
import { ProblemError } from "../kernel/errors.ts";
import { canRead, Channel, Guild, isThread, Member } from "./channel-sight.ts";
import { refusalStatus } from "./rest-errors.ts";
import type { DiscordRest } from "./rest.ts";

/** A message of a server, as Discord told it now. */
export interface FetchedMessage {
  guildId: string;
  channelId: string;
  messageId: string;
  authorId: string;
  content: string;
  sentAt: Date;
  editedAt: Date | null;
  attachments: readonly FetchedAttachment[];
}

export interface FetchedAttachment {
  name: string;
  /** What Discord says it holds. */
  bytes: number;
  /** Signed, and good for a short while only. */
  url: string;
}

export interface MessageSource {
  /**
   * Fetch one message of a server this service serves.
   * @param viewerId who asks: what Discord does not show them, the bot does not fetch for them; null for the service itself
   * @returns undefined when there is none, or none that the bot and the viewer can see
   * @throws ProblemError discord_unavailable, discord_error
   */
  fetch(channelId: string, messageId: string, viewerId: string | null): Promise<FetchedMessage | undefined>;
}

interface MessagesOptions {
  rest: Pick<DiscordRest, "call">;
  /** Whose messages are fetched; empty: those of every server the bot is in. */
  guildIds: readonly string[];
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

/** Messages by the bot's own eyes: what a person says about a message never counts as fetched. */
export function createMessages({ rest, guildIds }: MessagesOptions): MessageSource {
  /** Look up, where "not there" and "not for the bot" are the same. */
  async function ask<T>(route: `/${string}`, schema: z.ZodType<T>): Promise<T | undefined> {
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

  /** What decides is asked of Discord now: what is stored here knows no channels. */
  async function isShown(channel: Channel, guildId: string, viewerId: string): Promise<boolean> {
    const parent = isThread(channel) ? await ask(Routes.channel(channel.parent_id ?? ""), Channel) : channel;
    const guild = await ask(Routes.guild(guildId), Guild);
    const member = await ask(Routes.guildMember(guildId, viewerId), Member);
    if (parent === undefined || guild === undefined || member === undefined) return false;
    return canRead(viewerId, member, { guild, channel: parent, isPrivate: channel.type === ChannelType.PrivateThread });
  }

  return {
    async fetch(channelId, messageId, viewerId) {
      const channel = await ask(Routes.channel(channelId), Channel);
      const guildId = channel?.guild_id;
      if (channel === undefined || guildId === undefined || (guildIds.length > 0 && !guildIds.includes(guildId))) return undefined;
      if (viewerId !== null && !(await isShown(channel, guildId, viewerId))) return undefined;
      const message = await ask(Routes.channelMessage(channelId, messageId), Message);
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
