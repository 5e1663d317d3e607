import { z } from "zod";
import { messageLimits, type InnerMessage, type MessageParts } from "../../kernel/message-parts.ts";
import type { FetchedMessage } from "../../kernel/discord-port.ts";
import { Snowflake } from "../../kernel/fields.ts";
import { madeAt } from "../../kernel/ids.ts";
import type { Reading } from "./context.ts";
import { held, newBudget, readObject, type Fields } from "./fields.ts";
import { createFileList } from "./files.ts";
import { commonParts } from "./parts.ts";
import { emojiPart } from "./small.ts";

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
