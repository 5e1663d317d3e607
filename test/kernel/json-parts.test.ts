import fc from "fast-check";
import { expect, test } from "vitest";
import { parseJsonInParts } from "../../src/kernel/json-parts.ts";
import { parsingSlices } from "../../src/kernel/time-slices.ts";

const parsed = async (text: string): Promise<unknown> => await parseJsonInParts(text, parsingSlices());
const plainly = (text: string): unknown => {
  try {
    return [JSON.parse(text)];
  } catch {
    return "refused";
  }
};
const inParts = async (text: string): Promise<unknown> =>
  await parsed(text).then(
    (value) => [value],
    () => "refused",
  );

test("any JSON is parsed in parts to what it is parsed to at once", async () => {
  const list = fc.array(fc.jsonValue({ maxDepth: 3 }), { maxLength: 50 });
  const value = fc.oneof(list, fc.dictionary(fc.string(), fc.oneof(list, fc.jsonValue())), fc.jsonValue());
  await fc.assert(
    fc.asyncProperty(value, fc.constantFrom(undefined, 2), async (one, space) => {
      const text = JSON.stringify(one, null, space);
      expect(await inParts(text)).toEqual(plainly(text));
    }),
  );
});

test("a text that is no JSON is refused in parts as it is at once", async () => {
  const broken = fc
    .array(fc.constantFrom("[", "]", "{", "}", ",", ":", '"a"', "1", '"', "\\", "null", " "), { maxLength: 14 })
    .map((signs) => signs.join(""));
  await fc.assert(
    fc.asyncProperty(broken, async (text) => {
      expect(await inParts(text)).toEqual(plainly(text));
    }),
    { numRuns: 3000 },
  );
});

test("a long list is parsed in many parts, and a comma too many between two of them is found", async () => {
  const entries = Array.from({ length: 3000 }, (_, index) => ({ index, text: '],["\\'.repeat(10) }));
  const text = JSON.stringify({ records: entries, more: [], other: { list: [1, [2]] } });
  expect(await parsed(text)).toEqual(JSON.parse(text));
  for (const at of [1, 200, 1500, 2999]) {
    const pieces = entries.map((entry) => JSON.stringify(entry));
    pieces.splice(at, 0, "");
    expect(await inParts(`{"records":[${pieces.join(",")}]}`), at.toString()).toBe("refused");
  }
  expect(await inParts(`[${"1,".repeat(50_000)}]`)).toBe("refused");
});
