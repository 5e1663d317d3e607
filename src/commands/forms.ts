import type { APIEmbed } from "discord.js";
import { isSnowflake } from "../kernel/fields.ts";
import type { Form, Control, Reply, Row } from "../discord/command.ts";
import { fitForm } from "../discord/interactions/component-limits.ts";
import type { Call } from "../kernel/call.ts";
import type { Entry, FieldSpec, CommandInput, OptionSpec, ShownForm } from "./entry.ts";
import { choiceKeys, keysOf, textOf } from "./texts.ts";
import { say, languages, type Texts, type Translate } from "../kit/say.ts";
import { escapeText } from "../discord/replies.ts";
import { ProblemError } from "../kernel/errors.ts";
import type { PendingInteraction, PendingInteractions } from "./pending-interactions.ts";
import { buttonOf, rowOf } from "./press.ts";
import { cut } from "./show.ts";
import type { CommandTable } from "./table.ts";

const maxLength = 4000;
const label = 18;
const styles = { line: 1, paragraph: 2 } as const;

/** The form of an entry in somebody's language. @param customId what is sent back with it */
export function formOf(entry: Entry, customId: string, given: CommandInput, language: string): Form {
  const texts = languages[language];
  const title = text(keysOf(entry.command, entry.path), texts);
  const components = (entry.form ?? []).map((field) => {
    const words = text(keysOf(entry.command, entry.path, field.name), texts);
    return {
      type: label,
      ...(field.isOption === true ? { label: field.name, description: words } : { label: words }),
      component: componentOf(entry.command, field, given.values[field.name], texts),
    };
  });
  return fitForm({ custom_id: customId, title, components } as Form);
}

function componentOf(
  command: string,
  { name, kind, required = false, choices = [], min, max }: FieldSpec,
  value: unknown,
  texts: Texts | undefined,
): object {
  const common = { custom_id: name, required };
  if (kind === "user") {
    const isKnown = typeof value === "string" && isSnowflake(value);
    return { type: 5, ...common, ...(isKnown && { default_values: [{ id: value, type: "user" }] }) };
  }
  if (kind === "files") return { type: 19, ...common, min_values: required ? 1 : 0, max_values: max ?? 5 };
  if (kind === "choice") {
    const options = choices.map((one) => ({
      value: one,
      label: text(choiceKeys(command, one), texts, one),
      default: one === value,
    }));
    return { type: 3, ...common, options, min_values: required ? 1 : 0 };
  }
  const filled = (typeof value === "string" && value !== "") || typeof value === "number" ? { value: value.toString() } : {};
  return {
    type: 4,
    ...common,
    style: styles[kind],
    ...(min !== undefined && { min_length: min }),
    max_length: max ?? maxLength,
    ...filled,
  };
}

function text(keys: readonly string[], texts: Texts | undefined, otherwise = keys[0] ?? ""): string {
  return (texts === undefined ? undefined : textOf(keys, texts)) ?? textOf(keys) ?? otherwise;
}

const name = "fi";
const shown = 1500;
const maxFields = 5;
const longestNumber = 20;

/** An entry whose form asks for options that were refused as well, as far as it has room for all of them and a field for each kind. */
export function withMends(entry: Entry, mends: readonly string[] = []): Entry {
  const { form = [], options = [] } = entry;
  const fields = options.filter(({ name }) => mends.includes(name) && form.every((field) => field.name !== name)).map(fieldFor);
  const hasRoom = fields.length > 0 && fields.length + form.length <= maxFields && fields.every((field) => field !== undefined);
  return hasRoom ? { ...entry, form: [...fields, ...form] } : entry;
}

/** Undefined for a kind of option that no field of a form stands for. */
function fieldFor({ name, kind, choices, required = false, min, max }: OptionSpec): FieldSpec | undefined {
  const common = { name, required, isOption: true } as const;
  if (choices !== undefined) return { ...common, kind: "choice", choices };
  if (kind === "user") return { ...common, kind };
  if (kind === "integer" || kind === "number") return { ...common, kind: "line", max: longestNumber };
  return kind === "text" ? { ...common, kind: "line", ...(min !== undefined && { min }), ...(max !== undefined && { max }) } : undefined;
}

/** A form that is sent says all of its fields anew: one that was cleared is not given. */
export function withoutForm({ form = [] }: Entry, given: CommandInput): CommandInput {
  const fields = new Set(form.map(({ name }) => name));
  return { ...given, values: Object.fromEntries(Object.entries(given.values).filter(([name]) => !fields.has(name))) };
}

/** What a form of options gives numbers as: texts. */
export function withNumbers({ options = [] }: Entry, given: CommandInput): CommandInput {
  const values = Object.entries(given.values).map(([name, value]) => {
    const isNumber = options.some((option) => option.name === name && (option.kind === "integer" || option.kind === "number"));
    return [name, isNumber && typeof value === "string" && value.trim() !== "" && !Number.isNaN(Number(value)) ? Number(value) : value];
  });
  return { ...given, values: Object.fromEntries(values) as CommandInput["values"] };
}

/** What was typed into a form, beside an answer that is none to it yet. */
export function typedEmbed(entry: Entry, { values }: CommandInput, language: string): APIEmbed[] {
  const texts = languages[language];
  const lines = (entry.form ?? []).flatMap(({ name }) => {
    const value = values[name];
    const words = text(keysOf(entry.command, entry.path, name), texts);
    return value === undefined ? [] : [`**${escapeText(words)}**\n${escapeText(value.toString())}`];
  });
  return lines.length === 0 ? [] : [{ title: text(["say typed"], texts), description: lines.join("\n") }];
}

/** What the first field of the form reads now, and a button that opens the form with all of it. */
export function fillReply(
  { form = [] }: Entry,
  kept: PendingInteractions,
  asked: PendingInteraction,
  filled: CommandInput["values"],
  t: Translate,
): Reply {
  const values = { ...filled, ...asked.given.values };
  const key = kept.keep({ ...asked, given: { ...asked.given, values } });
  const [first = { name: "" }] = form;
  const content = `${t("say fill")}\n>>> ${cut(escapeText(String(values[first.name] ?? "–")), shown)}`;
  return { content, components: [rowOf(buttonOf(t("button fill"), `${name}:${key}`, 1))] };
}

/** A button that opens the form of a command that could not open it at once. */
export function formReply(kept: PendingInteractions, asked: PendingInteraction, t: Translate): Reply {
  return { content: t("say form"), components: [rowOf(buttonOf(t("button form"), `${name}:${kept.keep(asked)}`, 1))] };
}

/** A button that opens the form again, with all that was typed into it. */
export function againRow(kept: PendingInteractions, asked: PendingInteraction, t: Translate): Row {
  return rowOf(buttonOf(t("button again"), `${name}:${kept.keep(asked)}`, 1));
}

/** Follows the key of a form that is sent as an answer: what comes of it takes the place of what was shown. */
export const answerMode = "answer";

/** The custom id of a button that opens a form which is sent as an answer. */
export function answerFormId(key: string): string {
  return `${name}:${key}:${answerMode}`;
}

/** Keeps a form whose outcome an answer shows already. @returns the custom id of the button that opens it */
export function keepForm(kept: PendingInteractions, { actor }: Call, entry: string, { typed, shown: values }: ShownForm): string {
  const given = { values: { ...typed, ...values }, files: {} };
  const asked: PendingInteraction = {
    userId: actor?.id ?? "",
    entry,
    given,
    cursors: [],
    typed: { values: typed, files: {} },
    isAnswered: true,
  };
  return answerFormId(kept.keep(asked));
}

/** Opens a form that was offered. It can be opened again, as long as it was not sent. */
export function fillControl(kept: PendingInteractions, entryOf: CommandTable["entryOf"]): Control {
  return {
    name,
    opens([key = "", ...mode], interaction) {
      const asked = kept.find(key, interaction.user.id);
      const entry = withMends(entryOf(asked.entry), asked.mends);
      return formOf(entry, ["fm", key, ...mode].join(":"), asked.given, interaction.locale);
    },
    run() {
      throw new ProblemError("invalid_transition", { detail: say("commands.this-is-not-known-any-more-give") });
    },
  };
}
