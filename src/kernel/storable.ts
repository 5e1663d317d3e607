import { say } from "../kit/say.ts";

const unstorableCharacter = /[\0\p{Cs}]/u;
/** Besides, U+FDD0 and U+FDD1 stand around what the service says itself (`src/kit/say.ts`). */
const untakenCharacters = /[\0\ufdd0\ufdd1\p{Cs}]/gu;

/** Whether both databases keep a text as it is: neither keeps U+0000 nor half of a surrogate pair. */
export function isStorableText(text: string): boolean {
  return !unstorableCharacter.test(text);
}

/** Whether a text of somebody else is taken as it is: it can be stored, and is told from what the service says. */
export function isTakenText(text: string): boolean {
  return text.search(untakenCharacters) === -1;
}

/** A text of somebody else with every character replaced for which it would not be taken. */
export function showText(text: string): string {
  return isTakenText(text) ? text : text.replaceAll(untakenCharacters, "\u{fffd}");
}

/** What is said of a text that cannot be stored. */
export const unstorableText = say("kernel.the-text-holds-a-character-that-cannot");
