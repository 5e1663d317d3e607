import type { RESTPostAPIApplicationCommandsJSONBody } from "discord.js";
import type { Entry, OptionKind, OptionSpec } from "./entry.ts";
import type { CommandTable } from "./table.ts";
import { choiceKeys, keysOf, textOf } from "./texts.ts";
import { languages } from "../kit/say.ts";

const subcommand = 1;
const group = 2;
/** Discord's numbers of the kinds of options. */
export const optionTypes: Readonly<Record<OptionKind, number>> = {
  text: 3,
  integer: 4,
  boolean: 5,
  user: 6,
  channel: 7,
  role: 8,
  number: 10,
  file: 11,
};

interface Named {
  name: string;
}

/** The commands as Discord takes them. */
export function commandPayloads({
  entries,
  menus,
}: Pick<CommandTable, "entries" | "menus">): readonly RESTPostAPIApplicationCommandsJSONBody[] {
  const names = [...new Set(entries.map(({ command }) => command))];
  const slash = names.map((name) => {
    const of = entries.filter(({ command }) => command === name);
    return {
      name,
      ...describe([name]),
      options: optionsOf(name, of),
      ...(of.some(({ isPublic }) => isPublic) && { default_member_permissions: null }),
    };
  });
  const menu = menus.map(({ name, kind }) => ({ type: kind === "user" ? 2 : 3, name, ...nameOf(name) }));
  return [...slash, ...menu] as unknown as RESTPostAPIApplicationCommandsJSONBody[];
}

function optionsOf(command: string, of: readonly Entry[]): Named[] {
  const groups = new Map<string, Named[]>();
  const found: Named[] = [];
  for (const { path, options = [] } of of) {
    const [first = "", second] = path.split(" ");
    if (path === "") return options.map((option) => payloadOf(command, path, option));
    const leaf = { type: subcommand, name: second ?? first, ...describe(keysOf(command, path)) };
    const sub = { ...leaf, options: inOrder(options).map((option) => payloadOf(command, path, option)) };
    if (second === undefined) found.push(sub);
    else if (groups.has(first)) groups.get(first)?.push(sub);
    else {
      const within = [sub];
      groups.set(first, within);
      found.push({ type: group, name: first, ...describe(keysOf(command, first)), options: within } as Named);
    }
  }
  return found;
}

/** Discord wants what is required first. */
function inOrder(options: readonly OptionSpec[]): OptionSpec[] {
  return options.toSorted((a, b) => Number(b.required === true) - Number(a.required === true));
}

function payloadOf(command: string, path: string, option: OptionSpec): Named {
  const { name, kind, required = false, choices, completes, time, min, max, channelTypes } = option;
  const bounds = kind === "text" ? { min_length: min, max_length: max } : { min_value: min, max_value: max };
  const payload = {
    type: optionTypes[kind],
    name,
    ...describe(keysOf(command, path, name)),
    required,
    ...(choices !== undefined && { choices: choices.map((value) => ({ ...labelOf(command, value), value })) }),
    ...((completes !== undefined || time !== undefined) && { autocomplete: true }),
    channel_types: channelTypes,
    ...bounds,
  };
  return JSON.parse(JSON.stringify(payload)) as Named;
}

function describe(keys: readonly string[]): { description: string; description_localizations?: Record<string, string> } {
  return { description: textOf(keys) ?? keys[0] ?? "", ...localized("description_localizations", keys) };
}

function nameOf(name: string): object {
  return localized("name_localizations", [`> ${name}`]);
}

function labelOf(command: string, value: string): { name: string } {
  const keys = choiceKeys(command, value);
  return { name: textOf(keys) ?? value, ...localized("name_localizations", keys) };
}

function localized(field: string, keys: readonly string[]): object {
  const found = Object.entries(languages).flatMap(([language, texts]) => {
    if (language === "en") return [];
    const text = textOf(keys, texts);
    return text === undefined ? [] : [[language, text]];
  });
  return found.length === 0 ? {} : { [field]: Object.fromEntries(found) as Record<string, string> };
}
