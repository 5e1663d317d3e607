import type { APIButtonComponentWithCustomId, APIActionRowComponent, APIButtonComponent, APIComponentInMessageActionRow } from "discord.js";
import type { ComponentInteraction, FormInteraction, Row, Reply } from "../discord/command.ts";
import type { Entry, CommandInput, OptionSpec, PickSpec, PressSpec, Wording } from "./entry.ts";
import { cut, momentOf } from "./show.ts";
import { sentenceText } from "../discord/sentence.ts";
import type { HeldView } from "../kernel/held.ts";
import type { Translate } from "../kit/say.ts";

/** What a button or a menu carries, by the names of the options it stands for. */
type Carried = Readonly<Record<string, string | undefined>>;

const hash = /^[0-9a-f]{64}$/;
const hashMark = "~";
const maxChoices = 25;
const textOfChoice = 100;

export const buttonStyles = { main: 1, plain: 2, good: 3, grave: 4 } as const;

/**
 * The custom id of a control that runs an entry with these values. It all stands in the id, so it works after a restart too.
 * A choice is written as its place, a SHA-256 as 43 characters.
 */
export function pressId({ name, carries }: PressSpec, carried: Carried): string {
  const parts = carries.map((option) => written(option, carried[option.name]));
  while (parts.at(-1) === "") parts.pop();
  return ["do", name, ...parts].join(":");
}

/** A button that runs an entry with these values. */
export function pressButton(
  press: PressSpec,
  carried: Carried,
  label: string,
  style: keyof typeof buttonStyles = "plain",
): APIButtonComponentWithCustomId {
  return { type: 2, style: buttonStyles[style], label: cut(label, 80), custom_id: pressId(press, carried) };
}

/** A menu to pick one of several views in; undefined where none of them can be picked. */
export function pickRow(
  { press: to, placeholder, of }: PickSpec<PressSpec | string>,
  views: readonly unknown[],
  wording: Wording,
): Row | undefined {
  const found = views.flatMap((view) => of(view as never, wording) ?? []).slice(0, maxChoices);
  if (found.length === 0) return undefined;
  const press = typeof to === "string" ? wording.pressOf(to) : to;
  const options = found.map(({ value, label }) => ({ value, label: cut(label, textOfChoice) }));
  const menu = { type: 3, custom_id: pressId(press, {}), placeholder: wording.t(placeholder), options } as const;
  return { type: 1, components: [menu] };
}

/**
 * What an entry is given by a control of `pressId`; undefined when it is none, or reaches no entry.
 * @param picked of a menu: it stands for the first value that is carried
 */
export function pressed(
  entries: readonly Entry[],
  [name, ...parts]: readonly string[],
  picked?: string,
): { entry: Entry; given: CommandInput } | undefined {
  const entry = entries.find(({ press }) => press?.name === name);
  if (entry?.press === undefined) return undefined;
  const values: [string, string][] = [];
  for (const [index, option] of entry.press.carries.entries()) {
    const part = index === 0 && picked !== undefined ? picked : read(option, parts[index] ?? "");
    if (part === undefined) return undefined;
    if (part !== "") values.push([option.name, part]);
  }
  return { entry, given: { values: Object.fromEntries(values), files: {} } };
}

/** What was picked in a menu. */
export function pickedIn(interaction: ComponentInteraction | FormInteraction): string | undefined {
  return interaction.isStringSelectMenu() ? interaction.values[0] : undefined;
}

function written({ choices }: OptionSpec, value = ""): string {
  if (value === "") return "";
  if (choices !== undefined) return choices.indexOf(value).toString();
  if (hash.test(value)) return hashMark + Buffer.from(value, "hex").toString("base64url");
  return encodeURIComponent(value).replaceAll(hashMark, "%7E");
}

/** @returns undefined for what `written` never wrote */
function read({ choices }: OptionSpec, part: string): string | undefined {
  if (part === "") return "";
  if (choices !== undefined) return choices[Number(part)] ?? "";
  if (part.startsWith(hashMark)) return Buffer.from(part.slice(1), "base64url").toString("hex");
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

type Control = APIComponentInMessageActionRow;

/** One row of a message. */
export function rowOf(...components: Control[]): Row {
  return { type: 1, components } satisfies APIActionRowComponent<Control>;
}

/** @param style 1: the way on, 2: plain, 3: good, 4: harm */
export function buttonOf(label: string, customId: string, style: 1 | 2 | 3 | 4 = 2): APIButtonComponent {
  return { type: 2, style, label, custom_id: customId };
}

/** Nothing was changed yet: who has to say so, until when, and the buttons for anyone who may. */
export function heldReply({ code, summary, needs, expires_at, key }: HeldView, t: Translate): Reply {
  const who = needs.map((one) => t(`held ${one}`)).join(", ");
  const waits = t("held waits", { summary: sentenceText(summary, t), who, until: momentOf(expires_at, "R"), code });
  const content = key === undefined ? waits : `${waits}\n${t("held key", { key })}`;
  // Only the person who asked sees this: where it is for somebody else to confirm, they can only take it back.
  const buttons = [
    ...(needs[0] === "acting_user" ? [buttonOf(t("button confirm"), `cf:accept:${code}`, 3)] : []),
    buttonOf(t("button decline"), `cf:decline:${code}`),
  ];
  return { content, components: [rowOf(...buttons)] };
}
