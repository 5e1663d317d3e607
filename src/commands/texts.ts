import { de, deJoints, deSentences, en as english } from "../locales.ts";
import { createSentences, type TranslateSentence } from "../kernel/sentences.ts";
import type { Texts } from "../kernel/texts.ts";

const en: Texts = english;

/**
 * What can be said. Keys of commands: `<command>`, `<command> <path>`, `<command> <path> <option>`, `* <option>`; of values:
 * `<command> = <value>`, `= <value>`; of what the service says by itself: `! <the English sentence>`. A value or a field that is read from
 * a view has a text or is shown as it is.
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

/** The text of a key in somebody's language, in English where there is none; `{name}` is filled in. */
export type Translate = (key: TextKey, filled?: Readonly<Record<string, string | number>>) => string;

/** By Discord's names of languages. English is complete, and stands in for what another one lacks. */
export const languages: Readonly<Record<string, Texts>> = { de };

const sentences: Readonly<Record<string, TranslateSentence>> = {
  de: createSentences(deSentences, { valueText: valuesOf(de), joints: deJoints }),
};

/** What a value of a closed list is called; "Member" at the beginning of a sentence is the value `member`. */
function valuesOf(texts: Texts): (value: string) => string | undefined {
  return (value) => texts[`= ${value}`] ?? texts[`= ${value.toLowerCase()}`];
}

/** @param language as Discord names it, such as `de` or `en-GB` */
export function translator(language: string): Translate {
  const texts = languages[language] ?? {};
  const sentenceOf = sentences[language];
  return (key, filled = {}) => {
    if (key.startsWith("! ")) return sentenceOf?.(key.slice(2)) ?? key.slice(2);
    // A value without a text is shown as it is.
    const text = texts[key] ?? en[key] ?? key.replace(/^= /, "");
    return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => filled[name]?.toString() ?? whole);
  };
}

/** The text of a key that may have none, in somebody's language. */
export function textFor(key: string, t: Translate): string | undefined {
  const text = t(key as TextKey);
  return text === key || `= ${text}` === key ? undefined : text;
}

/** The first of these keys that has a text in a language, or in English. */
export function textOf(keys: readonly string[], texts: Texts = en): string | undefined {
  return keys.map((key) => texts[key]).find((text) => text !== undefined);
}

/** What a value of a choice is found under: a command may have a word of its own for it. */
export function choiceKeys(command: string, value: string): string[] {
  return [`${command} = ${value}`, `= ${value}`];
}

/** What a part of a command is found under, the most special first. */
export function keysOf(command: string, path: string, option?: string): string[] {
  const whole = `${command} ${path}`.trim();
  return option === undefined ? [whole] : [`${whole} ${option}`, `${command} * ${option}`, `* ${option}`];
}
