import { ApplicationCommandOptionType as OptionType, ApplicationCommandType, type APIApplicationCommand } from "discord-api-types/v10";
import { hiddenBecause, valueOf, type OptionValue } from "../command-options.ts";
import type { OptionDefinition } from "../command-rules.ts";
import type { Guild, Member, User, World } from "../model.ts";

/** Something that can be run: its type and words, such as `1:case open`, and what Discord shows of it. */
export type Entry = { value: string; label: string; group: string; description: string; options: readonly OptionDefinition[] };

type Localizations = Readonly<Record<string, string | null | undefined>> | null | undefined;
type Described = { description: string; description_localizations?: Localizations };
type Named = { name: string; name_localizations?: Localizations };

/** A name and a description in the reader's language, where the application has them in it. */
export const nameOf = ({ name, name_localizations: names }: Named, language: string): string => names?.[language] ?? name;
export const descriptionOf = ({ description, description_localizations: texts }: Described, language: string): string =>
  texts?.[language] ?? description;

/** The commands of one type that Discord shows a member in a guild. */
export const commandsOf = (world: World, guild: Guild, member: Member, type: ApplicationCommandType): APIApplicationCommand[] =>
  [...guild.commands.values(), ...world.application.commands.values()].filter(
    (command) => command.type === type && hiddenBecause(world, guild, member, command) === undefined,
  );

/** The slash commands that Discord shows a member, each sub-command by itself; those of context menus stand at people and messages. */
export function commandEntries(world: World, guild: Guild, member: Member, language: string): Entry[] {
  return commandsOf(world, guild, member, ApplicationCommandType.ChatInput).flatMap((command) => {
    const label = `/${nameOf(command, language)}`;
    return leaves(command as Branch, { language, value: `1:${command.name}`, label, group: label });
  });
}

type Branch = Named & Described & { options?: OptionDefinition[] | null };

function leaves(branch: Branch, at: Pick<Entry, "value" | "label" | "group"> & { language: string }): Entry[] {
  const { language, value, label, group } = at;
  const options = branch.options ?? [];
  const inner = options.filter(({ type }) => type <= OptionType.SubcommandGroup);
  if (inner.length === 0) return [{ value, label, group, description: descriptionOf(branch, language), options }];
  return inner.flatMap((one) => leaves(one, { ...at, value: `${value} ${one.name}`, label: `${label} ${nameOf(one, language)}` }));
}

/** At most as many suggestions as Discord shows. */
const maxSuggested = 25;

/** People whose names contain what was typed, members of the guild first. */
export function suggestedPeople(world: World, guild: Guild, typed: string): { name: string; value: string; word: string }[] {
  const wanted = typed.trim().toLowerCase();
  const all = new Set([...[...guild.members.values()].map(({ user }) => user), ...world.users.values()]);
  const fits = (user: User) =>
    [user.id, user.username, user.global_name ?? "", guild.members.get(user.id)?.nick ?? ""].some((name) =>
      name.toLowerCase().includes(wanted),
    );
  return [...all]
    .filter(fits)
    .slice(0, maxSuggested)
    .map((user) => ({
      name: user.global_name === null ? user.username : `${user.global_name} (${user.username})`,
      value: user.id,
      word: user.username,
    }));
}

/** A person by id or user name; throws when there is none. */
export function findUser(world: World, text: string): User {
  const wanted = text.trim().replace(/^<@!?(\d+)>$/, "$1");
  const found = world.users.get(wanted) ?? [...world.users.values()].find(({ username }) => username === wanted);
  if (!found) throw new Error(wanted === "" ? "a person has to be named" : `nobody is called ${wanted}`);
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
