import { escapeText } from "../discord/replies.ts";
import type { Say } from "./texts.ts";

/** A value by its name in the reader's language, or as it is. */
export function named(say: Say, value: string): string {
  const key = `= ${value}`;
  const text = say(key);
  return text === key ? escapeText(value) : text;
}
