import type { Choice } from "../discord/command.ts";
import type { FieldError } from "../kernel/errors.ts";
import type { CommandInput, Entry, TimeSpec } from "./entry.ts";
import { partsText } from "./length-text.ts";
import { minuteOf } from "./sources.ts";
import { say, type Translate } from "../kit/say.ts";
import {
  isNone,
  isPermanent,
  lengthIn,
  lengthOf,
  type LengthParts,
  momentOf,
  none,
  partsOf,
  permanent,
  permanentWords,
  type Unit,
  unitNames,
  wordsOf,
} from "./typed-times.ts";

/** What was given, with lengths and times as the HTTP API takes them. What is none stays as it was typed, for the route to refuse. */
export function withTimes({ options = [], form = [] }: Pick<Entry, "options" | "form">, given: CommandInput, now: Date): CommandInput {
  const values = { ...given.values };
  for (const { name, time } of [...options, ...form]) {
    const typed = values[name];
    if (time !== undefined && typeof typed === "string") values[name] = timeIn(time, typed, now) ?? typed;
  }
  return { ...given, values };
}

/** What was given and is none of the lengths or times that its option takes. */
export function unreadTimes({ options = [] }: Pick<Entry, "options">, given: CommandInput, now: Date): FieldError[] {
  return options.flatMap(({ name, time }): FieldError[] => {
    const typed = given.values[name];
    if (time === undefined || typeof typed !== "string" || timeIn(time, typed, now) !== undefined || time.accepts?.(typed) === true)
      return [];
    return [{ pointer: `/${name.replaceAll("-", "_")}`, in: "body", code: "invalid_value", detail: unread[time.kind] }];
  });
}

const unread = {
  length: say("commands.write-a-length-of-time-such-as"),
  end: say("commands.write-a-length-of-time-or-a"),
  time: say("commands.write-a-date-or-a-time-such"),
  past: say("commands.write-a-date-or-a-time-such-2"),
} as const satisfies Record<TimeSpec["kind"], string>;

function timeIn({ kind, canBePermanent, canBeNone }: TimeSpec, typed: string, now: Date): string | undefined {
  if (canBePermanent === true && isPermanent(typed)) return permanent;
  if (canBeNone === true && isNone(typed)) return none;
  const length = kind === "length" || kind === "end" ? lengthIn(typed) : undefined;
  if (length !== undefined) return length;
  return kind === "length" ? undefined : momentOf(typed, now, kind !== "past");
}

/** The days that are offered by their names. */
const namedDays: Readonly<Record<TimeSpec["kind"], readonly number[]>> = { past: [0, -1], time: [1], end: [1], length: [] };
const dayMs = 86_400_000;
const usualLengths: NonNullable<TimeSpec["usual"]> = [
  ["hour", 1],
  ["day", 1],
  ["day", 7],
  ["day", 30],
];
/** Offered for a number without a unit. */
const usualUnits: readonly Unit[] = ["hour", "day", "week", "month"];
/** More than three digits would be grouped. */
const halfTyped = /^(?:in |vor )?(\d{1,3})\s*(\p{L}*)$/iu;

/** What is offered while a length or a time is typed: the usual ones, the number in several units, or what the text means. */
export function timeChoices(spec: TimeSpec, typed: string, now: Date, t: Translate): Choice[] {
  const text = typed.trim().normalize("NFC");
  const choices = [
    ...(spec.canBeNone === true && (text === "" || isNone(text)) ? [{ name: t("length none"), value: none }] : []),
    ...wordsFor(spec, text, now, t),
    ...lengthsFor(text, spec.usual).flatMap((parts) => lengthChoice(spec, parts, now, t)),
    ...dateFor(spec, text, now),
    ...(spec.canBePermanent === true && permanentWords.some((word) => word.startsWith(text.toLowerCase()))
      ? [{ name: t("length permanent"), value: permanent }]
      : []),
  ];
  const accepted = choices.filter(({ value }) => value === permanent || spec.accepts?.(value) !== false);
  return accepted.filter(({ value }, index) => accepted.findIndex((one) => one.value === value) === index);
}

/** `tomorrow`, `yesterday`: the midnight their day begins with. */
function wordsFor({ kind }: TimeSpec, text: string, now: Date, t: Translate): Choice[] {
  return namedDays[kind].flatMap((days) => {
    const word = relative(t, "auto").format(days, "day");
    const at = momentOf(new Date(now.getTime() + days * dayMs).toISOString().slice(0, 10), now, true);
    return at === undefined || !word.toLowerCase().startsWith(text.toLowerCase()) ? [] : [{ name: `${word} · ${minuteOf(at)}`, value: at }];
  });
}

function lengthsFor(text: string, usual = usualLengths): LengthParts[] {
  if (text === "") return usual.map((one) => new Map([one]));
  const whole = partsOf(text.replace(/^(?:in|vor) | ago$/gi, ""));
  const [, count, start = ""] = halfTyped.exec(text) ?? [];
  const fitting =
    start === "" ? usualUnits : unitNames.filter((unit) => wordsOf(unit).some((word) => word.startsWith(start.toLowerCase())));
  const guessed = count === undefined ? [] : fitting.map((unit) => new Map([[unit, Number(count)]]));
  return [...(whole === undefined ? [] : [whole]), ...guessed];
}

/** Of a time: how far from now, and when that is. */
function lengthChoice({ kind }: TimeSpec, parts: LengthParts, now: Date, t: Translate): Choice[] {
  const length = lengthOf(parts);
  if (kind === "length" || kind === "end") return [{ name: partsText(parts, t), value: length }];
  const at = momentOf(length, now, kind !== "past");
  if (at === undefined) return [];
  const [[unit, count] = ["day", 0] as const] = parts;
  const told = parts.size === 1 ? `${relative(t, "always").format(kind === "past" ? -count : count, unit)} · ` : "";
  return [{ name: `${told}${minuteOf(at)}`, value: at }];
}

/** A date or a time that is typed whole. */
function dateFor({ kind }: TimeSpec, text: string, now: Date): Choice[] {
  const at = kind === "length" || text === "" || partsOf(text) !== undefined ? undefined : momentOf(text, now, kind !== "past");
  return at === undefined ? [] : [{ name: minuteOf(at), value: at }];
}

const relative = (t: Translate, numeric: "auto" | "always"): Intl.RelativeTimeFormat =>
  new Intl.RelativeTimeFormat(t("language"), { numeric });
