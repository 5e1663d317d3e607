import fc from "fast-check";
import { expect, test } from "vitest";
import { commandPayloads } from "../../src/commands/payloads.ts";
import { commandTable } from "../../src/features.ts";
import { shareWorld, staffAtConsole } from "../contract/world.ts";
import { runsOf, seedOf } from "../support/size.ts";
import { flawsOf, give, type Language } from "./refusals-ground.ts";

const shared = shareWorld();

interface Option {
  type: number;
  name: string;
  required?: boolean;
  options?: Option[];
  choices?: { value: string }[];
  min_length?: number;
  max_length?: number;
  min_value?: number;
  max_value?: number;
}

const [userMenu, messageMenu] = [2, 3];
const typeOf = { group: 2, text: 3, integer: 4, boolean: 5, user: 6, number: 10 } as const;

/** Every sub-command, as `<command> <path>`, with its options. */
function leaves(options: readonly Option[], words: string): { words: string; options: Option[] }[] {
  const inner = options.filter(({ type }) => type <= typeOf.group);
  if (inner.length === 0) return [{ words, options: [...options] }];
  return inner.flatMap((one) => leaves(one.options ?? [], `${words} ${one.name}`));
}

const commands = (commandPayloads(commandTable()) as unknown as Option[])
  .filter(({ type }) => ![userMenu, messageMenu].includes(type))
  .flatMap(({ name, options = [] }) => leaves(options, name))
  // Whoever asks for their own data gets it.
  .filter(({ words, options }) => words !== "mydata" && options.some(({ type }) => type === typeOf.text));

const wrong = [
  "rogue",
  "x",
  "0",
  "-1",
  "soon",
  "2026-99-99",
  "12345678901234567890123",
  "<@12>",
  "CASE-1",
  "a/b",
  "a.b",
  "ö ü",
  "%00",
  "{}",
];

const fitting = (text: string, { min_length: min = 0, max_length: max = 6000 }: Option): string => text.padEnd(min, "x").slice(0, max);

const valueOf = (option: Option): fc.Arbitrary<string | number | boolean> | undefined => {
  if (option.choices !== undefined) return fc.constantFrom(...option.choices.map(({ value }) => value));
  if (option.type === typeOf.text)
    return fc.oneof(fc.constantFrom(...wrong), fc.string({ minLength: 1, maxLength: 60 })).map((text) => fitting(text, option));
  if (option.type === typeOf.integer) return fc.integer({ min: option.min_value ?? 0, max: Math.min(option.max_value ?? 1000, 1000) });
  return option.type === typeOf.boolean ? fc.boolean() : undefined;
};

const attempts = fc.constantFrom(...commands).chain(({ words, options }) => {
  const values = options.flatMap((option) => {
    const value = valueOf(option);
    return value === undefined ? [] : [[option.name, option.required === true ? value : fc.option(value, { nil: undefined })] as const];
  });
  return fc.record({
    words: fc.constant(words),
    people: fc.constant(options.filter(({ type, required }) => type === typeOf.user && required === true).map(({ name }) => name)),
    given: fc.record(Object.fromEntries(values)),
    language: fc.constantFrom<Language>("en-US", "de"),
  });
});

test("a refusal says neither pointers nor types of a library, nothing twice, whatever was typed", async () => {
  const { world } = shared;
  const person = await staffAtConsole(world, "owner");
  const subject = world.member();
  let refusals = 0;
  await fc.assert(
    fc.asyncProperty(attempts, async ({ words, people, given, language }) => {
      const options = Object.fromEntries([
        ...Object.entries(given).filter(([, value]) => value !== undefined && value !== ""),
        ...people.map((name) => [name, subject]),
      ]);
      const said = await give({ world, person, words, given: options as never, form: { reason: "y" } }, language).catch(String);
      const code = /\n-# ([a-z_]+)$/.exec(said)?.[1];
      if (code === undefined) return;
      refusals++;
      expect(flawsOf(said, code), `${words} ${JSON.stringify(given)}\n${said}`).toEqual([]);
    }),
    { numRuns: runsOf(200), seed: seedOf(22) },
  );
  expect(refusals).toBeGreaterThan(10);
});
