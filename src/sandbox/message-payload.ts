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
    attachments: isShown
      ? message.attachments.map((attachment) =>
          attachmentPayload(world, attachment, { channelId: message.channelId, isEphemeral: isEphemeral(message) }),
        )
      : [],
    embeds: isShown ? message.embeds : [],
    components: message.components,
    pinned: message.pinnedAt !== null,
    flags: message.flags,
    ...(message.nonce !== null && { nonce: message.nonce }),
    ...(interaction && {
      application_id: world.application.id,
      webhook_id: world.application.id,
      ...(interaction.type === 2 && { interaction_metadata: interactionMetadata(message, interaction) }),
    }),
  };
}

const interactionMetadata = (message: Message, { id, type, user, target }: NonNullable<Message["interaction"]>) => ({
  id,
  type,
  user: userPayload(user),
  authorizing_integration_owners: { "0": message.guildId ?? "0" },
  ...(target && ("user" in target ? { target_user: userPayload(target.user) } : { target_message_id: target.messageId })),
});
