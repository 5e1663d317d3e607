import { say } from "../../kit/say.ts";
import { ApplicationFlags, ChannelType, OverwriteType, PermissionFlagsBits, Routes, StickerFormatType } from "discord-api-types/v10";
import { z } from "zod";
import type { DiscordCalls, MessageSource, FetchedMessage } from "../../kernel/discord-port.ts";
import { ProblemError } from "../../kernel/errors.ts";
import type { ServedGuilds } from "../guild-state.ts";
import { allowedAddress, originOnThisMachine } from "./attachments.ts";
import { refusalStatus } from "./errors.ts";
import { messageLimits, type InnerMessage, type MessageParts } from "../../kernel/message-parts.ts";
import { Snowflake } from "../../kernel/fields.ts";
import { madeAt } from "../../kernel/ids.ts";
import { type Reading, createFileList } from "../messages/context.ts";
import { held, newBudget, readObject, type Fields } from "../messages/fields.ts";
import { commonParts } from "../messages/parts.ts";
import { emojiPart } from "../messages/small.ts";

/** The least that makes an answer of Discord a message. */
const Frame = z.object({ id: Snowflake, channel_id: Snowflake, author: z.object({ id: Snowflake }) });

/**
 * Reads a message of Discord part by part: one that is not in the form Discord documents is named among the gaps, and the rest is kept.
 * @returns undefined for what is no message
 */
export function readMessage(given: unknown, guildId: string, how: Pick<Reading, "isFetched" | "stickerUrl">): FetchedMessage | undefined {
  const frame = Frame.safeParse(given);
  if (!frame.success) return undefined;
  const { id: messageId, channel_id: channelId, author } = frame.data;
  const budget = newBudget();
  const files = createFileList(budget);
  const reading: Reading = { ...how, budget, files };
  return readObject(budget, given, "", (fields) => {
    fields.pass("id", "channel_id", "guild_id", "member");
    const content = fields.text("content") ?? "";
    const sentAt = fields.time("timestamp");
    const editedAt = fields.time("edited_timestamp");
    const common = commonParts(reading, fields);
    const rest = {
      ...common,
      forwards: forwardParts(reading, fields),
      reply_to: fields.object("referenced_message", (inner) => {
        inner.pass("reactions", "referenced_message", "guild_id", "member");
        return held<InnerMessage>({ ...innerMessage(reading, inner), forwards: forwardParts(reading, inner) });
      }),
      reactions: fields.objects("reactions", messageLimits.items, (reaction) => {
        reaction.pass("me", "me_burst", "burst_colors");
        return held({
          emoji: reaction.object("emoji", emojiPart),
          count: reaction.number("count"),
          ...reaction.object("count_details", (details) => {
            details.pass("normal");
            return { burst: details.number("burst") };
          }),
        });
      }),
    };
    fields.end();
    return {
      guildId,
      channelId,
      messageId,
      authorId: author.id,
      content,
      sentAt: sentAt === undefined ? new Date(madeAt(messageId)) : new Date(sentAt),
      editedAt: editedAt === undefined ? null : new Date(editedAt),
      parts: held<MessageParts>({ ...rest, gaps: budget.gaps }) ?? {},
      files: files.all,
    };
  });
}

function forwardParts(reading: Reading, fields: Fields): InnerMessage[] {
  return fields.objects("message_snapshots", messageLimits.items, (snapshot) => {
    snapshot.pass("guild_id");
    return snapshot.object("message", (message) => held(innerMessage(reading, message)));
  });
}

function innerMessage(reading: Reading, fields: Fields): InnerMessage {
  const author = fields.raw("author");
  return {
    message_id: fields.id("id"),
    channel_id: fields.id("channel_id"),
    author_id: author === undefined ? undefined : readObject(newBudget(), author, "", (one) => one.id("id")),
    content: fields.text("content"),
    sent_at: fields.time("timestamp"),
    edited_at: fields.time("edited_timestamp"),
    ...held(commonParts(reading, fields)),
  };
}

interface MessagesOptions {
  rest: DiscordCalls;
  /** The guilds whose messages are fetched. */
  served: ServedGuilds;
  /** Discord's API: it decides where files are, too. */
  apiBase: string;
}

const deadlineMs = 8000;
const Application = z.object({ flags: z.int() });
const contentFlags = ApplicationFlags.GatewayMessageContent | ApplicationFlags.GatewayMessageContentLimited;

/** Fetches messages from Discord itself, never from what a person sent about them. */
export function createMessages({ rest, served, apiBase }: MessagesOptions): MessageSource {
  const how = {
    isFetched: (url: string) => allowedAddress(url, originOnThisMachine(apiBase)) !== undefined,
    stickerUrl: stickersAt(apiBase),
  };

  /** Fetch; the status where Discord refuses with 403 or 404. */
  async function ask(route: `/${string}`): Promise<{ answer: unknown } | { refused: 403 | 404 }> {
    try {
      return { answer: await rest.call({ method: "GET", route, purpose: "lookup", deadlineMs }) };
    } catch (error) {
      const status = refusalStatus(error);
      if (status === 403 || status === 404) return { refused: status };
      throw error;
    }
  }

  /** Fetch and parse; undefined for both 403 and 404. */
  async function fetchAs<T>(route: `/${string}`, schema: z.ZodType<T>): Promise<T | undefined> {
    const asked = await ask(route);
    if ("refused" in asked) return undefined;
    const parsed = schema.safeParse(asked.answer);
    if (!parsed.success) throw unreadable(parsed.error);
    return parsed.data;
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
      if (channel === undefined || guildId === undefined || !served.has(guildId)) return "channel_hidden";
      if (viewerId !== null && !(await isShown(channel, guildId, viewerId))) return "channel_hidden";
      const asked = await ask(Routes.channelMessage(channelId, messageId));
      if ("refused" in asked) return asked.refused === 403 ? "history_hidden" : "message_gone";
      const message = readMessage(asked.answer, guildId, how);
      if (message === undefined) throw unreadable();
      return message.messageId === messageId && message.channelId === channelId ? message : "message_gone";
    },

    async isContentShown() {
      try {
        const { flags } = Application.parse(await rest.call({ method: "GET", route: "/applications/@me", purpose: "lookup", deadlineMs }));
        return (flags & contentFlags) !== 0;
      } catch {
        return undefined;
      }
    },
  };
}

function unreadable(cause?: unknown): ProblemError {
  return new ProblemError("discord_error", { detail: say("discord.discord-answered-with-something-else"), cause });
}

/** Where stickers are, by their format: films of vectors are JSON, moving ones of the older kind are PNG. */
function stickersAt(apiBase: string): (id: string, format: number) => string {
  const local = originOnThisMachine(apiBase);
  return (id, format) => {
    const isGif = format === Number(StickerFormatType.GIF);
    const host = local ?? (isGif ? "https://media.discordapp.net" : "https://cdn.discordapp.com");
    const ending = isGif ? "gif" : format === Number(StickerFormatType.Lottie) ? "json" : "png";
    return `${host}/stickers/${id}.${ending}`;
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
