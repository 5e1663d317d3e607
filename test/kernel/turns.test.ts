// @module-tag sqlite
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { createTurns } from "../../src/kernel/turns.ts";

test("work with the same key never overlaps, goes in order, and is not kept by what failed before it", async () => {
  const turns = createTurns();
  const said: string[] = [];
  const work = (name: string, ms: number) => async () => {
    said.push(`${name} begins`);
    await delay(ms);
    said.push(`${name} ends`);
    if (name === "a") throw new Error("a failed");
    return name;
  };
  const all = await Promise.allSettled([
    turns.take("one", work("a", 20)),
    turns.take("one", work("b", 1)),
    turns.take("other", work("c", 5)),
  ]);
  expect(all.map((one) => (one.status === "fulfilled" ? one.value : (one.reason as Error).message))).toEqual(["a failed", "b", "c"]);
  expect(said).toEqual(["a begins", "c begins", "c ends", "a ends", "b begins", "b ends"]);
  expect(await turns.take("one", work("d", 0))).toBe("d");
});
