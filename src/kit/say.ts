import { IntlMessageFormat } from "intl-messageformat";
import german from "../../locales/de.json" with { type: "json" };
import english from "../../locales/en.json" with { type: "json" };
import type { TextValues } from "../generated/texts.ts";
import { createSentences, type TranslateSentence } from "../kernel/sentences.ts";
import { deJoints, deSentences } from "../locales.ts";

/** The texts of one language by their keys, as ICU messages. */
export type Texts = Readonly<Record<string, string>>;

/** By Discord's names of languages. English is complete, and stands in for what another one lacks. A language is its file and its line here. */
export const languages: Record<string, Texts> = { en: english, de: german };

/**
 * What can be said. Keys of commands: `<command>`, `<command> <path>`, `<command> <path> <option>`, `* <option>`; of values:
 * `<command> = <value>`, `= <value>`. A value or a field that is read from a view has a text or is shown as it is.
 */
export type TextKey =
  | keyof typeof english
  | `= ${string}`
  | `label ${string}`
  | `problem ${string}`
  | `permission ${string}`
  | `! ${string}`;

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

type Filled = Readonly<Record<string, string | number>>;
type Format = (values: Filled) => string;
const formats = new Map<string, Format>();

/** A message of a language, parsed once. Texts hold Discord's formatting, so nothing in them is a tag. */
function formatOf(language: string, message: string): Format {
  const id = `${language} ${message}`;
  let format = formats.get(id);
  if (format === undefined) {
    const parsed = /[{}']/.test(message) ? new IntlMessageFormat(message, language, undefined, { ignoreTag: true }) : undefined;
    format = (values) => (parsed === undefined ? message : String(parsed.format(values)));
    formats.set(id, format);
  }
  return format;
}

const sentences: Readonly<Record<string, TranslateSentence>> = {
  de: createSentences(deSentences, { valueText: valuesOf(german), joints: deJoints }),
};

/** What a value of a closed list is called; "Member" at the beginning of a sentence is the value `member`. */
function valuesOf(texts: Texts): (value: string) => string | undefined {
  return (value) => texts[`= ${value}`] ?? texts[`= ${value.toLowerCase()}`];
}

/** @param language as Discord names it, such as `de` or `en-GB` */
export function translator(language: string): Translate {
  const own = languages[language] ?? {};
  const texts: Texts = english;
  const sentenceOf = sentences[language];
  return (key: string, ...[values = {}]: readonly unknown[]) => {
    if (key.startsWith("! ")) return sentenceOf?.(key.slice(2)) ?? key.slice(2);
    const message = own[key];
    if (message !== undefined) return formatOf(language, message)(values as Filled);
    // A value without a text is shown as it is.
    return texts[key] === undefined ? key.replace(/^= /, "") : formatOf("en", texts[key])(values as Filled);
  };
}

/** English, as the HTTP interface has it. */
export const inEnglish: Translate = translator("en");

/** The text of a key that may have none, in somebody's language. */
export function textFor(key: string, t: Translate): string | undefined {
  const text = t(key as "= ");
  return text === key || `= ${text}` === key ? undefined : text;
}
