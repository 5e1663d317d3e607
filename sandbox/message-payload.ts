import { GatewayIntentBits, MessageFlags, MessageType } from "discord-api-types/v10";
import { attachmentPayload } from "./cdn.ts";
import type { Message, World } from "./model.ts";
import { userPayload } from "./payloads.ts";

export const isEphemeral = (message: Message) => (message.flags & MessageFlags.Ephemeral) !== 0;

/** What others wrote is empty for an application without the message content intent, in answers as well as in events. */
function isReadable(world: World, { author, guildId }: Message): boolean {
  const { bot, privilegedIntents } = world.application;
  return author === bot || guildId === null || (privilegedIntents & GatewayIntentBits.MessageContent) !== 0;
}

const messageType = ({ interaction }: Message): MessageType => {
  if (interaction?.type !== 2) return MessageType.Default;
  return interaction.target ? MessageType.ContextMenuCommand : MessageType.ChatInputCommand;
};

/**
 * A message on the wire.
 * @param isGiven whether somebody handed it to the application on purpose, which shows it without the message content intent
 */
export function messagePayload(world: World, message: Message, isGiven = false) {
  const { interaction } = message;
  const isShown = isGiven || isReadable(world, message);
  return {
    id: message.id,
    type: messageType(message),
    channel_id: message.channelId,
    author: userPayload(message.author),
    content: isShown ? message.content : "",
    timestamp: new Date(message.createdAt).toISOString(),
    edited_timestamp: message.editedAt === null ? null : new Date(message.editedAt).toISOString(),
    tts: false,
    mention_everyone: message.alerted.everyone,
    mentions: message.alerted.users.flatMap((id) => world.users.get(id) ?? []).map(userPayload),
    mention_roles: [...message.alerted.roles],
    attachments: isShown ? attachmentsOf(world, message) : [],
    embeds: isShown ? message.embeds : [],
    components: isShown ? message.components : [],
    ...(message.stickers.length > 0 && { sticker_items: stickersOf(message) }),
    ...(message.forwarded !== null && forwardOf(world, message.forwarded, isShown)),
    pinned: message.pinnedAt !== null,
    flags: message.flags,
    ...(message.nonce !== null && { nonce: message.nonce }),
    ...(interaction && {
      application_id: world.application.id,
      webhook_id: world.application.id,
      ...(interaction.type === 2 && { interaction_metadata: interactionMetadata(message, interaction) }),
    }),
    ...extraOf(message, isShown),
  };
}

const attachmentsOf = (world: World, message: Message) =>
  message.attachments.map((attachment) =>
    attachmentPayload(world, attachment, { channelId: message.channelId, isEphemeral: isEphemeral(message) }),
  );

const stickersOf = ({ stickers }: Message) => stickers.map(({ id, name, format }) => ({ id, name, format_type: format }));

/** A copy of the message, without its author, that whoever sees the forwarding message sees. */
function forwardOf(world: World, source: Message, isShown: boolean) {
  const { id, channelId, guildId } = source;
  return {
    message_reference: { type: 1, message_id: id, channel_id: channelId, ...(guildId !== null && { guild_id: guildId }) },
    message_snapshots: [
      {
        message: {
          type: messageType(source),
          content: isShown ? source.content : "",
          mentions: [],
          mention_roles: [],
          attachments: isShown ? attachmentsOf(world, source) : [],
          embeds: isShown ? source.embeds : [],
          components: isShown ? source.components : [],
          timestamp: new Date(source.createdAt).toISOString(),
          edited_timestamp: source.editedAt === null ? null : new Date(source.editedAt).toISOString(),
          flags: source.flags,
          ...(source.stickers.length > 0 && { sticker_items: stickersOf(source) }),
        },
      },
    ],
  };
}

/** Fields that are empty without the message content intent. */
const contentFields: ReadonlySet<string> = new Set(["content", "attachments", "embeds", "components", "poll", "message_snapshots"]);

const extraOf = ({ extra }: Message, isShown: boolean) =>
  isShown ? extra : Object.fromEntries(Object.entries(extra).filter(([name]) => !contentFields.has(name)));

const interactionMetadata = (message: Message, { id, type, user, target }: NonNullable<Message["interaction"]>) => ({
  id,
  type,
  user: userPayload(user),
  authorizing_integration_owners: { "0": message.guildId ?? "0" },
  ...(target && ("user" in target ? { target_user: userPayload(target.user) } : { target_message_id: target.messageId })),
});
