import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { IntlMessageFormat } from "intl-messageformat";
import { describe, expect, test } from "vitest";
import { commandTable, routeTable } from "../../src/features.ts";
import { createTools } from "../../src/mcp/mcp.ts";
import { problems } from "../../src/kernel/errors.ts";
import { knownPermissions } from "../../src/kernel/permissions.ts";
import { languages, translator, type Texts } from "../../src/kit/say.ts";
import { commandPayloads } from "../../src/commands/payloads.ts";
import { keysOf } from "../../src/commands/texts.ts";
import { commandLength, type OptionDefinition } from "../../sandbox/command-rules.ts";

const { entries, menus } = commandTable();
const { de, en } = languages as Record<"de" | "en", Texts>;

const root = fileURLToPath(new URL("../../src/", import.meta.url));
const sources = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((path) => /\.tsx?$/.test(path) && !/^(generated|cli)\//.test(path))
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
const said = [...everything.matchAll(/\b(?:t|say|words|translator\([^)]*\))\(\s*"([^"]+)"/g)].map(([, key = ""]) => key);
const keysHere = new Set(said);

/** Keys of which a part is filled in, such as `held ${who}` or `workflows.${what}-too-few`, each as a pattern. */
const templates = [...everything.matchAll(/`([a-z=>*][\w.=>* -]*[ .-])((?:\$\{[^{}`]*\}[\w. -]*)+)`/g)].map(([, start = "", rest = ""]) => {
  const ends = rest.split(/\$\{[^{}]*\}/).slice(1);
  const pattern = [start, ...ends].map((part) => part.replaceAll(/[.*]/g, String.raw`\$&`)).join(".+");
  return { start, pattern: new RegExp(`^${pattern}$`) };
});

interface Element {
  type: number;
  value: string;
  options?: Record<string, { value: Element[] }>;
}
/** What is text and what stands for the number of a plural, as a parsed message numbers them. */
const noArguments = new Set([0, 7]);
/** The names of what is filled in. @throws SyntaxError where the message is none */
function argumentsOf(text: string, language: string): string[] {
  const found = new Set<string>();
  const look = (elements: readonly Element[]): void => {
    for (const { type, value, options = {} } of elements) {
      if (!noArguments.has(type)) found.add(value);
      for (const option of Object.values(options)) look(option.value);
    }
  };
  look(new IntlMessageFormat(text, language, undefined, { ignoreTag: true }).getAst() as readonly Element[]);
  return [...found].toSorted();
}

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
      derived.has(key) || everything.includes(`"${key}"`) || templates.some(({ pattern }) => pattern.test(key));
    expect(templates.map(({ start }) => start)).toEqual(expect.arrayContaining(["label ", "operation ", "typed ", "workflows.measure-"]));
    expect(Object.keys(en).filter((key) => !isUsed(key))).toEqual([]);
  });

  test("says what every operation does that an AI client can ask for", () => {
    const writes = [...createTools(routeTable())].flatMap(([operation, { isWrite }]) => (isWrite ? [`operation ${operation}`] : []));
    expect(writes.length).toBeGreaterThan(50);
    expect(missing(en, writes)).toEqual([]);
  });

  test("says what an operation, a permission and a problem is only where there is one", () => {
    const operations = routeTable().map(({ spec }) => spec.operationId);
    const titles = Object.keys(en).filter((key) => /^permission \S+\.\S+$/.test(key));
    const strange = (word: string, known: readonly string[]) =>
      Object.keys(en).filter((key) => key.startsWith(`${word} `) && !known.includes(key.slice(word.length + 1)));
    expect(strange("operation", operations)).toEqual([]);
    expect(titles.filter((key) => !knownPermissions.has(key.slice("permission ".length)))).toEqual([]);
    expect(strange("problem", Object.keys(problems))).toEqual([]);
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

  test("is made of messages that can be read", () => {
    const wrong = Object.entries(texts).flatMap(([key, text]) => {
      try {
        return argumentsOf(text, "en") && [];
      } catch (error) {
        return [`${key}: ${String(error)}`];
      }
    });
    expect(wrong).toEqual([]);
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

  test("fills in what English fills in", () => {
    const other = Object.entries(de).flatMap(([key, text]) => {
      const [wanted, found] = [argumentsOf(en[key] ?? "", "en").join(), argumentsOf(text, "de").join()];
      return wanted === found ? [] : [`${key}: ${found}, not ${wanted}`];
    });
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
