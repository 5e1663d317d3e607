// @module-tag postgres
import fc from "fast-check";
import { expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createWorld } from "../support/world.ts";
import { createGround, createMovedClock } from "./ground.ts";
import { play } from "./play.ts";
import { sequences } from "./steps.ts";
import { seedOf, sizeOf } from "../support/size.ts";

/** From so many sequences on, everything usual comes up. */
const enough = 150;
const runs = sizeOf({ quick: 25, all: 75, long: 20_000 });
const seed = seedOf(5);

/** Every sequence would go as the model says if nothing could be done in any: so these have to come up. */
const usual = {
  list: [201, 403, 409],
  change: [200, 403, 409],
  revoke: [200, 403, 422],
  read: [200],
  check: [200],
  open: [201, 403],
  note: [201, 403, 404],
  edit: [200, 403],
  close: [200, 403, 409],
  reopen: [200, 403, 409],
  see: [200, 404],
  find: [200],
};

test(
  `${runs.toString()} random sequences of records and cases, by several callers, go as the model says`,
  { timeout: 7_200_000 },
  async () => {
    const clock = createMovedClock();
    const world = await createWorld({ clock });
    const ground = await createGround(world, clock);
    const seen = new Map<string, number>();
    const property = fc.asyncProperty(sequences, async (steps) => {
      const { answers } = await play(ground, steps);
      for (const answer of answers) seen.set(answer, (seen.get(answer) ?? 0) + 1);
    });
    const outcome = await fc.check(property, { numRuns: runs, seed });
    // The shrunk sequence in words says all; fast-check's own report would repeat it as data.
    if (outcome.failed)
      throw new Error(`seed ${seed.toString()}, after ${outcome.numRuns.toString()} sequences:\n${String(outcome.errorInstance)}`);
    const missing = Object.entries(usual).flatMap(([what, statuses]) =>
      statuses.map((status) => `${what} ${status.toString()}`).filter((answer) => !seen.has(answer)),
    );
    expect(runs < enough ? [] : missing).toEqual([]);
    const chain = await world.app.audit.verify(systemCall("cli", uuid7()));
    expect(chain).toMatchObject({ ok: true });
  },
);
