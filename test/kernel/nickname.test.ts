// @module-tag sqlite
import fc from "fast-check";
import { expect, test } from "vitest";
import { nicknameFor, ownName } from "../../src/kernel/nickname.ts";
import { runsOf } from "../support/size.ts";

const usual = "{callsign} | {name}";

test.each([
  [usual, "NORTH-007", "Ada", "NORTH-007 | Ada"],
  [usual, "NORTH-007", "NORTH-007 | Ada", "NORTH-007 | Ada"],
  [usual, "NORTH-007", "NORTH-012 | Ada", "NORTH-007 | Ada"],
  [usual, "M-001", "M-0011 | Mona", "M-001 | Mona"],
  [usual, "NORTH-007", "Ada | the builder", "NORTH-007 | Ada | the builder"],
  [usual, "M-001", "M-001 | A very long name, cut of", "M-001 | A very long name, cut of"],
  ["[{callsign}] {name}", "N-1", "$& (.*) 😀".padEnd(40, "x"), "[N-1] $& (.*) 😀xxxxxxxxxxxxxxxx"],
  ["{name} ({callsign})", "M-001", "Mona (M-002)", "Mona (M-001)"],
  ["{name} [{callsign}]", "N-7", "x".repeat(40), `${"x".repeat(26)} [N-7]`],
  ["{name}", "N-1", "Ada", "Ada"],
  ["{callsign}", "M-001", "Mona", "M-001"],
])("by %s with %s who is called %s becomes %s", (template, callsign, called, wanted) => {
  expect(nicknameFor(template, callsign, called)).toBe(wanted);
});

test("the own name is what the template did not add, also where it looks like a pattern", () => {
  expect(ownName("({callsign}) {name}", "N-7", "(.*) Ann")).toBe("(.*) Ann");
  expect(ownName("({callsign}) {name}", "N-7", "(N-12) Ann")).toBe("Ann");
});

test("a nickname fits, is whole text, and stays as it is", () => {
  fc.assert(
    fc.property(
      // Discord knows no name of nothing but spaces.
      fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }).filter((name) => name.trim() !== ""),
      fc.constantFrom(usual, "{name} ({callsign})", "[{callsign}] {name}"),
      (called, template) => {
        const wanted = nicknameFor(template, "NORTH-007", called);
        expect(wanted.length).toBeLessThanOrEqual(32);
        expect(wanted).not.toMatch(/\p{Surrogate}/u);
        expect(nicknameFor(template, "NORTH-007", wanted)).toBe(wanted);
      },
    ),
    { numRuns: runsOf(2000) },
  );
});
