import {
  ApplicationCommandOptionType as OptionType,
  ApplicationCommandType,
  InteractionType,
  MessageFlags,
  PermissionFlagsBits,
  StickerFormatType,
  type APIApplicationCommand,
} from "discord-api-types/v10";
import { browse, type BrowseOptions } from "./browser.ts";
import { commandData, findCommand, requireUsable, resolve, type OptionValue } from "./command-options.ts";
import { createRun, type Run, type RunContext } from "./interaction-run.ts";
import { buttonOpening, findButton, findSelect, selectOpening, type ButtonChoice } from "./message-controls.ts";
import type { Choice, Opening } from "./interaction.ts";
import { deleteMessage, postMessage } from "./messages.ts";
import type { Attachment, Channel, Guild, Message, User, World } from "./model.ts";
import { permissionsOf } from "./permissions.ts";
import { createAttachment, keepUpload } from "./uploads.ts";
import { messagePayload } from "./message-payload.ts";

/** What is typed in an autocomplete box: the text alone goes to the command's first such option. */
export type Typed = string | { focused: string; value: string; options?: Record<string, OptionValue> };

/** What a member sends: text, files, or both; into the first channel by default. */
export type Posting = {
  content?: string;
  attachments?: readonly (Pick<Attachment, "name" | "bytes"> & Partial<Attachment>)[];
  stickers?: readonly { name: string; bytes: Buffer; format?: StickerFormatType }[];
  channel?: Pick<Channel, "id">;
  /** What else Discord says of the message, in place of what the sandbox would say. */
  extra?: Record<string, unknown>;
};

/** Where a command is run; the guild's first channel by default. */
export type Where = { channel?: Pick<Channel, "id"> };

/** A user at the keyboard. */
export function createActor(context: RunContext & { origin: string }, user: User) {
  const { world } = context;

  const inGuild = (place: Pick<Guild, "id">) => {
    const guild = world.guilds.get(place.id);
    if (!guild) throw new Error("there is no such guild");
    return createGuildActor(context, user, guild);
  };

  return {
    in: inGuild,
    /** Autocomplete in the first guild the user shares with the bot. */
    async autocomplete(words: string, typed: Typed): Promise<Choice[]> {
      const shared = [...world.guilds.values()].find(({ members }) => members.has(user.id) && members.has(world.application.bot.id));
      if (!shared) throw new Error(`${user.username} shares no guild with the bot`);
      return inGuild(shared).autocomplete(words, typed);
    },
    /** Follows a consent link like a browser: our page, Discord's page, the callback. */
    authorize: (url: string, options: BrowseOptions) => browse(url, { ...options, origin: context.origin, user }),
  };
}

function createGuildActor(context: RunContext, user: User, guild: Guild) {
  const { world, signal } = context;

  /** The member and the channel, the first one unless named; checked at each act, because the world moves on. */
  function place(channelId?: string) {
    const member = guild.members.get(user.id);
    const channel = channelId === undefined ? [...guild.channels.values()][0] : guild.channels.get(channelId);
    if (!member || !channel) throw new Error(`${user.username} is not in ${guild.name}`);
    if (!guild.members.has(world.application.bot.id)) throw new Error(`the bot is not in ${guild.name}`);
    return { guild, member, channel };
  }

  /** A message of this guild as it stands now. */
  function requireMessage({ id, channelId }: Pick<Message, "id" | "channelId">): Message {
    const message = guild.channels.get(channelId)?.messages.get(id);
    if (!message) throw new Error("there is no such message");
    return message;
  }

  /** Where a message is sent to. */
  function requireTarget(channel: Pick<Channel, "id"> | undefined): Channel {
    if (!guild.members.has(user.id)) throw new Error(`${user.username} is not in ${guild.name}`);
    const target = channel === undefined ? [...guild.channels.values()][0] : guild.channels.get(channel.id);
    if (!target) throw new Error("there is no such channel");
    return target;
  }

  return {
    /** Runs `command`, `command sub` or `command group sub`; rejects what Discord's client would not let pass. */
    async runSlashCommand(words: string, options: Record<string, OptionValue> = {}, { channel }: Where = {}): Promise<Run> {
      const where = place(channel?.id);
      const found = findCommand(world, guild, words);
      requireUsable(world, guild, where.member, found.command);
      return createRun(context, {
        ...where,
        type: InteractionType.ApplicationCommand,
        data: commandData(world, guild, found, options),
        source: null,
        name: [found.command.name, ...found.path.map(({ name }) => name)].join(" "),
      });
    },
    /** Runs a command of a user's context menu on somebody, member or not. */
    async runUserCommand(name: string, target: User, { channel }: Where = {}): Promise<Run> {
      const where = place(channel?.id);
      const command = findMenuCommand(world, guild, name, ApplicationCommandType.User);
      requireUsable(world, guild, where.member, command);
      return createRun(context, { ...where, ...userCommandOpening(world, guild, command, target) });
    },
    /** Runs a command of a message's context menu. */
    async runMessageCommand(name: string, target: Pick<Message, "id" | "channelId">): Promise<Run> {
      const where = place(target.channelId);
      const command = findMenuCommand(world, guild, name, ApplicationCommandType.Message);
      requireUsable(world, guild, where.member, command);
      return createRun(context, { ...where, ...messageCommandOpening(world, command, requireMessage(target)) });
    },
    /** Deletes a message: one's own, or as somebody who may manage messages. */
    deleteMessage(target: Pick<Message, "id" | "channelId">): void {
      const message = requireMessage(target);
      const member = guild.members.get(user.id);
      const mayManage = member && permissionsOf(guild, member, world.now()) & PermissionFlagsBits.ManageMessages;
      if (!member || (message.author !== user && !mayManage)) throw new Error(`${user.username} may not delete this message`);
      deleteMessage(world, message);
      signal.notify();
    },
    /** Sends a message. */
    post({ content = "", attachments = [], stickers = [], channel, extra = {} }: Posting): Message {
      const files = attachments.map((file) => createAttachment(world, file));
      const shown = stickers.map(({ name, bytes, format = StickerFormatType.PNG }) => {
        const { id } = keepUpload(world, { name, bytes });
        return { id, name, format };
      });
      return postMessage(world, requireTarget(channel), { content, attachments: files }, { author: user, stickers: shown, extra });
    },
    /** Forwards a message, which may stand anywhere. */
    forward(source: Message, { channel }: Where = {}): Message {
      const forwarded = { ...source };
      return postMessage(world, requireTarget(channel), { flags: MessageFlags.HasSnapshot }, { author: user, forwarded });
    },
    /** The choices the application offers for what is typed. */
    async autocomplete(words: string, typed: Typed): Promise<Choice[]> {
      const where = place();
      const found = findCommand(world, guild, words);
      requireUsable(world, guild, where.member, found.command);
      const { focused, value, options = {} } = typeof typed === "string" ? { focused: undefined, value: typed } : typed;
      const option = found.options.find(({ name, autocomplete }) => autocomplete && (focused === undefined || name === focused));
      if (!option || option.type < OptionType.String) throw new Error(`/${words} completes no such option`);
      const run = createRun(context, {
        ...where,
        type: InteractionType.ApplicationCommandAutocomplete,
        data: commandData(world, guild, found, { ...options, [option.name]: value }, option.name),
        source: null,
        name: words,
      });
      await run.acked;
      return run.interaction.choices ?? [];
    },
    /** Presses a button on a message of the bot in this guild, newest first. */
    async clickButton(choice: ButtonChoice, ms = 60_000): Promise<Run> {
      const posted = () => [...guild.channels.values()].flatMap(({ messages }) => [...messages.values()].toReversed());
      const found = await signal.until(() => findButton(posted(), choice), ms, `no button ${JSON.stringify(choice)}`);
      return createRun(context, { ...place(found.message.channelId), ...buttonOpening(found) });
    },
    /** Presses a button on one message of a channel. */
    async press(target: Pick<Message, "id" | "channelId">, choice: ButtonChoice): Promise<Run> {
      const found = findButton([requireMessage(target)], choice);
      if (!found) throw new Error(`no button ${JSON.stringify(choice)}`);
      return createRun(context, { ...place(target.channelId), ...buttonOpening(found) });
    },
    /** Chooses in a select menu on one message of a channel. */
    async choose(target: Pick<Message, "id" | "channelId">, customId: string, values: readonly OptionValue[]): Promise<Run> {
      const found = findSelect([requireMessage(target)], customId);
      if (!found) throw new Error(`no menu ${customId}`);
      return createRun(context, { ...place(target.channelId), ...selectOpening(world, guild, found, values) });
    },
  };
}

export type MenuType = ApplicationCommandType.User | ApplicationCommandType.Message;

/** The command of a context menu by its name, first among the guild's, then the global ones. */
export function findMenuCommand(world: World, guild: Guild, name: string, type: MenuType): APIApplicationCommand {
  const all = [...guild.commands.values(), ...world.application.commands.values()];
  const found = all.find((known) => known.type === type && known.name === name);
  if (!found) throw new Error(`there is no ${type === ApplicationCommandType.User ? "user" : "message"} command ${name}`);
  return found;
}

type Opened = Pick<Opening, "type" | "data" | "source" | "name" | "target">;

const opening = (command: APIApplicationCommand, targetId: string, resolved: object, target: NonNullable<Opening["target"]>): Opened => ({
  type: InteractionType.ApplicationCommand,
  data: {
    id: command.id,
    name: command.name,
    type: command.type,
    target_id: targetId,
    resolved,
    ...(command.guild_id !== undefined && { guild_id: command.guild_id }),
  },
  source: null,
  name: command.name,
  target,
});

/** A user need not be a member: then there is no member among what is resolved. */
export const userCommandOpening = (world: World, guild: Guild, command: APIApplicationCommand, target: User): Opened =>
  opening(command, target.id, resolve(world, guild, [target]), { user: target });

/** The message is told in full, no matter who wrote it: the person hands it over. */
export const messageCommandOpening = (world: World, command: APIApplicationCommand, message: Message): Opened =>
  opening(command, message.id, { messages: { [message.id]: messagePayload(world, message, true) } }, { messageId: message.id });
