import { ApplicationCommandType, ApplicationIntegrationType, InteractionContextType } from "discord.js";
import type { RESTPostAPIApplicationCommandsJSONBody } from "discord.js";
import { compareCommand, type Detail, type Fields } from "./registration-fields.ts";

/** What has to be done about one command. */
export type Change = { type: number; name: string } & (
  | { kind: "new"; wanted: Fields }
  | { kind: "changed"; id: string; wanted: Fields; details: Detail[] }
  | { kind: "gone"; id: string }
);

export interface Difference {
  changes: Change[];
  /** How many commands are as they should be. */
  unchanged: number;
  /** How many commands in the list are not ours to change. */
  foreign: number;
}

/** The kinds of commands that are registered here. Discord makes another one by itself for applications with an activity. */
const ours = new Set<number>([ApplicationCommandType.ChatInput, ApplicationCommandType.User, ApplicationCommandType.Message]);

function isOurs(command: Fields): boolean {
  return ours.has(typeOf(command));
}

/**
 * A command as it is sent: hidden from ordinary members and for guilds only, unless its payload says otherwise.
 * @param inGuild for the list of one guild, which says nothing of places
 */
export function payloadOf(payload: RESTPostAPIApplicationCommandsJSONBody, inGuild = false): Fields {
  const places = { contexts: [InteractionContextType.Guild], integration_types: [ApplicationIntegrationType.GuildInstall] };
  const full: Fields = { default_member_permissions: "0", ...places, ...payload };
  if (!inGuild) return full;
  const { contexts, integration_types, ...rest } = full;
  return rest;
}

/** What has to be done so that Discord's list becomes ours. Commands are told apart by kind and name, as Discord does. */
export function compareLists(known: readonly Fields[], wanted: readonly Fields[]): Difference {
  const left = new Map(known.filter(isOurs).map((command) => [keyOf(command), command]));
  const changes: Change[] = [];
  for (const command of wanted) {
    const old = left.get(keyOf(command));
    left.delete(keyOf(command));
    if (old === undefined) changes.push({ kind: "new", ...nameOf(command), wanted: command });
    else {
      const details = compareCommand(old, command);
      if (details.length > 0) changes.push({ kind: "changed", ...nameOf(command), id: String(old["id"]), wanted: command, details });
    }
  }
  const unchanged = wanted.length - changes.length;
  for (const command of left.values()) changes.push({ kind: "gone", ...nameOf(command), id: String(command["id"]) });
  return { changes, unchanged, foreign: known.filter((command) => !isOurs(command)).length };
}

const signs = { new: "+", changed: "~", gone: "-" } as const;

/** Short for a log: `+1:case`, `~1:case`, `-1:case`, the number being the kind of command. */
export function labelOf({ kind, type, name }: Change): string {
  return `${signs[kind]}${type.toString()}:${name}`;
}

function typeOf(command: Fields): number {
  return (command["type"] as number | undefined) ?? ApplicationCommandType.ChatInput;
}

function nameOf(command: Fields): { type: number; name: string } {
  return { type: typeOf(command), name: String(command["name"]) };
}

function keyOf(command: Fields): string {
  const { type, name } = nameOf(command);
  return `${type.toString()}:${name}`;
}
