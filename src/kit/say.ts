import { IntlMessageFormat } from "intl-messageformat";
import german from "../../locales/de.json" with { type: "json" };
import english from "../../locales/en.json" with { type: "json" };
import type { TextValues } from "../generated/texts.ts";

/** The texts of one language by their keys, as ICU messages. */
export type Texts = Readonly<Record<string, string>>;

/** By Discord's names of languages. English is complete, and stands in for what another one lacks. A language is its file and its line here. */
export const languages: Record<string, Texts> = { en: english, de: german };

/**
 * What can be said. Keys of commands: `<command>`, `<command> <path>`, `<command> <path> <option>`, `* <option>`; of values:
 * `<command> = <value>`, `= <value>`. A value or a field that is read from a view has a text or is shown as it is.
 */
export type TextKey = keyof typeof english | `= ${string}` | `label ${string}` | `problem ${string}` | `permission ${string}`;

/** What follows a word in the keys that begin with it. */
export type KeyAfter<Word extends string> = TextKey extends infer Key ? (Key extends `${Word} ${infer Rest}` ? Rest : never) : never;

type Together<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void ? All : never;
/** What a text has to be given: everything that it fills in, and nothing where it fills in nothing. */
export type ValuesFor<Key, V> = TextKey extends Key
  ? [values?: Readonly<Record<string, V>>]
  : [Key] extends [keyof TextValues<V>]
    ? [values: Together<TextValues<V>[Key]>]
    : [Key & keyof TextValues<V>] extends [never]
      ? []
      : [values?: Readonly<Record<string, V>>];

/** The text of a key in somebody's language, in English where there is none, with what is filled in. */
export type Translate = <Key extends TextKey>(key: Key, ...values: ValuesFor<Key, string | number>) => string;

type Filled = Readonly<Record<string, unknown>>;
const formats = new Map<string, Map<string, IntlMessageFormat>>();

/** A message of a language, parsed once. Texts hold Discord's formatting, so nothing in them is a tag. */
function formatOf(language: string, message: string): IntlMessageFormat {
  let ofLanguage = formats.get(language);
  if (ofLanguage === undefined) formats.set(language, (ofLanguage = new Map<string, IntlMessageFormat>()));
  let format = ofLanguage.get(message);
  if (format === undefined) ofLanguage.set(message, (format = new IntlMessageFormat(message, language, undefined, { ignoreTag: true })));
  return format;
}

/** What nobody has filled in stands there by its name: a reply with a gap is better than none. */
const orItsName: ProxyHandler<Filled> = {
  has: () => true,
  get: (values, name) => (Object.hasOwn(values, name) ? values[name as string] : `{${String(name)}}`),
};

/** A text of a language, in English where it has none, as its words and what is filled in; undefined where there is no such text. */
function partsOf(language: string, key: string, values: Filled): readonly unknown[] | undefined {
  const own = languages[language]?.[key];
  const message = own ?? languages["en"]?.[key];
  if (message === undefined || !/[{}']/.test(message)) return message === undefined ? undefined : [message];
  const parts = formatOf(own === undefined ? "en" : language, message).format(new Proxy(values, orItsName) as Record<string, string>);
  return Array.isArray(parts) ? parts : [parts];
}

/** @param language as Discord names it, such as `de` or `en-GB` */
export function translator(language: string): Translate {
  // A value without a text is shown as it is.
  return (key: string, ...[values = {}]: readonly unknown[]) =>
    partsOf(language, key, values as Filled)?.join("") ?? key.replace(/^= /, "");
}

/** English, as the HTTP interface has it. */
export const inEnglish: Translate = translator("en");

declare const said: unique symbol;
/**
 * What the service says, as a key and what it fills in: stored, sent between processes and handed on as this text, and worded by `worded` for
 * whoever reads it. It can stand within another text, and be filled into another one.
 */
export type Said = string & { readonly [said]: true };

/** Stand around what is said. Unicode keeps them for use within a program, so that nobody writes them. */
const [opening, closing] = ["\ufdd0", "\ufdd1"];
const marks = new RegExp(`[${opening}${closing}]`, "g");
/** A text of somebody else that is handed back, without the marks. */
export const withoutMarks = (text: string): string => text.replaceAll(marks, "\ufffd");
const carried = (...parts: readonly unknown[]): Said => `${opening}${JSON.stringify(parts)}${closing}` as Said;

/** Says something by its key. */
export function say<Key extends TextKey>(key: Key, ...[values]: ValuesFor<Key, string | number>): Said {
  return values === undefined ? carried(key) : carried(key, values);
}

/** What is said begins so where it is stored. */
export const startOfSaid = opening;

/** The keys of one room whose English text is no sentence and holds some words, in any case. */
export function titleKeysWith(room: string, words: string): string[] {
  const wanted = words.toLowerCase();
  return Object.entries(english).flatMap(([key, text]) =>
    key.startsWith(room) && !text.endsWith(".") && text.toLowerCase().includes(wanted) ? [key] : [],
  );
}

/** A value of a closed list, such as `in_review`: as it is over HTTP, in words for people. */
export const term = (value: string): Said => carried(":term", value);
/** A server by its id, of which Discord has no mention. */
export const serverId = (id: string): Said => carried(":server", id);
/** Several things in a row. */
export const inRow = (items: readonly string[], joint: "and" | "or" | "," = ","): Said => carried(":row", joint, items);

/** Some of several things, and how many others there are. */
export const andMore = (shown: readonly string[], count: number): Said => say("joint more", { shown: inRow(shown), count });

/** How a transport shows what is said. */
export interface Wording {
  t: Translate;
  /** What was filled in, and what stands around what is said. */
  text(written: string): string;
  /** What is the service's own, between what is filled in. */
  own(written: string): string;
  term(value: string): string;
  server(id: string): string;
}

const asIs = (text: string): string => text;
/** As the HTTP interface has it: in English, values as they are. */
const plainWording: Wording = { t: inEnglish, text: asIs, own: asIs, term: asIs, server: asIs };

/** Whether a text holds something that is to be worded. */
export const isSaid = (text: string): boolean => text.includes(opening);

/** A text in words, in English and without formatting by default. What is nothing of ours stays as it is. */
export function worded(text: string, wording: Wording = plainWording): string {
  const start = text.indexOf(opening);
  if (start === -1) return wording.text(text);
  const end = endOf(text, start);
  const before = start === 0 ? "" : wording.text(text.slice(0, start));
  const after = end === text.length ? "" : worded(text.slice(end), wording);
  return before + partWorded(text.slice(start + 1, end - 1), wording) + after;
}

/** Where what is said ends, with what is filled into it. */
function endOf(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === opening) depth += 1;
    if (text[at] === closing) depth -= 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

/** What stands between the marks; undefined where somebody else has written these. */
function readPart(part: string): [key: string, first: unknown, second: unknown] | undefined {
  try {
    const [key, first, second] = JSON.parse(part) as unknown[];
    return typeof key === "string" ? [key, first, second] : undefined;
  } catch {
    return undefined;
  }
}

/** What somebody has put into JSON since, such as a library in its message; undefined where nobody has. */
function outOfJson(part: string): string | undefined {
  if (!part.includes("\\")) return undefined;
  try {
    return JSON.parse(`"${part}"`) as string;
  } catch {
    return undefined;
  }
}

function partWorded(part: string, wording: Wording): string {
  const read = readPart(part);
  if (read === undefined) {
    const inner = outOfJson(part);
    return inner === undefined ? wording.text(withoutMarks(part)) : JSON.stringify(partWorded(inner, wording)).slice(1, -1);
  }
  const [key, first, second] = read;
  if (key === ":term") return wording.term(String(first));
  if (key === ":server") return wording.server(String(first));
  if (key === ":row") return rowWorded(first as keyof typeof joints, second as readonly string[], wording);
  const values = (first ?? {}) as Readonly<Record<string, string | number>>;
  // What chooses the form of a text is found by what it is, and is told from the words by being no text.
  const given = Object.entries(values).map(([name, value]) => [name, typeof value === "number" ? value : { toString: () => value, value }]);
  const parts = partsOf(wording.t("language"), key, Object.fromEntries(given) as Filled) ?? [key];
  return parts.map((part) => (isFilled(part) ? worded(part.value, wording) : wording.own(String(part)))).join("");
}

const isFilled = (part: unknown): part is { value: string } => typeof part === "object" && part !== null && "value" in part;

const joints = { ",": "joint comma", and: "joint and", or: "joint or" } as const;

function rowWorded(joint: keyof typeof joints, items: readonly string[], wording: Wording): string {
  const shown = items.map((item) => worded(item, wording));
  const last = shown.at(-1) ?? "";
  const comma = wording.t("joint comma");
  return shown.length < 2 ? last : shown.slice(0, -1).join(comma) + wording.t(joints[joint]) + last;
}

/** The text of a key that may have none, in somebody's language. */
export function textFor(key: string, t: Translate): string | undefined {
  const text = t(key as "= ");
  return text === key || `= ${text}` === key ? undefined : text;
}

/** A view as JSON, worded in English. @param indent of its lines, as a file has it */
export function inJson(view: unknown, indent?: number): string {
  const text = JSON.stringify(view, null, indent);
  return isSaid(text) ? JSON.stringify(view, (_, value: unknown) => (typeof value === "string" ? worded(value) : value), indent) : text;
}

/** A view worded in English; the same one where there is nothing to word. */
export function inWords<View>(view: View): View {
  return isSaid(JSON.stringify(view)) ? (JSON.parse(inJson(view)) as View) : view;
}

let keysOfEnglish: ReadonlyMap<string, string> | undefined;

/** What earlier versions stored as an English sentence, as what is said; undefined where it is none, or has something filled in. */
export function readSaid(english: string): Said | undefined {
  keysOfEnglish ??= new Map(Object.entries(languages["en"] ?? {}).flatMap(([key, text]) => (key.includes(".") ? [[text, key]] : [])));
  const key = keysOfEnglish.get(english);
  return key === undefined ? undefined : carried(key);
}

/** What is said in the reader's language, without any formatting. */
export function plainSentence(sentence: string, t: Translate): string {
  return worded(readSaid(sentence) ?? sentence, {
    t,
    text: asIs,
    own: asIs,
    server: asIs,
    term: (value) => textFor(`= ${value}`, t) ?? textFor(`= ${value.toLowerCase()}`, t) ?? value,
  });
}
