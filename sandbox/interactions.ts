import { randomBytes } from "node:crypto";
import { InteractionResponseType, InteractionType, MessageFlags, ChannelType } from "discord-api-types/v10";
import { DiscordApiError, invalidForm, unknown } from "./errors.ts";
import { answerWithChoices, answerWithModal, requireOriginal, requireSource, type Interaction, type Opening } from "./interaction.ts";
import { deleteMessage, editMessage, postMessage, readMessage, requireSomething } from "./messages.ts";
import type { Message, World } from "./model.ts";
import type { Signal } from "./signal.ts";
import { maxBytes, type Uploads } from "./uploads.ts";
import { messagePayload } from "./message-payload.ts";
import { channelPayload, memberPayload, permissionString } from "./payloads.ts";

type Files = Uploads["files"];

const tokenLifetimeMs = 15 * 60_000;

export type Interactions = ReturnType<typeof createInteractions>;

/**
 * Opens interactions and takes the application's answers to them.
 * @param ackDeadlineMs how long the first answer may take; Discord gives 3,000
 */
export function createInteractions(world: World, signal: Signal, ackDeadlineMs: number) {
  const byToken = new Map<string, Interaction>();
  const deadlines = new Set<NodeJS.Timeout>();

  /** Handlers of the first answer, by its type. */
  const answers: Partial<Record<number, (interaction: Interaction, data: Record<string, unknown>, files: Files) => void>> = {
    [InteractionResponseType.ChannelMessageWithSource]: answerWithMessage,
    [InteractionResponseType.DeferredChannelMessageWithSource]: (interaction, data) => {
      const ephemeral = Number(data["flags"] ?? 0) & MessageFlags.Ephemeral;
      interaction.original = post(interaction, { flags: ephemeral | MessageFlags.Loading });
      interaction.thinking = true;
    },
    [InteractionResponseType.DeferredMessageUpdate]: (interaction) => {
      interaction.original = requireSource(interaction);
    },
    [InteractionResponseType.UpdateMessage]: (interaction, data, files) => {
      const source = requireSource(interaction);
      const content = readMessage(world, data, { files, before: source.attachments }, source.flags);
      requireSomething({ ...source, ...content });
      editMessage(world, source, content);
      interaction.original = source;
      interaction.answered = true;
    },
    [InteractionResponseType.ApplicationCommandAutocompleteResult]: answerWithChoices,
    [InteractionResponseType.Modal]: answerWithModal,
  };

  const post = (interaction: Interaction, content: Parameters<typeof postMessage>[2]) => {
    const { id, type, name, member, target = null } = interaction;
    const origin = { id, type: type as 2 | 3 | 5, name, user: member.user, target };
    return postMessage(world, interaction.channel, content, { interaction: origin });
  };

  function answerWithMessage(interaction: Interaction, data: Record<string, unknown>, files: Files): void {
    const content = readMessage(world, data, { files });
    requireSomething(content);
    interaction.original = post(interaction, content);
    interaction.answered = true;
  }

  return {
    /** Tells the application; when it has not answered by the deadline the interaction is missed. */
    open(opening: Opening): Interaction {
      const interaction: Interaction = {
        ...opening,
        id: world.nextId(),
        token: `sandbox-interaction-${randomBytes(24).toString("base64url")}`,
        createdAt: world.now(),
        ack: null,
        missed: false,
        original: null,
        thinking: false,
        answered: false,
        followups: [],
        modal: null,
        choices: null,
      };
      byToken.set(interaction.token, interaction);
      const deadline = setTimeout(() => {
        deadlines.delete(deadline);
        interaction.missed = interaction.ack === null;
        signal.notify();
      }, ackDeadlineMs);
      deadlines.add(deadline);
      world.emit({
        t: "INTERACTION_CREATE",
        guildId: interaction.guild.id,
        intent: 0,
        data: () => interactionPayload(world, interaction),
      });
      return interaction;
    },

    /** The first answer: 10062 when late or unknown, 40060 when there was one already. */
    answer(id: string, token: string, body: Record<string, unknown>, files: Files): Interaction {
      const interaction = byToken.get(token);
      if (interaction?.id !== id) throw unknown("Interaction");
      if (interaction.ack) throw new DiscordApiError(400, 40060, "Interaction has already been acknowledged.");
      const afterMs = world.now() - interaction.createdAt;
      if (interaction.missed || afterMs > ackDeadlineMs) throw unknown("Interaction");
      const type = Number(body["type"]);
      const apply = answers[type];
      const isAutocomplete = interaction.type === InteractionType.ApplicationCommandAutocomplete;
      const isChoices = type === InteractionResponseType.ApplicationCommandAutocompleteResult;
      if (!apply || isAutocomplete !== isChoices)
        throw invalidForm("type", "BASE_TYPE_CHOICES", "This answer does not fit the interaction.");
      apply(interaction, (body["data"] ?? {}) as Record<string, unknown>, files);
      interaction.ack = { type, afterMs };
      signal.notify();
      return interaction;
    },

    /** The interaction behind a web-hook token, for 15 minutes: 50027 when over or never seen, 10015 before the first answer. */
    byWebhookToken(token: string): Interaction {
      const interaction = byToken.get(token);
      if (!interaction || world.now() - interaction.createdAt > tokenLifetimeMs)
        throw new DiscordApiError(401, 50027, "Invalid Webhook Token");
      if (!interaction.ack) throw unknown("Webhook");
      return interaction;
    },

    /** The first message after a deferral takes the place of the deferral; later ones stand on their own. */
    followUp(interaction: Interaction, body: Record<string, unknown>, files: Files): Message {
      if (interaction.thinking) return this.edit(interaction, requireOriginal(interaction), body, files);
      const content = readMessage(world, body, { files });
      requireSomething(content);
      const message = post(interaction, content);
      interaction.followups.push(message);
      interaction.answered = true;
      signal.notify();
      return message;
    },

    edit(interaction: Interaction, message: Message, body: Record<string, unknown>, files: Files): Message {
      const content = readMessage(world, body, { files, before: message.attachments }, message.flags);
      requireSomething({ ...message, ...content });
      const wasThinking = interaction.thinking && message === interaction.original;
      editMessage(world, message, { flags: message.flags & ~MessageFlags.Loading, ...content });
      if (wasThinking) {
        interaction.thinking = false;
        message.editedAt = null;
      }
      interaction.answered = true;
      signal.notify();
      return message;
    },

    remove(interaction: Interaction, message: Message): void {
      deleteMessage(world, message);
      if (interaction.original === message) interaction.original = null;
      const at = interaction.followups.indexOf(message);
      if (at >= 0) interaction.followups.splice(at, 1);
      signal.notify();
    },

    stop(): void {
      for (const deadline of deadlines) clearTimeout(deadline);
    },
  };
}

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
    guild: { id: guild.id, locale: guild.preferredLocale, features: [] },
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
    attachment_size_limit: maxBytes,
  };
}
