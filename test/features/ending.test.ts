// @module-tag sqlite
// @module-tag slow
import { expect, test } from "vitest";
import { createWorld } from "../support/world.ts";

/** What runs by itself, by the name under which the log speaks of it. */
const parts = {
  alerts: "alerts",
  cards: "cards",
  deliveries: "deliveries",
  nativeActions: "nativeWatch",
  webhooks: "webhookRunner",
  rosterSync: "rosterSync",
  follows: "follows",
} as const;

test("a service ends within ten seconds although none of its parts does, and names them in the log", async () => {
  const lines: string[] = [];
  const world = await createWorld({ log: (line) => lines.push(line) });
  for (const service of Object.values(parts)) Object.assign(world.app[service], { stop: () => new Promise(() => undefined) });
  const began = performance.now();
  await world.app.stop();
  expect(performance.now() - began).toBeLessThan(10_000);
  const left = lines.flatMap((line) => (JSON.parse(line) as { part?: string }).part ?? []);
  expect(left.toSorted()).toEqual(Object.keys(parts).toSorted());
  await world.restart();
  expect((await world.get("/readyz")).status).toBe(200);
});

test("a long end is no stall", async () => {
  const lines: string[] = [];
  const world = await createWorld({ log: (line) => lines.push(line) });
  await world.app.stop();
  const { now } = performance;
  performance.now = () => now.call(performance) + 60_000;
  try {
    expect(world.app.stallWatch.isAlive()).toBe(true);
  } finally {
    performance.now = now;
  }
  expect(lines.join("")).not.toContain("stood still");
  await world.restart();
});
