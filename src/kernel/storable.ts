import { say } from "../kit/say.ts";

/** Neither database keeps U+0000 or half of a surrogate pair; U+FDD0 and U+FDD1 stand around what the service says itself (`src/kit/say.ts`). */
const unstorable = String.raw`[\0\ufdd0\ufdd1\p{Cs}]`;
const unstorableCharacter = new RegExp(unstorable, "u");
const unstorableCharacters = new RegExp(unstorable, "gu");

/** Whether a text of somebody is stored as it is. */
export function isStorableText(text: string): boolean {
  return !unstorableCharacter.test(text);
}

/** A text with every character that cannot be stored replaced. */
export function showText(text: string): string {
  return isStorableText(text) ? text : text.replace(unstorableCharacters, "\u{fffd}");
}

/** What is said of a text that cannot be stored. */
export const unstorableText = say("kernel.the-text-holds-a-character-that-cannot");
