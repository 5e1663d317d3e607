import { MessageFlags, MessageType } from "discord-api-types/v10";
import type { APIEmbed } from "discord-api-types/v10";
import { attachmentPayload } from "./cdn.ts";
import { checkComponents, presentComponents } from "./components.ts";
import type { Component } from "./components.ts";
import { DiscordApiError, invalidForm } from "./errors.ts";
import { alertedBy, nobody } from "./mentions.ts";
import type { Channel, Message, World } from "./model.ts";
import { userPayload } from "./payloads.ts";
import { GatewayIntentBits } from "discord-api-types/v10";

/** The changeable parts of a message; absent ones were not named. */
export type MessageContent = Partial<Pick<Message, "content" | "embeds" | "components" | "flags" | "alerted">>;

/** What a message has besides its content. */
type Given = Partial<Pick<Message, "author" | "attachments" | "interaction" | "nonce">>;

const sendableFlags =
  MessageFlags.Ephemeral | MessageFlags.SuppressEmbeds | MessageFlags.SuppressNotifications | MessageFlags.IsComponentsV2;

/** Reads and checks the body of a message. Limits: 2,000 characters, 10 embeds, 6,000 characters of embeds. */
export function readMessage(body: Record<string, unknown>): MessageContent {
  const content: MessageContent = {};
  if (body["content"] !== undefined) {
    const text = body["content"] ?? "";
    if (typeof text !== "string") throw invalidForm("content", "STRING_TYPE_CONVERT", "Could not interpret value as string.");
    if (text.length > 2000) throw invalidForm("content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.");
    content.content = text;
    content.alerted = alertedBy(text, body["allowed_mentions"]);
  }
  if (body["embeds"] !== undefined) content.embeds = readEmbeds((body["embeds"] ?? []) as APIEmbed[]);
  if (body["components"] !== undefined) {
    const components = (body["components"] ?? []) as Component[];
    checkComponents(components);
    content.components = presentComponents(components);
  }
  if (typeof body["flags"] === "number") content.flags = body["flags"] & sendableFlags;
  return content;
}

function readEmbeds(embeds: APIEmbed[]): APIEmbed[] {
  if (embeds.length > 10) throw invalidForm("embeds", "BASE_TYPE_BAD_LENGTH", "Must be between 0 and 10 in length.");
  let total = 0;
  for (const embed of embeds) {
    const fields = embed.fields ?? [];
    const lengths: [string | undefined, number][] = [
      [embed.title, 256],
      [embed.description, 4096],
      [embed.footer?.text, 2048],
      [embed.author?.name, 256],
      ...fields.flatMap(({ name, value }): [string, number][] => [
        [name, 256],
        [value, 1024],
      ]),
    ];
    if (fields.length > 25 || lengths.some(([text, most]) => (text?.length ?? 0) > most))
      throw invalidForm("embeds", "BASE_TYPE_MAX_LENGTH", "A part of an embed is too long.");
    total += lengths.reduce((sum, [text]) => sum + (text?.length ?? 0), 0);
  }
  if (total > 6000) throw invalidForm("embeds", "MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of 6000");
  return embeds.map((embed) => ({
    ...embed,
    type: "rich" as NonNullable<APIEmbed["type"]>,
    ...(embed.fields && { fields: embed.fields.map((field) => ({ ...field, inline: field.inline ?? false })) }),
  }));
}

/** 50006 unless the message would show something. */
export function requireSomething(message: MessageContent): void {
  if (!message.content?.trim() && !message.embeds?.length && !message.components?.length)
    throw new DiscordApiError(400, 50006, "Cannot send an empty message");
}

/** A new message, of the bot unless told; ephemeral ones are not kept in the channel and nobody is told. */
export function postMessage(world: World, channel: Channel, content: MessageContent, given: Given = {}): Message {
  const message: Message = {
    id: world.nextId(),
    channelId: channel.id,
    guildId: channel.guildId,
    author: given.author ?? world.application.bot,
    content: content.content ?? "",
    embeds: content.embeds ?? [],
    attachments: given.attachments ?? [],
    components: content.components ?? [],
    flags: content.flags ?? 0,
    createdAt: world.now(),
    editedAt: null,
    nonce: given.nonce ?? null,
    alerted: content.alerted ?? nobody,
    interaction: given.interaction ?? null,
  };
  if (isEphemeral(message)) return message;
  channel.messages.set(message.id, message);
  tellMessage(world, "MESSAGE_CREATE", message);
  return message;
}

/** Changes a message. Whether it is ephemeral cannot be changed. */
export function editMessage(world: World, message: Message, content: MessageContent): void {
  const { flags, ...rest } = content;
  Object.assign(message, rest, { editedAt: world.now() });
  const fixed = message.flags & MessageFlags.Ephemeral;
  if (flags !== undefined) message.flags = (flags & ~MessageFlags.Ephemeral) | fixed;
  if (!fixed) tellMessage(world, "MESSAGE_UPDATE", message);
}

export function deleteMessage(world: World, message: Message): void {
  world.channels.get(message.channelId)?.messages.delete(message.id);
  if (!isEphemeral(message)) tellMessage(world, "MESSAGE_DELETE", message);
}

export const isEphemeral = (message: Message) => (message.flags & MessageFlags.Ephemeral) !== 0;

function tellMessage(world: World, t: "MESSAGE_CREATE" | "MESSAGE_UPDATE" | "MESSAGE_DELETE", message: Message): void {
  const { id, channelId, guildId } = message;
  const place = guildId === null ? {} : { guild_id: guildId };
  world.emit({
    t,
    guildId,
    intent: guildId === null ? GatewayIntentBits.DirectMessages : GatewayIntentBits.GuildMessages,
    data: () => (t === "MESSAGE_DELETE" ? { id, channel_id: channelId, ...place } : { ...messagePayload(world, message), ...place }),
  });
}

/** What others wrote is empty for an application without the message content intent, in answers as well as in events. */
function isReadable(world: World, { author, guildId }: Message): boolean {
  const { bot, privilegedIntents } = world.application;
  return author === bot || guildId === null || (privilegedIntents & GatewayIntentBits.MessageContent) !== 0;
}

export function messagePayload(world: World, message: Message) {
  const { interaction } = message;
  const isShown = isReadable(world, message);
  return {
    id: message.id,
    type: interaction?.type === 2 ? MessageType.ChatInputCommand : MessageType.Default,
    channel_id: message.channelId,
    author: userPayload(message.author),
    content: isShown ? message.content : "",
    timestamp: new Date(message.createdAt).toISOString(),
    edited_timestamp: message.editedAt === null ? null : new Date(message.editedAt).toISOString(),
    tts: false,
    mention_everyone: message.alerted.everyone,
    mentions: message.alerted.users.flatMap((id) => world.users.get(id) ?? []).map(userPayload),
    mention_roles: [...message.alerted.roles],
    attachments: isShown ? message.attachments.map((attachment) => attachmentPayload(world, message, attachment)) : [],
    embeds: isShown ? message.embeds : [],
    components: message.components,
    pinned: false,
    flags: message.flags,
    ...(message.nonce !== null && { nonce: message.nonce }),
    ...(interaction && {
      application_id: world.application.id,
      webhook_id: world.application.id,
      ...(interaction.type === 2 && { interaction_metadata: interactionMetadata(message, interaction) }),
    }),
  };
}

const interactionMetadata = (message: Message, { id, type, user }: NonNullable<Message["interaction"]>) => ({
  id,
  type,
  user: userPayload(user),
  authorizing_integration_owners: { "0": message.guildId ?? "0" },
});
