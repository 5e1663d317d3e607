import { commandTable } from "../../src/features.ts";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { languages, translator, type Texts } from "../../src/kit/say.ts";
import { commandPayloads } from "../../src/commands/payloads.ts";
import { keysOf } from "../../src/commands/texts.ts";
import { commandLength, type OptionDefinition } from "../../sandbox/command-rules.ts";

const { entries, menus } = commandTable();
const { de, en } = languages as Record<"de" | "en", Texts>;

const root = fileURLToPath(new URL("../../src/", import.meta.url));
const sources = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter(
    (path) =>
      /^(commands|discord|features|http|kernel|pages)\/.*\.ts$/.test(path) &&
      !/\/locales\/|\.(texts|sentences)\.ts$/.test(path) &&
      path !== "discord/words.ts",
  )
  .map((path) => readFileSync(join(root, path), "utf8").replaceAll(/\/\*\*[\s\S]*?\*\//g, ""));
const everything = sources.join("\n");

interface Place {
  keys: readonly string[];
  most: number;
}

/** Where texts of the table stand, the most special key first, with the longest text that Discord takes. */
function places(): Place[] {
  return entries.flatMap(({ command, path, options = [], form = [] }) => {
    const group = path.split(" ").length > 1 ? [{ keys: keysOf(command, path.split(" ")[0] ?? ""), most: 100 }] : [];
    return [
      { keys: [command], most: 100 },
      ...group,
      { keys: keysOf(command, path), most: 100 },
      ...options.map(({ name }) => ({ keys: keysOf(command, path, name), most: 100 })),
      ...form.map(({ name }) => ({ keys: keysOf(command, path, name), most: 45 })),
      ...menus.map(({ name }) => ({ keys: [`> ${name}`], most: 32 })),
    ];
  });
}

/** Where the texts of choices stand, the most special key first. */
const choices = entries.flatMap(({ command, options = [], form = [] }) =>
  [...options, ...form].flatMap(({ choices: given = [] }) => given.map((one) => [`${command} = ${one}`, `= ${one}`])),
);

/** Keys that are said as they stand. */
const said = [...everything.matchAll(/\b(?:t|translator\([^)]*\))\(\s*"([^"]+)"/g)].map(([, key = ""]) => key);
const words = [...everything.matchAll(/\bwords\(\s*"([^"]+)"/g)].map(([, key = ""]) => key);
const keysHere = new Set([...said, ...words]);
/** Keys that are made of a word and something else, such as `held ${who}`. */
const beginnings = [...everything.matchAll(/`([a-z=>*]+(?: [a-z-]+)*[ -])\$\{/g)].map(([, start = ""]) => start);

const placeholders = (text: string): string[] => [...text.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name).toSorted();
const missing = (texts: Readonly<Record<string, string>>, wanted: Iterable<string>) =>
  [...new Set(wanted)].filter((key) => texts[key] === undefined);

describe("English", () => {
  test("has a text for every command, sub-command, option and field", () => {
    const bare = places().filter(({ keys }) => keys.every((key) => en[key] === undefined && !key.startsWith("> ")));
    expect(bare.map(({ keys }) => keys[0])).toEqual([]);
  });

  test("has a text for every choice", () => {
    const bare = choices.filter((keys) => keys.every((key) => en[key] === undefined));
    expect([...new Set(bare.map(([key]) => key))]).toEqual([]);
  });

  test("has every key that is said", () => {
    expect(keysHere.size).toBeGreaterThan(20);
    expect(missing(en, keysHere)).toEqual([]);
  });

  test("has no key that nothing uses", () => {
    const derived = new Set([...places().flatMap(({ keys }) => keys), ...choices.flat()]);
    const isUsed = (key: string): boolean =>
      derived.has(key) || everything.includes(`"${key}"`) || beginnings.some((start) => key.startsWith(start) && key.length > start.length);
    expect(beginnings).toContain("label ");
    expect(Object.keys(en).filter((key) => !isUsed(key))).toEqual([]);
  });
});

describe.each([
  ["English", en],
  ["German", de],
])("%s", (_name, texts) => {
  test("is within the lengths that Discord takes", () => {
    const long = places().flatMap(({ keys, most }) => {
      const key = keys.find((one) => texts[one] !== undefined);
      const text = key === undefined ? "" : (texts[key] ?? "");
      return text.length > most ? [`${key ?? ""}: ${text.length.toString()} > ${most.toString()}`] : [];
    });
    expect([...new Set(long)]).toEqual([]);
    const limited = [
      [/^button /, 80],
      [/^= /, 100],
      [/^> /, 32],
    ] as const;
    for (const [pattern, most] of limited)
      for (const [key, text] of Object.entries(texts)) if (pattern.test(key)) expect([key, text.length <= most]).toEqual([key, true]);
  });

  test("has no empty text", () => {
    expect(Object.entries(texts).filter(([, text]) => text.trim() === "")).toEqual([]);
  });
});

describe("German", () => {
  test("has every key that English has, and no other", () => {
    expect(missing(de, Object.keys(en))).toEqual([]);
    expect(missing(en, Object.keys(de))).toEqual([]);
  });

  test("has the same placeholders", () => {
    const other = Object.keys(de).filter(
      (key) => en[key] !== undefined && placeholders(de[key] ?? "").join() !== placeholders(en[key] ?? "").join(),
    );
    expect(other).toEqual([]);
  });

  test("stands in place of English where somebody's language is German, and English where it is not known", () => {
    expect(translator("de")("say nothing-found")).toBe(de["say nothing-found"]);
    expect(translator("de")("say nothing-found")).not.toBe(en["say nothing-found"]);
    expect(translator("xx")("say nothing-found")).toBe(en["say nothing-found"]);
    expect(translator("de")("say page", { page: 3 })).toBe("Seite 3");
  });
});

test("every command leaves room for one more kind or field, below the 8,000 characters of Discord", () => {
  const long = commandPayloads(commandTable())
    .map((payload) => ({ name: payload.name, length: commandLength(payload as unknown as OptionDefinition) }))
    .filter(({ length }) => length > 7_600);
  expect(long).toEqual([]);
});
