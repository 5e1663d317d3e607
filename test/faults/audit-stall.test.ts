import { expect, test } from "vitest";
import { growChain } from "../features/audit-chain-ground.ts";
import { createWorld } from "../support/world.ts";
import { sizeOf } from "../support/size.ts";

/** How long the chain is. Only the long one is held against the clock: a short one ends before there is much to measure. */
const count = sizeOf({ quick: 8000, all: 8000, long: 200_000 });
const isLong = count >= 200_000;

test(`while ${count.toString()} entries are verified, /health is answered`, async () => {
  const world = await createWorld();
  const owner = await world.staff("owner");
  await growChain(world.app.database, count);
  const state = { isDone: false };
  const verified = world.get("/audit/verify", { actor: owner }).finally(() => (state.isDone = true));
  const again = world.get("/audit/verify", { actor: owner });
  const latencies: number[] = [];
  while (!state.isDone) {
    const asked = performance.now();
    expect((await world.get("/health", { key: null })).status).toBe(200);
    latencies.push(performance.now() - asked);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const { data } = (await verified).body;
  expect(data).toMatchObject({ ok: true });
  expect(data.entries).toBeGreaterThan(count);
  expect((await again).body.data).toEqual(data);
  expect(latencies.length).toBeGreaterThan(2);
  const sorted = latencies.toSorted((a, b) => a - b);
  const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? 0;
  if (isLong) expect(p99).toBeLessThan(100);
  if (isLong)
    process.stdout.write(
      `${latencies.length.toString()} answers, p50 ${(sorted[sorted.length >> 1] ?? 0).toFixed(1)} ms, p99 ${p99.toFixed(1)} ms\n`,
    );
});
