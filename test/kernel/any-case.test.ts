// @module-tag sqlite
import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCase } from "../../src/kernel/fields.ts";

test.each([
  /^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|case-\d{6,9})$/,
  /^[a-z]{2,8}-REQ-\d{1,3}$/,
  /^A-B(?:c|[d-fX])\w\.$/,
  /^https?:\/\/[^\s]+$/,
])("%s takes letters of either case, as with a flag, but says so in its text", (pattern) => {
  const flagged = new RegExp(pattern.source, "i");
  const without = anyCase(pattern);
  expect(without.flags).toBe("");
  const near = fc.stringMatching(pattern).chain((text) =>
    fc
      .tuple(fc.array(fc.boolean(), { minLength: text.length, maxLength: text.length }), fc.option(fc.nat(text.length)))
      .map(([upper, cut]) =>
        text
          .split("")
          .map((letter, index) => (upper[index] === true ? letter.toUpperCase() : letter.toLowerCase()))
          .join("")
          .slice(0, cut ?? undefined),
      ),
  );
  let taken = 0;
  fc.assert(
    fc.property(fc.oneof({ weight: 9, arbitrary: near }, fc.string()), (text) => {
      if (flagged.test(text)) taken += 1;
      expect([text, without.test(text)]).toEqual([text, flagged.test(text)]);
    }),
  );
  expect(taken).toBeGreaterThan(10);
});
