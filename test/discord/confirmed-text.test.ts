import fc from "fast-check";
import { expect, test } from "vitest";
import { confirmedLimit, confirmedSize, confirmedText, givenLine, inReadingOrder } from "../../src/discord/confirmed-text.ts";
import { translator } from "../../src/kit/say.ts";
import { hostileTexts } from "../support/hostile.ts";
import { sizeOf } from "../support/size.ts";

const text = fc.oneof(
  fc.constantFrom(...hostileTexts, "\u0000", "\u{e0041}\u00ad", "\u2028two", `"80351110224678912"`, "80351110224678912", "staff.suspend"),
  fc.string({ unit: "binary", maxLength: 60 }),
);
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    text,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("any"), { maxLength: 3 }),
    tie("fields"),
  ),
  fields: fc.dictionary(text, tie("any"), { maxKeys: 3 }),
}));
const fields = fc.dictionary(text, value.any, { maxKeys: 4 });

/** A line as whoever reads it in Discord can copy it. */
function read(line: string): string {
  return line
    .replaceAll(/<@\d+> (?=\\?")/g, "")
    .replaceAll(/<@\d+> /g, "")
    .replaceAll(/\\([\\*_`~|<>#[\]()@:+-])/g, "$1");
}

test("every field is shown whole, in a line of its own, whatever it is called and says", () => {
  fc.assert(
    fc.property(fields, (given) => {
      const summary = ["Change something.", ...inReadingOrder(given).map(([name, one]) => givenLine(name, one))].join("\n");
      for (const language of ["en-US", "de"]) {
        const [, ...lines] = confirmedText(summary, translator(language)).split("\n");
        expect(lines).toHaveLength(Object.keys(given).length);
        // Nothing in it is invisible, reorders what is around it, or is a mention of more than a person who is named.
        expect(lines.join("")).not.toMatch(/[\p{Cf}\p{Cc}\p{Zl}\p{Zp}]|\p{Surrogate}/u);
        expect(lines.join("").replaceAll(/<@\d{17,20}>/g, "")).not.toMatch(/(?<!\\)<|(?<!\\)@/);
        const found = lines.map((line) => {
          const said = read(line);
          const [name = ""] = /^(?:\w+(?: \w+)?|"(?:[^"\\]|\\.)*")(?=: )/.exec(said) ?? [];
          return [name.startsWith('"') ? JSON.parse(name) : name, JSON.parse(said.slice(name.length + 2))];
        });
        expect(Object.fromEntries(found)).toEqual(JSON.parse(JSON.stringify(given)));
      }
    }),
    { numRuns: sizeOf({ quick: 100, all: 300, long: 20_000 }) },
  );
});

test("what is measured is what is shown", () => {
  for (const hostile of hostileTexts) {
    const line = givenLine("reason", hostile);
    expect(confirmedSize(line)).toBe(confirmedText(line, translator("en-US")).length);
  }
  expect(confirmedLimit).toBeLessThan(2000);
});

test("whom it is done to stands first, then what is done, and texts come last", () => {
  const given = {
    reason: "A long story",
    overrides: [{ reason: "A story", effect: "allow" }],
    level: "admin",
    user_id: "80351110224678912",
  };
  expect(inReadingOrder(given).map(([name]) => name)).toEqual(["user_id", "level", "overrides", "reason"]);
  expect(givenLine("overrides", given.overrides)).toBe('overrides: [{"effect":"allow","reason":"A story"}]');
  expect(confirmedText(`Do it.\n${givenLine("user_id", given.user_id)}`, translator("en-US"))).toContain("<@80351110224678912>");
});
