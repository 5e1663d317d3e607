// @module-tag sqlite
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { afresh, afterAttempt, givesUpAfter, type Outcome, type Run } from "../../src/features/webhooks/schedule.ts";
import { runsOf } from "../support/size.ts";

const at = (seconds: number): Date => new Date(Date.UTC(2026, 0, 1) + seconds * 1000);
const secondsUntil = (run: Run, now: Date): number => ((run.nextAttemptAt?.getTime() ?? now.getTime()) - now.getTime()) / 1000;
const documented = [5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 57_600, 86_400, 86_400];

describe("after an attempt that failed", () => {
  test.each([0, 1])("it is tried again after the documented times, a fifth later at most (chance %d)", (chance) => {
    let run: Run = afresh;
    for (const wait of documented) {
      const now = at(0);
      run = afterAttempt(run, { status: 500 }, now, { chance });
      expect(secondsUntil(run, now)).toBeCloseTo(Math.min(86_400, wait * (1 + 0.2 * chance)), 3);
    }
  });

  test.each([
    ["3", 5],
    ["40", 40],
    ["Thu, 01 Jan 2026 00:10:00 GMT", 600],
    ["999999999", 86_400],
    ["Wed, 01 Jan 2020 00:00:00 GMT", 5],
    ["soon", 5],
    ["-5", 5],
  ])("a Retry-After of %s makes it %d seconds", (retryAfter, seconds) => {
    expect(secondsUntil(afterAttempt(afresh, { status: 503, retryAfter }, at(0), { chance: 0 }), at(0))).toBe(seconds);
  });
});

/** Whatever a receiver answers, and however late an attempt is made. */
test("whatever a receiver answers, its attempts end by one that is taken, by a 410, or by five days of failure", () => {
  const status = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(null, 500, 503, 404, 301, 100, 199, 300) },
    { weight: 1, arbitrary: fc.constantFrom(200, 204, 299) },
    { weight: 1, arbitrary: fc.constant(410) },
  );
  const answer = fc.record({
    status,
    retryAfter: fc.option(fc.oneof(fc.nat(200_000).map(String), fc.string({ maxLength: 6 })), { nil: undefined }),
    late: fc.nat(7200),
    chance: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(answer, { minLength: 1, maxLength: 40 }), (answers) => {
      let run: Run = afresh;
      let now = at(0);
      // What the rules say, told once more: how many failed in a row, and since when.
      const model = { failures: 0, since: undefined as Date | undefined };
      for (const { late, chance, ...outcome } of answers) {
        now = new Date(Math.max(now.getTime(), run.nextAttemptAt?.getTime() ?? 0) + late * 1000);
        const { end, ...next } = afterAttempt(run, outcome satisfies Outcome, now, { chance });
        if (outcome.status !== null && outcome.status >= 200 && outcome.status <= 299) {
          expect([next, end]).toEqual([afresh, undefined]);
          Object.assign(model, { failures: 0, since: undefined });
        } else {
          model.failures += 1;
          model.since ??= now;
          expect(next).toMatchObject({ failures: model.failures, failingSince: model.since });
          expect(secondsUntil(next, now)).toBeGreaterThanOrEqual(documented[Math.min(model.failures, documented.length) - 1] ?? 0);
          expect(secondsUntil(next, now)).toBeLessThanOrEqual(86_400);
          const isLong = now.getTime() - model.since.getTime() >= givesUpAfter * 1000;
          expect(end).toBe(outcome.status === 410 ? "gone" : isLong ? "failing" : undefined);
          if (end !== undefined) return;
        }
        run = next;
      }
    }),
    { numRuns: runsOf(400) },
  );
});
