import { ApplicationCommandType, InteractionType, type APIApplicationCommand } from "discord-api-types/v10";
import { resolve } from "./command-options.ts";
import type { Opening } from "./interaction.ts";
import { messagePayload } from "./message-payload.ts";
import type { Guild, Message, User, World } from "./model.ts";

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

/** The message is told in full, whoever wrote it: the person hands it over. */
export const messageCommandOpening = (world: World, command: APIApplicationCommand, message: Message): Opened =>
  opening(command, message.id, { messages: { [message.id]: messagePayload(world, message, true) } }, { messageId: message.id });
