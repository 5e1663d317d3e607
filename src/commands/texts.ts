import { languages, type Texts } from "../kit/say.ts";

/** The first of these keys that has a text in a language, or in English. */
export function textOf(keys: readonly string[], texts: Texts = languages["en"] ?? {}): string | undefined {
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
