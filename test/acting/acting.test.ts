// @module-tag both
// @module-tag slow
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Sabotage } from "../faults/acting-orders.ts";
import { seedOf, sizeOf } from "../support/size.ts";
import { createActingGround, type ActingGround } from "./ground.ts";
import { play, type Interference } from "./play.ts";
import { roundsFor, type Act, type Round, type Trouble } from "./steps.ts";

/**
 * Whatever asks for bans and timeouts, while Discord refuses, fails and loses answers, people come, go and act by hand, and processes are killed
 * between two statements: what the service says was done is what Discord shows, nothing is done twice, nothing is forgotten, and every failure is
 * said. Section 5 of the design.
 */
const shared: { ground?: ActingGround } = {};
let end = (): Promise<void> => Promise.resolve();
beforeAll(async () => {
  shared.ground = await createActingGround((way) => (end = way));
});
afterAll(() => end());

function ground(): ActingGround {
  if (shared.ground === undefined) throw new Error("nothing is open");
  return shared.ground;
}

/** How many people are played at the same time, and how many sequences in all. */
const people = 20;
const sequences = sizeOf({ quick: people, all: people, long: 2000 });

test(`what the service says is what Discord shows, once, and nothing is forgotten, in ${sequences.toString()} sequences`, async () => {
  let played = 0;
  const begun = performance.now();
  await fc.assert(
    fc.asyncProperty(roundsFor(people), async (rounds) => {
      await play(ground(), rounds);
      played += people;
      if (sequences > 500)
        process.stdout.write(`${played.toString()} sequences, ${Math.round((performance.now() - begun) / 1000).toString()} s\n`);
    }),
    { numRuns: Math.ceil(sequences / people), seed: seedOf(19), endOnFailure: true },
  );
  expect(played).toBeGreaterThanOrEqual(sequences);
}, 7_200_000);

/** What the service could leave out, and a play in which the property notices. */
describe("the property notices", () => {
  const quiet: Trouble = { with: "none" };
  const ban: Act = { do: "ban", units: null, way: "alone" };
  const timeout = (units: number): Act => ({ do: "timeout", units, way: "alone" });
  const reverse = (which: number): Act => ({ do: "reverse", which });
  const round = (trouble: Trouble, ...acts: Act[]): Round => ({ steps: [{ acts, trouble }], kill: null, units: 0 });
  const left: readonly [string, readonly Round[], Sabotage | null, Interference][] = [
    ["a refusal that is called done", [round({ with: "refusal" }, ban)], "refusals are done", {}],
    ["an act that is never tried again", [round({ with: "too many", times: 1 }, ban)], "nothing is tried again", {}],
    [
      "that nobody remembers what an attempt without an answer may have done",
      [round({ with: "lost", times: 5 }, ban), round(quiet, reverse(0))],
      "attempts are forgotten",
      {},
    ],
    [
      "a ban that is lifted though another decision still asks for it",
      [round(quiet, ban), round(quiet, ban, reverse(0))],
      null,
      { afterRound: ({ guilds: [bans] }, users) => users.forEach((user) => bans.unban(user)) },
    ],
    [
      "an end that is not worked out anew from the decisions that remain",
      [round(quiet, timeout(1)), round(quiet, timeout(4)), round(quiet, reverse(1))],
      "ends stay as they were",
      {},
    ],
    [
      "a failure that nobody is told of",
      [round({ with: "refusal" }, ban)],
      null,
      { afterRound: (one) => one.toAll({ do: "forget failures" }) },
    ],
  ];

  test.each(left)("%s", async (_, rounds, by, interference) => {
    await play(ground(), rounds);
    await ground().toAll({ do: "sabotage", by });
    try {
      await expect(play(ground(), rounds, interference)).rejects.toThrow(/after round|failed:/);
    } finally {
      await ground().toAll({ do: "sabotage", by: null });
    }
  });
});
