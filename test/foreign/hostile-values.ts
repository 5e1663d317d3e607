import fc from "fast-check";
import { bent, oneOf } from "../contract/fuzz/values.ts";
import { hostileTexts } from "../support/hostile.ts";

const million = 1_000_000;

/** What no column keeps, what is longer than anything, and words that are in no vocabulary. */
export const hostileTextsOf: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 4,
    arbitrary: oneOf("\0", "a\0b", "\ud800", "\udc00\ud800", "a\udfff", "\u{10ffff}", "\ufffe", "\u2028\u2029", "\u001b[2J", "\x7f\x80"),
  },
  {
    weight: 2,
    arbitrary: oneOf("apocalyptic", "Active", "user ", "__proto__", "constructor", "toString", "null", "undefined", "NaN", "Infinity"),
  },
  {
    weight: 2,
    arbitrary: oneOf(
      "0000-01-01T00:00:00.000Z",
      "9999-12-31T23:59:59.999Z",
      "+275760-09-13T00:00:00.000Z",
      "-000001-01-01T00:00:00Z",
      "2026-02-30T10:00:00Z",
      "0001-01-01T00:00:00+23:59",
    ),
  },
  {
    weight: 2,
    arbitrary: oneOf("0", "-1", "18446744073709551615", "18446744073709551616", "9223372036854775808", "1.23E+17", "9".repeat(400)),
  },
  { weight: 1, arbitrary: oneOf(...hostileTexts) },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 40 }) },
  {
    weight: 1,
    arbitrary: oneOf(
      "x".repeat(million),
      "\ud83d\ude00".repeat(million / 2),
      '"'.repeat(million),
      "\\".repeat(million),
      "\0".repeat(million),
    ),
  },
);

/** The ends of the numbers of both databases, and what lies beyond. */
const hostileNumbers = fc.constantFrom(
  ...[0, -1, 0.5, -1e-300, 1e308, 3e9, 8.64e15, 8.64e15 + 1].concat(
    [31, 32, 53, 63].flatMap((bits) => [2 ** bits - 1, 2 ** bits, -(2 ** bits) - 1]),
  ),
);

/** @returns a value with up to three places in it taken out, or made something that nobody takes */
export function spoiled(value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const named = oneOf("\0", "\ud800", "__proto__", "constructor", "", "x".repeat(5000)).map((name): unknown => ({ [name]: name }));
  return bent(value, hostileTextsOf, hostileNumbers, named);
}

/** @returns mostly the value as it is, and else spoiled */
export function maybeSpoiled<T>(value: fc.Arbitrary<T>, asItIs = 1): fc.Arbitrary<unknown> {
  return fc.oneof<fc.MaybeWeightedArbitrary<unknown>[]>(
    { weight: asItIs, arbitrary: value },
    { weight: 1, arbitrary: spoiled(value.map((one) => structuredClone(one))) },
  );
}

/** JSON that no writer would write: far deeper than a stack, cut, said twice, or none at all. */
const hostileJson: readonly string[] = [
  "",
  " ",
  "null",
  "[]",
  "{}",
  "42",
  '"text"',
  "\ufeff[]",
  "[,]",
  '{"a":1,"a":2}',
  "NaN",
  "{'a':1}",
  "[".repeat(100_000),
  `${"[".repeat(20_000)}${"]".repeat(20_000)}`,
  `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`,
  `[${"1,".repeat(200_000)}1]`,
  `{"a":1e${"9".repeat(1000)}}`,
  `[${"9".repeat(100_000)}]`,
  '["\\ud800"]',
  '["\\u0000"]',
  '"\\',
  "<!doctype html><title>Bad gateway</title>",
];

/** @returns a text as it is or, seldom, cut off, said twice, with something in the middle of it, or something else entirely */
export function spoiledText(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const at = fc.double({ min: 0, max: 1, noNaN: true });
  const cut = (whole: string, part: number): number => Math.floor(whole.length * part);
  return fc.oneof(
    { weight: 6, arbitrary: text },
    { weight: 2, arbitrary: fc.tuple(text, at).map(([whole, part]) => whole.slice(0, cut(whole, part))) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(text, at, fc.oneof(hostileTextsOf, oneOf('"', "\r", "\n", "\\", ",", "[", "{", "]", "}", '""', "\r\n\r\n")))
        .map(([whole, part, middle]) => whole.slice(0, cut(whole, part)) + middle + whole.slice(cut(whole, part))),
    },
    { weight: 1, arbitrary: text.map((whole) => whole + whole) },
    { weight: 1, arbitrary: oneOf(...hostileJson) },
  );
}

/** Encodings that files come in, and what is none. */
const encoders: readonly ((text: string) => Buffer)[] = [
  (text) => Buffer.from(`\ufeff${text}`),
  (text) => Buffer.from(text, "utf16le"),
  (text) => Buffer.from(`\ufeff${text}`, "utf16le"),
  (text) => Buffer.from(text, "latin1"),
  (text) => Buffer.concat([Buffer.from(text), Buffer.from([0xc3])]),
  (text) => Buffer.concat([Buffer.from([0xff, 0xfe, 0xff]), Buffer.from(text)]),
  (text) => Buffer.from(text).map((byte, index) => (index % 97 === 96 ? 0xed : byte)) as Buffer,
];

/** @returns the bytes of a text, mostly in UTF-8 */
export function bytesOf(text: fc.Arbitrary<string>): fc.Arbitrary<Buffer> {
  const usual = (one: string): Buffer => Buffer.from(one);
  return fc
    .tuple(text, fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...encoders) }))
    .map(([one, encode]) => encode(one));
}

/** @returns the same text in pieces, cut anywhere */
export function piecesOf(text: string, cuts: readonly number[]): string[] {
  const places = [0, ...cuts.map((cut) => cut % (text.length + 1)), text.length].toSorted((one, other) => one - other);
  return places.slice(1).map((to, index) => text.slice(places[index], to));
}

/** @returns text of so many characters that a parser has to look at most closely: quotation marks, brackets and ends of lines */
export function largeText(length: number): fc.Arbitrary<string> {
  const part = fc.array(
    oneOf('"', '""', "\n", "\r\n", "\r", ",", ";", "[", "]", "{", "}", "\\", "a", " ", "=", "\ufeff", '"a\n', "user,1,", ":"),
    {
      minLength: 1,
      maxLength: 30,
    },
  );
  return part.map((parts) => {
    const text = parts.join("");
    return text.repeat(Math.ceil(length / text.length)).slice(0, length);
  });
}
