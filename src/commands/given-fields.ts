import type { FindGiven, GivenField } from "../discord/field-lines.ts";
import type { FieldError } from "../kernel/errors.ts";
import { isSnowflake } from "../kernel/fields.ts";
import type { CommandInput, Entry, FieldSpec, OptionSpec } from "./entry.ts";
import { keysOf, textOf } from "./texts.ts";
import { languages } from "../kit/say.ts";
import type { VerbInput } from "./verbs.ts";

/** A place of a command where something is given. */
type Place = OptionSpec | FieldSpec;

interface RefusedInput {
  given: CommandInput;
  typed: CommandInput;
  sent: VerbInput | undefined;
}

const maxValueLength = 40;
const minPartLength = 4;
const minWordLength = 3;
/** What can be shown as it was typed: it looks like no mention of everybody, no link and no formatting, and reorders nothing. */
const plain = /^(?!@everyone|@here)@?[\p{L}\p{N}][\p{L}\p{N} _.,:;+#-]*$/u;
/** Of these, what was given says nothing. */
const valueless = /^(?:too_|required|conflict|unknown_field|not_readable)/;
const mentions: Partial<Record<Place["kind"], string>> = { user: "@", role: "@&", channel: "#" };

/**
 * Finds where a person gave what a refusal finds wrong: by the name of the field, or else by the value that stands there in what was sent.
 * @param refused what the command was given, the same as it was typed, and what the refused verb was sent; undefined where it was none
 */
export function givenFinder(entry: Entry, { given, typed, sent }: RefusedInput, language: string): FindGiven {
  const { options = [], form = [], press } = entry;
  const places: readonly Place[] = [...options, ...form, ...(press?.carries ?? [])];

  function nameOf({ name }: Place): string {
    if (options.some((option) => option.name === name) || !form.some((field) => field.name === name)) return name;
    const keys = keysOf(entry.command, entry.path, name);
    return textOf(keys, languages[language] ?? {}) ?? textOf(keys) ?? name;
  }

  return (error): GivenField | undefined => {
    const path = error.pointer
      .split("/")
      .slice(1)
      .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
    const value = valueAt(partOf(sent, error.in), path);
    const place = byName(places, path) ?? byValue(places, given, value, path) ?? byStem(places, path);
    if (place === undefined) return undefined;
    const shown = valueless.test(error.code) ? undefined : shownValue(place, value, { given, typed });
    const { completes, orPick } = options.find((option) => option === place) ?? {};
    return { name: nameOf(place), value: shown, userOption: orPick, isSuggested: completes !== undefined };
  };
}

function byName(places: readonly Place[], path: readonly string[]): Place | undefined {
  return firstOf(path, (step) => places.find(({ name }) => name.replaceAll("-", "_") === step));
}

/** An option `user` may be sent as `user_id`. */
function byStem(places: readonly Place[], path: readonly string[]): Place | undefined {
  return firstOf(path, (step) => places.find(({ name }) => stemOf(name) === stemOf(step)));
}

const stemOf = (name: string): string =>
  name
    .replaceAll("-", "_")
    .replace(/^discord_/, "")
    .replace(/_ids?$|_at$|s$/, "");

function firstOf(path: readonly string[], find: (step: string) => Place | undefined): Place | undefined {
  return path.map(find).find((place) => place !== undefined);
}

/** Where several places hold the same, the one that is called like the field. */
function byValue(places: readonly Place[], { values }: CommandInput, value: unknown, path: readonly string[]): Place | undefined {
  const sent = textOfValue(value);
  if (sent === undefined || sent === "") return undefined;
  const words = path.flatMap((step) => step.split("_")).filter((word) => word.length >= minWordLength);
  const holding = (fits: (given: string) => boolean): Place | undefined => {
    const found = places.filter(({ name }) => {
      const given = textOfValue(values[name]);
      return given !== undefined && given.trim() !== "" && fits(given);
    });
    return found.find(({ name }) => words.some((word) => name.includes(word))) ?? found[0];
  };
  // A day that was typed is sent as its first moment.
  return (
    holding((given) => given === sent) ??
    holding((given) => given.includes(sent)) ??
    holding((given) => given.length >= minPartLength && sent.startsWith(given.trim().replace(" ", "T")))
  );
}

function textOfValue(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value.toString() : undefined;
}

/** A part of what was given, or all of it, as it was typed, where something else was sent for it. */
function shownValue({ name, kind }: Place, sent: unknown, { given: read, typed }: Omit<RefusedInput, "sent">): string | undefined {
  const given = textOfValue(typed.values[name] ?? read.values[name]);
  if (given === undefined || kind === "paragraph" || kind === "choice" || kind === "boolean") return undefined;
  const part = textOfValue(sent);
  const text = (part !== undefined && part !== "" && given.includes(part) ? part : given).trim();
  const mention = mentions[kind];
  if (mention !== undefined && isSnowflake(text)) return `<${mention}${text}>`;
  return text.length <= maxValueLength && plain.test(text) ? `\`${text}\`` : undefined;
}

function partOf(sent: VerbInput | undefined, where: FieldError["in"]): unknown {
  if (where === "path") return sent?.params;
  return where === "query" ? sent?.query : sent?.body;
}

function valueAt(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return value;
  if (typeof value !== "object" || value === null) return undefined;
  return valueAt((value as Readonly<Record<string, unknown>>)[step], rest);
}
