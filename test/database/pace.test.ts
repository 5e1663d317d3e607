import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createPace } from "../../src/database/pace.ts";
import { countTurns } from "./samples.ts";

/** A query that keeps the event loop to itself. */
function work(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** Large work that writes one thing after the other, as often as given. */
async function writeMuch(pace: ReturnType<typeof createPace>, times: number, each: () => void): Promise<void> {
  for (let done = 0; done < times; done += 1) {
    await pace("write");
    work(2);
    each();
  }
}

test("who reads waits for one write of large work, and not for all of it", async () => {
  const pace = createPace(1);
  let writes = 0;
  const written = Promise.all([1, 2, 3, 4].map(() => writeMuch(pace, 20, () => (writes += 1))));
  await nextTurn();
  const before = writes;
  for (let read = 0; read < 3; read += 1) {
    await pace();
    work(0.1);
  }
  // Each of the three may find that its turn's time is up, and waits for the write that each turn has.
  expect(writes - before).toBeLessThanOrEqual(9);
  expect(writes).toBeLessThan(80);
  await written;
  expect(writes).toBe(80);
});

test("no write waits for as long as others read", async () => {
  const pace = createPace(1);
  const over = new AbortController();
  const readers = [1, 2, 3].map(async () => {
    while (!over.signal.aborted) {
      await pace();
      work(2);
      // A chain of reads that are answered at once.
      await Promise.resolve();
    }
  });
  await nextTurn();
  await writeMuch(pace, 5, () => undefined);
  over.abort();
  await Promise.all(readers);
});

test("sockets and timers have their turn between queries, whatever asks", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom("read" as const, "write" as const), { minLength: 20, maxLength: 40 }), async (kinds) => {
      const pace = createPace(1);
      const turns = countTurns();
      for (const kind of kinds) {
        await pace(kind);
        work(1.5);
      }
      expect(turns()).toBeGreaterThanOrEqual(kinds.length / 2 - 1);
    }),
    { numRuns: 10 },
  );
});
