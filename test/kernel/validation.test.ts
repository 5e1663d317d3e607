// @module-tag sqlite
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { plainSentence, say, translator, worded } from "../../src/kit/say.ts";
import type { FieldError } from "../../src/kernel/errors.ts";
import { check, fieldErrors } from "../../src/kernel/validation.ts";

function errorsOf(schema: z.ZodType, value: unknown): FieldError[] {
  const errors: FieldError[] = [];
  check(schema, value, "body", errors);
  return errors;
}

const wrongOnes: readonly (readonly [name: string, schema: z.ZodType, value: unknown, said: string])[] = [
  ["nothing", z.string(), undefined, "This field is required."],
  ["no text", z.string(), 5, "A text is needed here."],
  ["no number", z.number(), "5", "A number is needed here."],
  ["no whole number", z.int(), 1.5, "A whole number is needed here."],
  ["no truth value", z.boolean(), "yes", "Use true or false."],
  ["no list", z.array(z.string()), "a", "A list is needed here."],
  ["no object", z.object({}), "a", "An object is needed here."],
  ["no choice", z.enum(["low", "high"]), "medium", "Use one of: low, high."],
  ["another value", z.literal(true), false, "Use true."],
  ["a text that is empty", z.string().min(1), "", "This must not be empty."],
  ["a text that is too short", z.string().min(3), "x", "Use at least 3 characters."],
  ["a text that is too long", z.string().max(1), "xx", "Use at most 1 character."],
  ["a text of another length", z.string().length(2), "x", "Use exactly 2 characters."],
  ["a list that is too short", z.array(z.string()).min(1), [], "Use at least 1 entry."],
  ["a list that is too long", z.array(z.string()).max(2), ["a", "b", "c"], "Use at most 2 entries."],
  ["a number that is too large", z.number().max(10), 11, "Use a number of at most 10."],
  ["a number that is too small", z.number().min(10), 9, "Use a number of at least 10."],
  ["a number at its open end", z.number().gt(0), 0, "Use a number above 0."],
  ["no multiple", z.number().multipleOf(5), 3, "Use a multiple of 5."],
  ["no time", z.iso.datetime(), "soon", "Write a time such as 2026-11-20T10:00:00.000Z."],
  ["no date", z.iso.date(), "soon", "Write a date such as 2026-11-20."],
  ["no pair", z.tuple([z.int(), z.int()]), 7, "A list is needed here."],
  ["no id", z.uuid(), "x", "Write the id as it was shown: 36 characters with hyphens."],
  ["no address", z.url(), "x", "Write a whole address such as https://example.org."],
  ["another form", z.string().regex(/^a$/), "b", "This is not in the form that is expected here."],
  ["an unknown field", z.strictObject({}), { a: 1 }, "This field is not known here."],
  ["none of several forms", z.union([z.string(), z.number()]), {}, "A text is needed here. Or: A number is needed here."],
  [
    "an object in none of several forms",
    z.union([z.strictObject({ a: z.string() }), z.strictObject({ b: z.string() })]),
    7,
    "An object is needed here.",
  ],
  ["none of several fields", z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]), {}, "What stands here does not fit."],
  [
    "no kind of object",
    z.discriminatedUnion("kind", [z.object({ kind: z.literal("a") }), z.object({ kind: z.literal("b") })]),
    { kind: "c" },
    "Use one of: a, b.",
  ],
  ["more than one form", z.xor([z.string(), z.string().max(5)]), "a", "What stands here does not fit."],
];

describe("what a schema refuses", () => {
  test.each(wrongOnes)("is said in the words of the service: %s", (_name, schema, value, said) => {
    const details = errorsOf(schema, value).map(({ detail }) => detail);
    expect(details.map((detail) => worded(detail))).toEqual([said]);
    // In German, too.
    expect(details.map((detail) => plainSentence(detail, translator("de")))).not.toEqual([said]);
  });

  test("keeps what a schema says itself", () => {
    expect(errorsOf(z.string().min(3, "Say more."), "x").map(({ detail }) => detail)).toEqual(["Say more."]);
  });
});

test("a name that cannot be stored stands in the pointer as it is shown, once", () => {
  const fields = [
    {
      pointer: "/a/\u{fffd}b\u{fffd}",
      in: "body",
      code: "invalid_characters",
      detail: say("kernel.the-text-holds-a-character-that-cannot"),
    },
  ];
  expect(errorsOf(z.object({ a: z.strictObject({}) }), { a: { "\0b\ud800": 1 } })).toEqual(fields);
  expect(fieldErrors(z.strictObject({}).safeParse({ "\0~/": 1 }).error?.issues ?? [], "body")).toMatchObject([
    { pointer: "/\u{fffd}~0~1" },
  ]);
});
