import type { APIEmbed } from "discord.js";
import { operationsOf } from "../../commands/doors.ts";
import type { CommandInput, CommandSet, Entry, OptionSpec, PressSpec, Reply, Wording } from "../../commands/entry.ts";
import { textIn } from "../../commands/input.ts";
import { pressId, rowOf } from "../../commands/press.ts";
import { contactText, cut } from "../../commands/show.ts";
import { nameOf, type CommandTable } from "../../commands/table.ts";
import { choiceKeys, keysOf } from "../../commands/texts.ts";
import { textFor, type Translate } from "../../kit/say.ts";
import type { VerbInput, Verbs } from "../../commands/verbs.ts";
import { can, type Call } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { commandsOf, groupNames, samples, tasks, type GroupName } from "./tasks.ts";

const nothing: CommandInput = { values: {}, files: {} };
const longest = 4000;
const maxChoices = 10;
/** Answers what everybody may ask about themselves. */
const operation = "getStaffAccess";
const press: PressSpec = { name: "hp", carries: [{ name: "group", kind: "text", choices: groupNames }], replaces: true };

/** How a command is shown: so that it can be pressed where its id is known. */
type Mention = (name: string) => string;

/** `/help`: what the caller may do here. @param table every command, this one included */
export function helpCommands(table: () => CommandTable): CommandSet {
  const named = (name: string): Entry | undefined => table().entries.find((entry) => nameOf(entry) === name);
  const offeredTo = (call: Call, verbs: Verbs): readonly Entry[] => table().entries.filter((entry) => isOffered(entry, call, verbs));

  function groupsOf(offered: readonly Entry[]): readonly (readonly [GroupName, readonly Entry[]])[] {
    return groupNames
      .map((group) => [group, commandsOf(group).flatMap((name) => offered.filter(({ command }) => command === name))] as const)
      .filter(([, entries]) => entries.length > 0);
  }

  function menuOf(offered: readonly Entry[], t: Translate, chosen?: string) {
    const options = groupsOf(offered).map(([group, { length: count }]) => ({
      value: group,
      label: t(`help group ${group}`),
      description: count === 1 ? t("help command") : t("help commands", { count }),
      default: group === chosen,
    }));
    return rowOf({ type: 3, custom_id: pressId(press, {}), placeholder: t("help choose"), options });
  }

  function overview(offered: readonly Entry[], mention: Mention, { t, call, operator }: Wording): Reply {
    if (call.actor?.isStaff !== true) return forResidents(offered, mention, { t, operator });
    const usual = tasks.flatMap(({ text, entry: name }) => {
      const entry = offered.find((one) => nameOf(one) === name);
      return entry === undefined ? [] : [`• ${t(`help task ${text}`)}: ${mention(name)}`];
    });
    const content = [t("help head"), ...usual, "", t("help more", { help: mention("help") }), t("help menus")].join("\n");
    return { content, components: [menuOf(offered, t)] };
  }

  async function answer(wording: Wording, verbs: Verbs): Promise<Reply> {
    const { t, call, given } = wording;
    const mention = await mentions(wording);
    const offered = offeredTo(call, verbs);
    const group = groupsOf(offered).find(([name]) => name === textIn(given, "group"));
    if (group !== undefined) return { ...groupReply(group, mention, t), components: [menuOf(offered, t, group[0])] };
    const typed = textIn(given, "task");
    if (typed === undefined) return overview(offered, mention, wording);
    const entry = named(typed.trim().replace(/^\//, "").toLowerCase());
    if (entry === undefined || !offered.includes(entry)) return { content: t("help unknown", { help: mention("help") }) };
    return explained(entry, mention, t);
  }

  return {
    entries: [
      {
        command: "help",
        path: "",
        isPublic: true,
        operation,
        options: [{ name: "task", kind: "text", completes: "help-task", max: 100 }],
        press,
        input: (_given, call) => ({ params: { discord_user_id: call.actor?.id ?? "" } }),
        answers: answer,
      },
    ],
    sources: {
      "help-task": {
        operation,
        input: () => ({}),
        read: (_given, call, verbs) => Promise.resolve(offeredTo(call, verbs)),
        keeps: (entry: Entry, typed: string) => nameOf(entry).includes(typed.trim().replace(/^\//, "").toLowerCase()),
        choice: (entry: Entry, _typed, t) => ({ name: cut(`/${nameOf(entry)} · ${descriptionOf(entry, t)}`, 100), value: nameOf(entry) }),
      },
    },
  };
}

/** Whether somebody can use a command: residents are shown those of everybody, as Discord hides the others from them. */
function isOffered(entry: Entry, call: Call, verbs: Verbs): boolean {
  if (call.actor?.isStaff !== true && entry.isPublic !== true) return false;
  if (entry.needs !== undefined && !entry.needs.some((permission) => can(call, permission))) return false;
  const params = paramsOf(entry, call);
  return operationsOf(entry).some((operation) => verbs.may(operation, call, params));
}

/** What an entry puts into the path by itself, such as the caller; an entry may refuse to be given nothing. */
function paramsOf(entry: Entry, call: Call): VerbInput["params"] {
  try {
    return entry.input(nothing, call).params;
  } catch (error) {
    if (error instanceof ProblemError) return undefined;
    throw error;
  }
}

async function mentions({ commandIds }: Wording): Promise<Mention> {
  const ids = await commandIds();
  return (name) => {
    const id = ids.get(name.split(" ")[0] ?? "");
    return id === undefined ? `\`/${name}\`` : `</${name}:${id}>`;
  };
}

function forResidents(offered: readonly Entry[], mention: Mention, { t, operator }: Pick<Wording, "t" | "operator">): Reply {
  const lines = offered.map((entry) => lineOf(entry, mention, t));
  const named = contactText(operator);
  const reach = named === undefined ? t("help staff") : t("help contact", { contact: named });
  return { content: [t("help own"), ...lines, "", t("help appeal"), reach].join("\n") };
}

function groupReply([group, entries]: readonly [GroupName, readonly Entry[]], mention: Mention, t: Translate): Reply {
  const description = cut(entries.map((entry) => lineOf(entry, mention, t)).join("\n"), longest);
  return { content: "", embeds: [{ title: t(`help group ${group}`), description }] };
}

function lineOf(entry: Entry, mention: Mention, t: Translate): string {
  return `• ${mention(nameOf(entry))}: ${descriptionOf(entry, t)}`;
}

/** One command: what it does, its options in words, and an example. */
function explained(entry: Entry, mention: Mention, t: Translate): Reply {
  const { options = [], form = [] } = entry;
  const fields = form.filter(({ name }) => !options.some((option) => option.name === name));
  const lines = [
    `${descriptionOf(entry, t)}.`,
    ...(options.length === 0 ? [] : ["", t("help options"), ...options.map((option) => optionLine(entry, option, t))]),
    ...(fields.length === 0 ? [] : ["", t("help form", { fields: fields.map(({ name }) => textOf(entry, name, t)).join("; ") })]),
    "",
    t("help example", { example: exampleOf(entry, t) }),
  ];
  const embed: APIEmbed = { title: `/${nameOf(entry)}`, description: cut(lines.join("\n"), longest) };
  return { content: mention(nameOf(entry)), embeds: [embed] };
}

function optionLine(entry: Entry, option: OptionSpec, t: Translate): string {
  const { name, required, choices = [], completes } = option;
  const notes = [
    ...(required === true ? [t("help needed")] : []),
    ...(choices.length === 0 ? [] : [t("help choices", { choices: choicesText(entry, choices, t) })]),
    ...(completes === undefined ? [] : [t("help completed")]),
  ];
  return `• \`${name}\`: ${textOf(entry, name, t)}${notes.length === 0 ? "" : ` (${notes.join("; ")})`}`;
}

function choicesText({ command }: Entry, choices: readonly string[], t: Translate): string {
  const shown = choices.slice(0, maxChoices).map((value) => labelOf(command, value, t));
  return [...shown, ...(choices.length > maxChoices ? ["…"] : [])].join(", ");
}

/** The command with what it needs, or with its first option where it needs none. */
function exampleOf(entry: Entry, t: Translate): string {
  const { options = [] } = entry;
  const needed = options.filter(({ required }) => required === true);
  const given = needed.length > 0 ? needed : options.slice(0, 1);
  return [`/${nameOf(entry)}`, ...given.map((option) => `${option.name}:${sampleOf(entry, option, t)}`)].join(" ");
}

function sampleOf({ command }: Entry, { name, kind, choices: [choice] = [], min = 1 }: OptionSpec, t: Translate): string {
  if (choice !== undefined) return labelOf(command, choice, t);
  if (kind === "user") return t("help somebody");
  if (kind === "integer" || kind === "number") return Math.max(min, 1).toString();
  if (kind === "boolean") return "True";
  return samples[name] ?? "…";
}

function labelOf(command: string, value: string, t: Translate): string {
  return firstText(choiceKeys(command, value), t) ?? value;
}

function descriptionOf({ command, path }: Entry, t: Translate): string {
  return firstText(keysOf(command, path), t) ?? `/${command} ${path}`;
}

function textOf({ command, path }: Entry, name: string, t: Translate): string {
  return firstText(keysOf(command, path, name), t) ?? name;
}

function firstText(keys: readonly string[], t: Translate): string | undefined {
  return keys.map((key) => textFor(key, t)).find((text) => text !== undefined);
}
