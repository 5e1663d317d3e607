import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { ProblemError } from "../../src/kernel/errors.ts";
import { forEachIsolated, partByPart, requireNoneFailed, sweepIsolated, type Isolation } from "../../src/kernel/isolated.ts";

function isolation(more: Partial<Isolation<number>> = {}) {
  const logged: object[] = [];
  const logger = { error: (details: object, message: string) => void logged.push({ ...details, message }) };
  return { logged, options: { logger, failure: "a number could not be counted", idsOf: (number: number) => ({ number }), ...more } };
}

describe("what is done for each of some items", () => {
  it("goes on where one of them throws, and says which one it was and why", async () => {
    const { logged, options } = isolation();
    const bad = new Error("two is too even");
    const done: number[] = [];
    const failed = await forEachIsolated([1, 2, 3], (number) => (number === 2 ? Promise.reject(bad) : done.push(number)), options);
    expect(done).toEqual([1, 3]);
    expect(failed).toEqual([{ item: 2, error: bad }]);
    expect(logged).toEqual([{ number: 2, err: bad, message: "a number could not be counted" }]);
    expect(() => requireNoneFailed(failed)).toThrow("what failed for itself: 1; the rest is done");
    expect(() => requireNoneFailed([])).not.toThrow();
  });

  it("is done for so many at the same time, and for no more", async () => {
    let [now, most] = [0, 0];
    await forEachIsolated(
      Array.from({ length: 20 }, (_, index) => index),
      async () => {
        most = Math.max(most, (now += 1));
        await delay(2);
        now -= 1;
      },
      isolation({ places: 3 }).options,
    );
    expect([now, most]).toEqual([0, 3]);
  });

  it("ends where the storage takes nothing, as that is no fault of an item", async () => {
    const { logged, options } = isolation();
    const seen: number[] = [];
    const busy = new ProblemError("storage_busy");
    const run = forEachIsolated(
      [1, 2, 3],
      (number) => {
        seen.push(number);
        throw number === 2 ? busy : new Error("bad");
      },
      options,
    );
    await expect(run).rejects.toBe(busy);
    expect(seen).toEqual([1, 2]);
    expect(logged).toHaveLength(1);
  });

  it("begins nothing more once the service stops", async () => {
    const stopping = new AbortController();
    const seen: number[] = [];
    const work = (number: number): void => {
      seen.push(number);
      stopping.abort();
    };
    expect(await forEachIsolated([1, 2], work, isolation({ signal: stopping.signal }).options)).toEqual([]);
    expect(seen).toEqual([1]);
  });
});

describe("what is due in pages", () => {
  const all = [1, 2, 3, 4, 5, 6];
  const find = (after = 0): Promise<number[]> => Promise.resolve(all.filter((number) => number > after).slice(0, 2));

  it("is done page by page, and item by item only where a page fails; what is left comes out at the end", async () => {
    const { logged, options } = isolation();
    const worked: (readonly number[])[] = [];
    const work = (items: readonly number[]): Promise<number> => {
      worked.push(items);
      return items.includes(3) ? Promise.reject(new Error("not three")) : Promise.resolve(items.length);
    };
    await expect(sweepIsolated({ size: 2, find, work, ...options })).rejects.toThrow("what failed for itself: 1; the rest is done");
    expect(worked).toEqual([[1, 2], [3, 4], [3], [4], [5, 6]]);
    expect(logged).toMatchObject([{ number: 3 }]);
    const whole = { size: 2, find, work: (items: readonly number[]) => Promise.resolve(items.length), ...options };
    expect(await sweepIsolated(whole)).toBe(6);
  });

  it("is not done item by item where the storage takes nothing", async () => {
    const worked: (readonly number[])[] = [];
    const work = (items: readonly number[]): Promise<number> => {
      worked.push(items);
      return Promise.reject(new ProblemError("storage_full"));
    };
    await expect(sweepIsolated({ size: 2, find, work, ...isolation().options })).rejects.toMatchObject({ code: "storage_full" });
    expect(worked).toEqual([[1, 2]]);
  });
});

it("a part of a job that fails holds up none of those behind it, and the job fails with its reason", async () => {
  const done: string[] = [];
  const part = (name: string) => () => Promise.resolve(done.push(name));
  const fail = (reason: string) => () => Promise.reject(new Error(reason));
  await expect(partByPart({ first: part("first"), bad: fail("not this one"), last: part("last") })).rejects.toThrow("not this one");
  expect(done).toEqual(["first", "last"]);
  const both = partByPart({ bad: fail("not this one"), worse: fail("nor this one") });
  await expect(both).rejects.toMatchObject({ errors: [{ message: "not this one" }, { message: "nor this one" }] });
  expect(await partByPart({ first: () => Promise.resolve(2), last: () => Promise.resolve(3) })).toEqual({ first: 2, last: 3 });
});

it("no part is begun any more where the storage takes nothing", async () => {
  const last = vi.fn(() => Promise.resolve(1));
  const full = () => Promise.reject(new ProblemError("storage_full"));
  await expect(partByPart({ full, last })).rejects.toMatchObject({ code: "storage_full" });
  expect(last).not.toHaveBeenCalled();
});
