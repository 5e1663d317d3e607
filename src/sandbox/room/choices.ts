import { ApplicationCommandOptionType as OptionType, ApplicationCommandType } from "discord-api-types/v10";
import { valueOf, type OptionValue } from "../command-options.ts";
import type { OptionDefinition } from "../command-rules.ts";
import type { Guild, User, World } from "../model.ts";

/** Something that can be run: its type and words, such as `1:case open`. */
export type Entry = { value: string; label: string; options: readonly OptionDefinition[] };

const prefixes: Partial<Record<number, string>> = {
  [ApplicationCommandType.ChatInput]: "/",
  [ApplicationCommandType.User]: "User menu: ",
};

/** All commands a guild has, each sub-command by itself; those of message menus stand at the messages. */
export function commandEntries(world: World, guild: Guild): Entry[] {
  const all = [...guild.commands.values(), ...world.application.commands.values()];
  return all.flatMap(({ type, name, options }) => {
    const prefix = prefixes[type];
    return prefix === undefined ? [] : leaves(`${type}:${name}`, prefix + name, (options ?? []) as OptionDefinition[]);
  });
}

function leaves(value: string, label: string, options: readonly OptionDefinition[]): Entry[] {
  const branches = options.filter(({ type }) => type <= OptionType.SubcommandGroup);
  if (branches.length === 0) return [{ value, label, options }];
  return branches.flatMap((branch) => leaves(`${value} ${branch.name}`, `${label} ${branch.name}`, branch.options ?? []));
}

/** A person by id or user name; throws when there is none. */
export function findUser(world: World, text: string): User {
  const wanted = text.trim().replace(/^<@!?(\d+)>$/, "$1");
  const found = world.users.get(wanted) ?? [...world.users.values()].find(({ username }) => username === wanted);
  if (!found) throw new Error(`there is nobody called ${wanted}`);
  return found;
}

/** What is written in a form, as a value of the option's type; undefined when nothing is. */
export async function optionValue(
  world: World,
  guild: Guild,
  { type }: OptionDefinition,
  given: File | string | null,
): Promise<OptionValue | undefined> {
  if (given === null || given === "") return undefined;
  if (typeof given !== "string") return fileOf(given);
  if (type === OptionType.Integer || type === OptionType.Number) return Number(given);
  if (type === OptionType.Boolean) return given === "true";
  if (type === OptionType.User) return findUser(world, given);
  if (type === OptionType.Mentionable) return guild.roles.get(given) ?? findUser(world, given);
  return type === OptionType.String ? given : valueOf(world, guild, given);
}

/** A chosen file; undefined for the empty one a form sends when none is. */
export async function fileOf(file: File): Promise<OptionValue | undefined> {
  if (file.name === "" && file.size === 0) return undefined;
  const contentType = file.type === "" ? "application/octet-stream" : file.type;
  return { name: file.name, bytes: Buffer.from(await file.arrayBuffer()), contentType };
}
