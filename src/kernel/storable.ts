import { say } from "../kit/say.ts";
const unstorableCharacter = /[\0\p{Cs}]/u;

/** Whether both databases keep a text as it is: neither keeps U+0000 nor half of a surrogate pair. */
export function isStorableText(text: string): boolean {
  return !unstorableCharacter.test(text);
}

/** A text with every character that cannot be stored replaced. */
export function showText(text: string): string {
  return isStorableText(text) ? text : text.replace(/[\0\p{Cs}]/gu, "\u{fffd}");
}

/** What is said of a text that cannot be stored. */
export const unstorableText = say("kernel.the-text-holds-a-character-that-cannot");
