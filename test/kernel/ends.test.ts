// @module-tag sqlite
import { expect, test, vi } from "vitest";
import { endWithin } from "../../src/kernel/ends.ts";

test("parts end side by side; one that never ends and one that fails keep nobody, and the log names them", async () => {
  const logger = { warn: vi.fn() };
  const ended: string[] = [];
  const began = performance.now();
  await endWithin(
    200,
    {
      stuck: () => new Promise(() => undefined),
      failing: () => Promise.reject(new Error("no disk")),
      throwing() {
        throw new Error("no such thing");
      },
      slow: () => new Promise((resolve) => setTimeout(resolve, 50)).then(() => ended.push("slow")),
      quick: () => ended.push("quick"),
    },
    logger,
  );
  expect(ended).toEqual(["quick", "slow"]);
  expect(performance.now() - began).toBeGreaterThanOrEqual(199);
  const parts = logger.warn.mock.calls.map(([details]) => (details as { part: string }).part);
  expect(parts.toSorted()).toEqual(["failing", "stuck", "throwing"]);
});

test("what fails after nobody waits for it any more harms nobody", async () => {
  const logger = { warn: vi.fn() };
  await endWithin(20, { late: () => new Promise((_, reject) => setTimeout(() => reject(new Error("late")), 60)) }, logger);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(logger.warn).toHaveBeenCalledOnce();
});
