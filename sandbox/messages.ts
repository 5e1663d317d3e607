import { GatewayIntentBits, MessageFlags, type APIEmbed } from "discord-api-types/v10";
import { checkComponents } from "./component-rules.ts";
import { presentComponents, type Component } from "./components.ts";
import { DiscordApiError, invalidForm } from "./errors.ts";
import { isEphemeral, messagePayload } from "./message-payload.ts";
import { alertedBy, nobody } from "./mentions.ts";
import type { Channel, Message, World } from "./model.ts";
import { readAttachments, type Uploads } from "./uploads.ts";

/** The changeable parts of a message; absent ones were not named. */
export type MessageContent = Partial<Pick<Message, "content" | "embeds" | "components" | "flags" | "alerted" | "attachments">>;

/** What a message has besides its content. */
type Given = Partial<Pick<Message, "author" | "interaction" | "nonce" | "stickers" | "forwarded" | "extra">>;

const sendableFlags =
  MessageFlags.Ephemeral | MessageFlags.SuppressEmbeds | MessageFlags.SuppressNotifications | MessageFlags.IsComponentsV2;

/**
 * Reads and checks the body of a message: 2,000 characters, 10 embeds, 5 rows, 10 files.
 * @param uploads the files that came with it, and the attachments the message has already
 * @param flags of the message that is changed
 */
export function readMessage(world: World, body: Record<string, unknown>, uploads: Uploads, flags = 0): MessageContent {
  const content: MessageContent = {};
  if (typeof body["flags"] === "number") content.flags = body["flags"] & sendableFlags;
  const isFree = (((content.flags ?? 0) | flags) & MessageFlags.IsComponentsV2) !== 0;
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
    checkComponents(components, isFree);
    content.components = presentComponents(components);
  }
  if (isFree && (content.content || content.embeds?.length))
    throw invalidForm("flags", "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", "The 'content' and 'embeds' fields cannot be used.");
  const attachments = readAttachments(world, body, uploads);
  if (attachments) content.attachments = attachments;
  return content;
}

/** 50006 unless the message would show something. */
export function requireSomething(message: MessageContent): void {
  if (!message.content?.trim() && !message.embeds?.length && !message.components?.length && !message.attachments?.length)
    throw new DiscordApiError(400, 50006, "Cannot send an empty message");
}

/** A new message, of the bot by default; ephemeral ones are not kept in the channel and nobody is told. */
export function postMessage(world: World, channel: Channel, content: MessageContent, given: Given = {}): Message {
  const message: Message = {
    id: world.nextId(),
    channelId: channel.id,
    guildId: channel.guildId,
    author: given.author ?? world.application.bot,
    content: content.content ?? "",
    embeds: content.embeds ?? [],
    attachments: content.attachments ?? [],
    components: content.components ?? [],
    flags: content.flags ?? 0,
    createdAt: world.now(),
    editedAt: null,
    nonce: given.nonce ?? null,
    alerted: content.alerted ?? nobody,
    pinnedAt: null,
    stickers: given.stickers ?? [],
    forwarded: given.forwarded ?? null,
    extra: given.extra ?? {},
    interaction: given.interaction ?? null,
  };
  if (isEphemeral(message)) {
    keepFiles(world, message);
    return message;
  }
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
  if (fixed) keepFiles(world, message);
  else tellMessage(world, "MESSAGE_UPDATE", message);
}

/** An answer for one pair of eyes is in no channel, yet its files are served. */
function keepFiles({ files }: World, { attachments }: Message): void {
  for (const attachment of attachments) files.set(attachment.id, attachment);
}

/** Pins a message or takes the pin away; nothing happens when that is so already. */
export function setPinned(world: World, message: Message, isPinned: boolean): void {
  if ((message.pinnedAt !== null) === isPinned) return;
  message.pinnedAt = isPinned ? world.now() : null;
  const { channelId, guildId } = message;
  const pins = [...(world.channels.get(channelId)?.messages.values() ?? [])].flatMap(({ pinnedAt }) => pinnedAt ?? []);
  world.emit({
    t: "CHANNEL_PINS_UPDATE",
    guildId,
    intent: guildId === null ? GatewayIntentBits.DirectMessages : GatewayIntentBits.Guilds,
    data: () => ({
      channel_id: channelId,
      ...(guildId !== null && { guild_id: guildId }),
      last_pin_timestamp: pins.length > 0 ? new Date(Math.max(...pins)).toISOString() : null,
    }),
  });
  tellMessage(world, "MESSAGE_UPDATE", message);
}

export function deleteMessage(world: World, message: Message): void {
  world.channels.get(message.channelId)?.messages.delete(message.id);
  if (!isEphemeral(message)) tellMessage(world, "MESSAGE_DELETE", message);
}

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

const maxEmbeds = 10;
const maxFields = 25;
/** Characters of all embeds of a message together. */
const maxText = 6000;

type Measured = readonly [path: string, text: string | undefined, most: number, isRequired: boolean];

/** Checks embeds as Discord does and fills in what it answers. */
export function readEmbeds(embeds: APIEmbed[]): APIEmbed[] {
  if (embeds.length > maxEmbeds) throw invalidForm("embeds", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.");
  let total = 0;
  for (const [index, embed] of embeds.entries()) {
    if ((embed.fields?.length ?? 0) > maxFields)
      throw invalidForm(`embeds.${index}.fields`, "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.");
    for (const [path, text, most, isRequired] of textsOf(embed)) {
      const place = `embeds.${index}.${path}`;
      if (isRequired && !text?.trim()) throw invalidForm(place, "BASE_TYPE_REQUIRED", "This field is required");
      if ((text?.length ?? 0) > most) throw invalidForm(place, "BASE_TYPE_MAX_LENGTH", `Must be ${most} or fewer in length.`);
      total += text?.length ?? 0;
    }
    checkColour(embed.color, `embeds.${index}.color`);
  }
  if (total > maxText) throw invalidForm("embeds", "MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of 6000");
  return embeds.map(presentEmbed);
}

const textsOf = (embed: APIEmbed): Measured[] => [
  ["title", embed.title, 256, false],
  ["description", embed.description, 4096, false],
  ["footer.text", embed.footer?.text, 2048, embed.footer !== undefined],
  ["author.name", embed.author?.name, 256, embed.author !== undefined],
  ...(embed.fields ?? []).flatMap(({ name, value }, index): Measured[] => [
    [`fields.${index}.name`, name, 256, true],
    [`fields.${index}.value`, value, 1024, true],
  ]),
];

function checkColour(color: number | undefined, at: string): void {
  if (color !== undefined && color !== null && !(Number.isInteger(color) && color >= 0 && color <= 0xffffff))
    throw invalidForm(at, "NUMBER_TYPE_MAX", "int value should be less than or equal to 16777215.");
}

const presentEmbed = (embed: APIEmbed): APIEmbed => ({
  ...embed,
  type: "rich" as NonNullable<APIEmbed["type"]>,
  ...(embed.fields && { fields: embed.fields.map((field) => ({ ...field, inline: field.inline ?? false })) }),
});
