import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isQuietAt, isTimeZone } from "../../src/features/staff/quiet-hours.ts";
import { runsOf } from "../support/size.ts";

const [hour, day] = [3_600_000, 86_400_000];

/** The last or n-th Sunday of a month, by counting days. */
function sundayOf(year: number, month: number, nth: number | "last"): number {
  const days = Array.from({ length: 31 }, (_, index) => new Date(Date.UTC(year, month, index + 1)));
  const sundays = days.filter((at) => at.getUTCMonth() === month && at.getUTCDay() === 0);
  return (nth === "last" ? sundays.at(-1)! : sundays[nth - 1]!).getTime();
}

/** How far zones are ahead of UTC, by the rules of their laws as they have stood for years; no library is asked. */
const rules: Record<string, (at: number) => number> = {
  UTC: () => 0,
  "Asia/Tokyo": () => 9 * hour,
  "Asia/Kolkata": () => 5.5 * hour,
  "Pacific/Chatham": (at) => {
    const year = new Date(at).getUTCFullYear();
    // Summer ends on the first Sunday of April and begins on the last one of September, both at 14:00 UTC of the day before.
    const isSummer = at < sundayOf(year, 3, 1) - 10 * hour || at >= sundayOf(year, 8, "last") - 10 * hour;
    return (isSummer ? 13.75 : 12.75) * hour;
  },
  "Europe/Berlin": (at) => {
    const year = new Date(at).getUTCFullYear();
    return (at >= sundayOf(year, 2, "last") + hour && at < sundayOf(year, 9, "last") + hour ? 2 : 1) * hour;
  },
  "America/New_York": (at) => {
    const year = new Date(at).getUTCFullYear();
    return (at >= sundayOf(year, 2, 2) + 7 * hour && at < sundayOf(year, 10, 1) + 6 * hour ? -4 : -5) * hour;
  },
};
const zones = Object.keys(rules);

const [first, last] = [Date.UTC(2024, 0, 1), Date.UTC(2029, 11, 31)];
const anyTime = fc.integer({ min: first, max: last });
/** Within two days of a change to or from summer time. */
const nearChange = fc
  .tuple(
    fc.integer({ min: 2024, max: 2029 }),
    fc.constantFrom([2, "last"], [2, 2], [9, "last"], [10, 1], [3, 1], [8, "last"]),
    fc.integer(),
  )
  .map(([year, [month, nth], offset]) => sundayOf(year, month as number, nth as number | "last") + (offset % (2 * day)));
const times = fc.oneof(anyTime, nearChange);
const zone = fc.constantFrom(...zones);
const clock = (minutes: number): string =>
  `${Math.floor(minutes / 60)
    .toString()
    .padStart(2, "0")}:${(minutes % 60).toString().padStart(2, "0")}`;
const minutes = fc.integer({ min: 0, max: 1439 });
const someDays = fc.option(fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1 }), { nil: undefined });
const window = fc.record({ from: minutes, to: minutes, days: someDays });

/** What is quiet, by walking back minute by minute on the wall to the last beginning. */
function isQuietByWalking(
  { from, to, days }: { from: number; to: number; days: number[] | undefined },
  zoneName: string,
  at: number,
): boolean {
  const wall = new Date(at + rules[zoneName]!(at));
  const now = wall.getUTCDay() * 1440 + wall.getUTCHours() * 60 + wall.getUTCMinutes();
  const length = (to - from + 1440) % 1440 || 1440;
  return [0, 1, 2, 3, 4, 5, 6]
    .filter((one) => days?.includes(one) !== false)
    .some((one) => (now - (one * 1440 + from) + 7 * 1440) % (7 * 1440) < length);
}

test("quiet hours follow the clock on the wall, over midnight, weeks and summer time", () => {
  fc.assert(
    fc.property(window, zone, times, ({ from, to, days }, name, at) => {
      const hours = { from: clock(from), to: clock(to), ...(days !== undefined && { days }) };
      expect(isQuietAt([hours], name, new Date(at))).toBe(isQuietByWalking({ from, to, days }, name, at));
    }),
    { numRuns: runsOf(3000) },
  );
});

test("several windows are quiet when any of them is, and none is never", () => {
  fc.assert(
    fc.property(fc.array(window, { maxLength: 7 }), zone, times, (windows, name, at) => {
      const all = windows.map(({ from, to, days }) => ({ from: clock(from), to: clock(to), days }));
      expect(isQuietAt(all, name, new Date(at))).toBe(windows.some((one) => isQuietByWalking(one, name, at)));
    }),
    { numRuns: runsOf(500) },
  );
});

describe("on the night of a change", () => {
  const night = [{ from: "22:00", to: "07:00" }];
  test.each([
    ["Europe/Berlin", "2026-03-29T04:59:00Z", true],
    ["Europe/Berlin", "2026-03-29T05:00:00Z", false],
    ["Europe/Berlin", "2026-10-25T05:59:00Z", true],
    ["Europe/Berlin", "2026-10-25T06:00:00Z", false],
    ["America/New_York", "2026-11-01T11:59:00Z", true],
    ["America/New_York", "2026-11-01T12:00:00Z", false],
  ])("in %s at %s: quiet %s", (name, at, isQuiet) => {
    expect(isQuietAt(night, name, new Date(at))).toBe(isQuiet);
  });

  test("the hour that comes twice is quiet twice, and the one that is left out never is", () => {
    const second = [{ from: "02:00", to: "03:00" }];
    const quietIn = (from: string) =>
      Array.from({ length: 6 * 60 }, (_, minute) => new Date(Date.parse(from) + minute * 60_000)).filter((at) =>
        isQuietAt(second, "Europe/Berlin", at),
      ).length;
    expect([quietIn("2026-10-24T22:00:00Z"), quietIn("2026-03-28T23:00:00Z"), quietIn("2026-06-01T22:00:00Z")]).toEqual([120, 0, 60]);
  });
});

test("without a zone the clock is UTC", () => {
  const hours = [{ from: "22:00", to: "23:00" }];
  expect(isQuietAt(hours, null, new Date("2026-07-01T22:30:00Z"))).toBe(true);
  expect(isQuietAt(hours, "Asia/Tokyo", new Date("2026-07-01T22:30:00Z"))).toBe(false);
});

test("time zones are names of the IANA, not offsets and not anything else", () => {
  for (const name of [...zones, "Etc/GMT+5", "America/Argentina/Buenos_Aires", "GMT"])
    expect([name, isTimeZone(name)]).toEqual([name, true]);
  const none = ["", "+02:00", "-05", "Europe/Nowhere", "Europe/Berlin\n", " UTC", "../etc", "Mars/Olympus", "CETCET"];
  for (const name of none) expect([name, isTimeZone(name)]).toEqual([name, false]);
  fc.assert(fc.property(fc.string(), (name) => typeof isTimeZone(name) === "boolean"));
});
