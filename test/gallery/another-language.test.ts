// @module-tag sqlite
// @module-tag slow
import { IntlMessageFormat } from "intl-messageformat";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { languages, translator } from "../../src/kit/say.ts";
import { messages, pages } from "./areas/elsewhere.ts";
import { moderation } from "./areas/moderation.ts";
import { follows } from "./areas/follows.ts";
import { staff } from "./areas/people.ts";
import { records } from "./areas/records.ts";
import { work } from "./areas/work.ts";
import { createStage, type Stage } from "./stage.ts";

/** A language that the service does not have: its texts are the English ones with accents, so that whatever is not from them shows. */
const added = "fi";
const accents: Readonly<Record<string, string>> = { a: "á", e: "é", i: "í", o: "ó", u: "ú", A: "Á", E: "É", I: "Í", O: "Ó", U: "Ú" };

/** Code, addresses, and tags of Discord; what is filled in stands there as a mark. */
const kept = /(`[^`]*`|\]\([^)]*\)|https?:\/\/\S+|<[^>]*>)/;
const withAccents = (text: string): string =>
  text
    .split(kept)
    .map((part, index) => (index % 2 === 1 ? part : part.replaceAll(/[aeiou]/gi, (letter) => accents[letter] ?? letter)))
    .join("");

/** An element of a parsed message, by the numbers that the parser gives its kinds. */
interface Element {
  type: number;
  value: string;
  options?: Record<string, { value: Element[] }>;
}
const quoted = (text: string): string => text.replaceAll("'", "''").replaceAll(/[{}]+/g, "'$&'");

function accented(elements: readonly Element[]): string {
  const literals = withAccents(elements.map(({ type, value }) => (type === 0 ? value : "\u0001")).join("")).split("\u0001");
  const others = elements.filter(({ type }) => type !== 0).map(written);
  return literals.map((literal, index) => quoted(literal) + (others[index] ?? "")).join("");
}

function written({ type, value, options = {} }: Element): string {
  if (type === 1) return `{${value}}`;
  const ways = Object.entries(options).map(([way, { value: inner }]) => `${way} {${accented(inner)}}`);
  return `{${value}, ${type === 6 ? "plural" : "select"}, ${ways.join(" ")}}`;
}
const parse = (text: string): Element[] => new IntlMessageFormat(text, "en", undefined, { ignoreTag: true }).getAst() as Element[];

function pseudo(): Record<string, string> {
  const own = { language: added, "language dates": "fi-FI", "language name": "Suomi" };
  const texts = Object.entries(languages["en"] ?? {}).map(([key, text]) => [key, key.startsWith("typed ") ? text : accented(parse(text))]);
  return { ...(Object.fromEntries(texts) as Record<string, string>), ...own };
}

/** Words without an accent in a line, other than what people wrote and what is the same in every language. */
function plainWords(line: string, known: ReadonlySet<string>): string[] {
  const said = line.replaceAll(
    /\bwhsec_\S+|`[^`]*`|```[^]*?```|<[^>]*>|https?:\/\/\S+|[@#][\w.-]+|\b[\w.]+\.(?:json|csv|txt|ndjson|zip|png)\b/g,
    " ",
  );
  return [...said.matchAll(/(?<![\p{L}\d_./-])[A-Za-z]{4,}(?![\p{L}\d_])/gu)]
    .map(([word]) => word)
    .filter((word) => /[aeiou]/i.test(word) && !known.has(word.toLowerCase()));
}

/** What the tests themselves write beside what they saw, and names of the world. */
const untranslated = [
  "Discord Provost English Deutsch",
  "olivia ada senior sam mona vera moderator world desk callsigns dept callsign name",
  "Nine points within 90 days. Six points within 90 days.",
  "scope network roster",
  // Lengths and dates of the library of Unicode, in the language itself.
  "minuuttia tunti tuntia sekuntia maaliskuuta toukokuuta",
];

describe("a language of which there is a file alone", () => {
  let stage: Stage;
  let end = (): Promise<void> => Promise.resolve();

  beforeAll(async () => {
    languages[added] = pseudo();
    stage = await createStage(added, (way) => (end = way));
    await staff(stage);
    await records(stage);
    await work(stage);
    await moderation(stage);
    await follows(stage);
    await messages(stage);
    await pages(stage, added);
  });
  afterAll(async () => {
    await end();
    delete languages[added];
  });

  test("words everything that a community reads, in replies, forms, cards, messages and pages", () => {
    expect(translator(added)("say nothing-found")).toBe(withAccents(translator("en")("say nothing-found")));
    const wordsOf = (text: string): string[] => text.toLowerCase().match(/[a-z]{4,}/g) ?? [];
    const known = new Set([...stage.quoted, ...untranslated].flatMap(wordsOf));
    const lines = stage.exhibits.flatMap(({ title, lines }) => lines.map((line) => ({ title, line })));
    expect(lines.length).toBeGreaterThan(500);
    const found = lines.flatMap(({ title, line }) => {
      const words = plainWords(line.replace(/^Form: /, ""), known);
      return words.length === 0 ? [] : [`${title} — ${words.join(" ")} — ${line}`];
    });
    expect(found).toEqual([]);
  });
});
