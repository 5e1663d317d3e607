// @module-tag sqlite
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { TimeSpec } from "../../src/commands/entry.ts";
import { translator } from "../../src/kit/say.ts";
import { lengthText } from "../../src/commands/length-text.ts";
import { timeChoices, withTimes } from "../../src/commands/time-options.ts";
import {
  isPermanent,
  lengthIn,
  lengthOf,
  momentOf,
  partsOf,
  permanentWords,
  type Unit,
  unitNames,
  wordsOf,
  units,
} from "../../src/commands/typed-times.ts";
import { parseDuration } from "../../src/kernel/fields.ts";
import { runsOf } from "../support/size.ts";

const now = new Date("2026-11-25T14:45:12.000Z");
const languages = ["en", "de"] as const;
const secondsOf = (text: string): number | undefined => {
  const parts = partsOf(text);
  return parts === undefined ? undefined : parseDuration(lengthOf(parts));
};

describe("a length as people type it", () => {
  test.each([
    ["2 weeks", "2w"],
    ["2 Wochen", "2w"],
    ["1h30m", "PT1H30M"],
    ["1 h 30 min", "PT1H30M"],
    ["1 hour and 30 minutes", "PT1H30M"],
    ["1 Stunde, 30 Minuten", "PT1H30M"],
    ["3 days", "3d"],
    ["3 Tage", "3d"],
    ["90m", "90m"],
    ["90 Min.", "90m"],
    ["30d", "30d"],
    ["30D", "30d"],
    ["P30D", "P30D"],
    ["p1dt12h", "P1DT12H"],
    ["a week", "1w"],
    ["eine Woche und 2 Tage", "P1W2D"],
    ["2 months", "P2M"],
    ["1 Jahr", "P1Y"],
    ["12 STUNDEN", "12h"],
  ])("%s is %s", (typed, length) => {
    expect(lengthIn(typed)).toBe(length);
    expect(secondsOf(typed)).toBe(parseDuration(length));
  });

  test.each([
    "",
    "soon",
    "1,5 h",
    "1.5h",
    "1,000 days",
    "1M",
    "2",
    "h",
    "1h1h",
    "1h30",
    "-2 days",
    "2 days ago",
    ", 2 days",
    "1 hour or 2 days",
    "P",
    "PT",
    "P1H",
    "permanent",
  ])("%j is none, as it could mean another length than was meant", (typed) => expect(partsOf(typed)).toBeUndefined());

  test("is never read as another length than was written, whatever words, joints and cases it is written with", () => {
    const joints = fc.constantFrom("", " ", ", ", " and ", " und ", " + ");
    const written = fc.uniqueArray(
      fc.record({
        unit: fc.constantFrom(...unitNames),
        count: fc.integer({ min: 0, max: 9999 }),
        word: fc.nat(20),
        joint: joints,
        gap: fc.constantFrom("", " "),
        isUpper: fc.boolean(),
      }),
      { selector: ({ unit }) => unit, minLength: 1, maxLength: 4 },
    );
    fc.assert(
      fc.property(written, (pieces) => {
        const text = pieces
          .map(({ unit, count, word, joint, gap, isUpper }, index) => {
            const words = wordsOf(unit);
            const chosen = words[word % words.length] ?? "";
            return `${index === 0 ? "" : joint}${count.toString()}${gap}${isUpper && chosen !== "m" ? chosen.toUpperCase() : chosen}`;
          })
          .join("");
        const one = { year: "P1Y", month: "P1M", week: "P1W", day: "P1D", hour: "PT1H", minute: "PT1M", second: "PT1S" } as const;
        const sum = pieces.reduce((all, { unit, count }) => all + count * (parseDuration(one[unit]) ?? 0), 0);
        expect(secondsOf(text), text).toBe(sum);
      }),
      { numRuns: runsOf(400) },
    );
  });

  test.each(languages)("is shown in its two largest units, so that it reads as that again (%s)", (language) => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 3_000_000_000 }), (seconds) => {
        const shown = lengthText(seconds, translator(language));
        const read = secondsOf(shown) ?? -1;
        expect(lengthText(read, translator(language))).toBe(shown);
        expect(read, shown).toBeGreaterThanOrEqual(0);
        // What is left out is less than one of the smaller unit.
        expect(seconds - read, shown).toBeGreaterThanOrEqual(0);
        expect(seconds - read, shown).toBeLessThanOrEqual(seconds / 24);
      }),
      { numRuns: runsOf(400) },
    );
  });

  test("is shown in days, hours and minutes, in the reader's language", () => {
    const [en, de] = [translator("en"), translator("de")];
    expect(lengthText(2_592_000, en)).toBe("30 days");
    expect(lengthText(5400, en)).toBe("1 hour 30 minutes");
    expect(lengthText(86_400, de)).toBe("1 Tag");
    expect(lengthText(5400, de)).toBe("1 Stunde 30 Minuten");
    expect(lengthText(31_536_000 * 2, de)).toBe("2 Jahre");
    expect(lengthText(0, en)).toBe("0 seconds");
  });
});

test("no end has its words in both languages, and nothing else is one", () => {
  for (const word of ["Permanent", "forever", "dauerhaft", "für immer", "FÜR  IMMER", "for good", "perm"])
    expect(isPermanent(word), word).toBe(true);
  for (const word of ["", "per", "permit", "never mind", "30d"]) expect(isPermanent(word), word).toBe(false);
});

describe("a time as people type it", () => {
  test.each([
    ["2026-12-24", "2026-12-24T00:00:00.000Z"],
    ["2026-12-24 18:30", "2026-12-24T18:30:00.000Z"],
    ["24.12.2026", "2026-12-24T00:00:00.000Z"],
    ["1.2.2027 9:05", "2027-02-01T09:05:00.000Z"],
    ["2026-12-24T18:30:00.000Z", "2026-12-24T18:30:00.000Z"],
    ["tomorrow", "2026-11-26T00:00:00.000Z"],
    ["Morgen 18:00", "2026-11-26T18:00:00.000Z"],
    ["übermorgen", "2026-11-27T00:00:00.000Z"],
    ["yesterday", "2026-11-24T00:00:00.000Z"],
    ["in 2 days", "2026-11-27T14:45:12.000Z"],
    ["in 2 Tagen", "2026-11-27T14:45:12.000Z"],
    ["2 days ago", "2026-11-23T14:45:12.000Z"],
    ["vor 2 Tagen", "2026-11-23T14:45:12.000Z"],
    ["heute", "2026-11-25T00:00:00.000Z"],
  ])("%s is %s", (typed, at) => {
    expect(momentOf(typed, now, true)).toBe(at);
    expect(momentOf(typed, now, false)).toBe(at);
  });

  test("a bare length is counted forward for what is to come, and back for what was", () => {
    expect(momentOf("2 days", now, true)).toBe("2026-11-27T14:45:12.000Z");
    expect(momentOf("2 days", now, false)).toBe("2026-11-23T14:45:12.000Z");
  });

  test.each(["2026-02-30", "31.11.2026", "12/24/2026", "2026-12-24 25:00", "soon", "", "in soon", "999999 years"])("%j is none", (typed) =>
    expect(momentOf(typed, now, true)).toBeUndefined(),
  );
});

describe("what is offered while it is typed", () => {
  const length: TimeSpec = { kind: "length", canBePermanent: true };
  const choices = (spec: TimeSpec, typed: string, language = "en") => timeChoices(spec, typed, now, translator(language));
  const names = (spec: TimeSpec, typed: string, language?: string) => choices(spec, typed, language).map(({ name }) => name);

  test("is the number in several units", () => {
    expect(choices(length, "2")).toEqual([
      { name: "2 hours", value: "2h" },
      { name: "2 days", value: "2d" },
      { name: "2 weeks", value: "2w" },
      { name: "2 months", value: "P2M" },
    ]);
    expect(names(length, "2", "de")).toEqual(["2 Stunden", "2 Tage", "2 Wochen", "2 Monate"]);
    expect(names(length, "2 wo")).toEqual(["2 weeks"]);
  });

  test("is what is usual before anything is typed, with no end only where there may be none", () => {
    expect(names(length, "")).toEqual(["1 hour", "1 day", "7 days", "30 days", "permanent"]);
    expect(names(length, "", "de")).toEqual(["1 Stunde", "1 Tag", "7 Tage", "30 Tage", "dauerhaft"]);
    expect(names({ kind: "length" }, "")).toEqual(["1 hour", "1 day", "7 days", "30 days"]);
  });

  test("is what a whole text means", () => {
    expect(choices(length, "1h30m")).toEqual([{ name: "1 hour 30 minutes", value: "PT1H30M" }]);
    expect(choices(length, "für")).toEqual([{ name: "permanent", value: "permanent" }]);
    expect(choices(length, "soon")).toEqual([]);
  });

  test("is nothing that the field refuses", () => {
    const short: TimeSpec = { kind: "length", accepts: (value) => (parseDuration(value) ?? 0) <= 86_400 * 3 };
    expect(names(short, "2")).toEqual(["2 hours", "2 days"]);
    expect(names(short, "")).toEqual(["1 hour", "1 day"]);
  });

  test("of a time is a day, how far ahead or back, and when that is", () => {
    expect(choices({ kind: "time" }, "")[0]).toEqual({ name: "tomorrow · 2026-11-26 00:00 UTC", value: "2026-11-26T00:00:00.000Z" });
    expect(names({ kind: "time" }, "2", "de")[1]).toBe("in 2 Tagen · 2026-11-27 14:45 UTC");
    expect(names({ kind: "past" }, "2")[1]).toBe("2 days ago · 2026-11-23 14:45 UTC");
    expect(choices({ kind: "time" }, "24.12.2026")).toEqual([{ name: "2026-12-24 00:00 UTC", value: "2026-12-24T00:00:00.000Z" }]);
  });

  test("is read as what it is called, and stays as it is when it is read again", () => {
    const kinds = ["length", "end", "time", "past"] as const;
    const typed = fc.oneof(
      fc.constantFrom("", "in 3", "vor 3", "tom", "mor", "per", "1h30m", "24.12.2026"),
      fc.integer({ min: 1, max: 999 }).map(String),
    );
    fc.assert(
      fc.property(fc.constantFrom(...kinds), typed, fc.constantFrom(...languages), (kind, text, language) => {
        const spec: TimeSpec = { kind, canBePermanent: true };
        for (const { name, value } of choices(spec, text, language)) {
          const read = (given: string) =>
            withTimes({ options: [{ name: "x", kind: "text", time: spec }] }, { values: { x: given }, files: {} }, now);
          expect(read(value).values["x"]).toBe(value);
          // Of a time, the minute is shown.
          const minute = (at: unknown) => (kind === "length" ? at : String(at).slice(0, 16));
          expect(minute(read(name.split(" · ")[0] ?? "").values["x"]), name).toBe(minute(value));
        }
      }),
      { numRuns: runsOf(200) },
    );
  });
});

test("every word of a unit and of no end means one thing", () => {
  const words = (Object.keys(units) as Unit[]).flatMap((unit) => [...wordsOf(unit)] as string[]);
  expect(new Set([...words, ...permanentWords]).size).toBe(words.length + permanentWords.length);
});
