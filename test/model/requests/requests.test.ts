// @module-tag postgres
// @module-tag slow
import fc from "fast-check";
import { expect, test } from "vitest";
import { systemCall } from "../../../src/kernel/call.ts";
import { uuid7 } from "../../../src/kernel/ids.ts";
import { createRequestsGround, type RequestsGround } from "./ground.ts";
import { rare } from "./rare.ts";
import { play } from "./play.ts";
import { sequences } from "./steps.ts";
import { seedOf, sizeOf, tier } from "../../support/size.ts";

/** From so many sequences on, everything usual comes up. */
const enough = 40;
const runs = sizeOf({ quick: 5, all: 50, long: 20_000 });
const seed = seedOf(6);
/** A database is left behind before it grows slow. */
const perGround = 100;

/** Every sequence would go as the model says if nothing could be done in any: so these have to come up. */
const usual = ["approve 200", "approve 403", "approve 409", "deny 200", "reverse 200", "claim 200", "amend 200", "hold 200", "try 200"];

test(
  `${runs.toString()} random sequences of requests of all kinds, by six people, go as the model says`,
  { timeout: 36_000_000 },
  async () => {
    const seen = new Map<string, number>();
    let played = 0;
    let ground: RequestsGround | undefined;
    const began = Date.now();
    const property = fc.asyncProperty(sequences, async (steps) => {
      if (ground === undefined || played % perGround === 0) ground = await createRequestsGround();
      played += 1;
      if (tier === "long" && played % 500 === 0)
        process.stdout.write(
          `${played.toString()} sequences of seed ${seed.toString()} in ${Math.round((Date.now() - began) / 1000).toString()} s\n`,
        );
      for (const answer of await play(ground, steps)) seen.set(answer, (seen.get(answer) ?? 0) + 1);
    });
    const outcome = await fc.check(property, { numRuns: runs, seed, endOnFailure: process.env["NOSHRINK"] !== undefined });
    // The shrunk sequence in words says all; fast-check's own report would repeat it as data.
    if (outcome.failed)
      throw new Error(
        `seed ${seed.toString()}, path ${outcome.counterexamplePath ?? ""}, after ${outcome.numRuns.toString()} sequences:\n${String(outcome.errorInstance)}`,
      );
    if (tier === "long")
      process.stdout.write(`${JSON.stringify(Object.fromEntries([...seen].toSorted(([one], [other]) => one.localeCompare(other))))}\n`);
    expect(runs < enough ? [] : usual.filter((answer) => !seen.has(answer))).toEqual([]);
    expect(await ground?.audit.verify(systemCall("cli", uuid7()))).toMatchObject({ ok: true });
  },
);

test("sequences that chance comes by seldom go as the model says, too", async () => {
  const ground = await createRequestsGround();
  const off: string[] = [];
  for (const [name, steps] of Object.entries(rare))
    await play(ground, steps).catch((error: unknown) => void off.push(`${name}:\n${String(error)}`));
  expect(off.join("\n\n")).toBe("");
});
