import { snowflakeForm } from "../kernel/fields.ts";
import { inEnglish, type Translate } from "../kit/say.ts";
import { escapeText } from "./replies.ts";
import { sentenceText } from "./sentence.ts";

/**
 * So much of a change has room where it is confirmed, as Discord is sent it in English: other languages are longer, and a message also says
 * who asks and until when. Nobody confirms what they cannot read.
 */
export const confirmedLimit = 1400;

/** Fields that name something which is no person. */
const isNoPerson = /server|guild|channel|role|message/i;
const person = new RegExp(`"(${snowflakeForm})"`, "g");

/**
 * What a change does, as whoever confirms it reads it: a sentence, and below it what was given, a line each.
 * @param summary the sentence in English, and the lines as they were made by {@link givenLine}
 */
export function confirmedText(summary: string, t: Translate): string {
  const [sentence = "", ...lines] = summary.split("\n");
  return [sentenceText(sentence, t), ...lines.map(lineText)].join("\n");
}

/** How much room a change takes. @param summary as in {@link confirmedText} */
export const confirmedSize = (summary: string): number => confirmedText(summary, inEnglish).length;

/** Nothing but marks is added, and a person is mentioned beside their id: the line says what was given, to the letter. */
function lineText(line: string): string {
  const [name = ""] = line.split(":", 1);
  if (isNoPerson.test(name)) return escapeText(line);
  let text = "";
  let end = 0;
  for (const match of line.matchAll(person)) {
    const [whole, id = ""] = match;
    text += `${escapeText(line.slice(end, match.index))}<@${id}> ${escapeText(whole)}`;
    end = match.index + whole.length;
  }
  return text + escapeText(line.slice(end));
}

/** A field that was given, in one line in which nothing is invisible. */
export function givenLine(name: string, value: unknown): string {
  // Some bodies take fields of any name: none of them is to look like another part, or like a line of its own.
  const named = /^\w+(?: \w+)?$/.test(name) ? name : JSON.stringify(name);
  return `${named}: ${JSON.stringify(arranged(value)) ?? "null"}`.replaceAll(/[\p{Cf}\p{Cc}\p{Zl}\p{Zp}\ufdd0\ufdd1]/gu, codeOf);
}

const codeOf = (character: string): string =>
  character.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Whom it is done to first, then what is done, and texts last: what comes first is read first. */
export function inReadingOrder(fields: object): [name: string, value: unknown][] {
  return Object.entries(fields)
    .map((field, place) => ({ field, place, weight: weightOf(field[1]) }))
    .toSorted((a, b) => a.weight - b.weight || a.place - b.place)
    .map(({ field }) => field);
}

const id = new RegExp(`^${snowflakeForm}$`);
const isId = (value: unknown): boolean => typeof value === "string" && id.test(value);

function weightOf(value: unknown): number {
  if (isId(value) || (Array.isArray(value) && value.some(isId))) return 0;
  if (typeof value === "object" && value !== null) return 2;
  return typeof value === "string" && !/^[\w.:*-]{1,64}$/.test(value) ? 3 : 1;
}

function arranged(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(arranged);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(inReadingOrder(value).map(([name, inner]) => [name, arranged(inner)]));
}
