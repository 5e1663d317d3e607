import fc from "fast-check";
import { expect, test } from "vitest";
import { gained, type InForce } from "../../features/in-force.ts";
import { createReversalGround, type ReversalGround } from "./reversal.ground.ts";
import { histories, kinds, several, wishes, type History, type Wish } from "./reversal.steps.ts";
import { seedOf, sizeOf } from "../../support/size.ts";

const runs = sizeOf({ quick: 1, all: 5, long: 300 });
const seed = seedOf(3);
const timeout = 36_000_000;

/** A ground that is left behind before what piles up in it slows it down. */
function grounds(most = 15) {
  let used = 0;
  let current: ReversalGround | undefined;
  return async (isEmployed: boolean): Promise<ReversalGround> => {
    if (current === undefined || used % most === 0) current = await createReversalGround();
    used += 1;
    await current.renew(isEmployed);
    return current;
  };
}

/** What came before: filed, approved where it can be, and some of it taken back. */
async function live(ground: ReversalGround, history: readonly History[]): Promise<void> {
  for (const one of history) {
    const reference = await ground.file(one);
    if (reference === undefined) continue;
    ground.known(one.kind, reference);
    if ((await ground.approve(one.kind, reference, one.decision)) && one.isReversed) await ground.reverse(one.kind, reference);
  }
}

/** @throws Error that says what is in force besides, and what no more */
function requireSame(after: InForce, before: InForce): void {
  const off = [gained(after, before), gained(before, after)].map((found) => Object.entries(found));
  if (off.flat().length > 0) throw new Error(`more: ${JSON.stringify(off[0])}\nless: ${JSON.stringify(off[1])}`);
}

async function check<Values>(property: fc.IAsyncPropertyWithHooks<Values>, numRuns = runs): Promise<void> {
  const outcome = await fc.check(property, { numRuns, seed, endOnFailure: process.env["NOSHRINK"] !== undefined });
  if (!outcome.failed) return;
  throw new Error(
    `seed ${seed.toString()}, after ${outcome.numRuns.toString()}:\n${JSON.stringify(outcome.counterexample)}\n${String(outcome.errorInstance)}`,
  );
}

test.each(kinds)("whatever came before, a reversed %s leaves in force what was before its approval", { timeout }, async (kind) => {
  // What falls due of earlier sequences would be done in the middle of a later one.
  const next = grounds(kind === "server-merge" ? 1 : undefined);
  let reversed = 0;
  const wish = wishes[kind] ?? fc.constant<Wish>({ kind, body: {} });
  // Whoever is on the roster is not recruited.
  const employed = kind === "recruitment" ? fc.constantFrom(false, false, false, true) : fc.boolean();
  const merges = kind === "server-merge" ? fc.constantFrom(0, 3) : fc.constant(0);
  await check(
    fc.asyncProperty(histories, wish, employed, merges, async (history, one, isEmployed, days) => {
      const ground = await next(isEmployed);
      // Where time passes, mergers of the past would be carried out in the meantime.
      await live(ground, days > 0 ? history.filter((past) => past.kind !== "server-merge") : history);
      if (kind === "appeal" && !ground.hasTarget()) return;
      const reference = await ground.file(one);
      if (reference === undefined) return;
      const before = await ground.snapshot();
      if (!(await ground.approve(kind, reference, one.decision))) {
        requireSame(await ground.snapshot(), before);
        return;
      }
      if (days > 0) await ground.passDays(days);
      expect(await ground.reverse(kind, reference)).toBe(true);
      requireSame(await ground.snapshot(), before);
      reversed += 1;
    }),
    // Of those who apply, some are on the roster already, so that it takes more tries to have one recruited.
    kind === "recruitment" ? runs + 3 : runs,
  );
  expect(reversed).toBeGreaterThan(0);
});

test("several approvals taken back in the order against that of their making leave what was before them", { timeout }, async () => {
  const next = grounds();
  await check(
    fc.asyncProperty(histories, several, fc.boolean(), async (history, wanted, isEmployed) => {
      const ground = await next(isEmployed);
      await live(ground, history);
      const done: { kind: string; reference: string; before: InForce }[] = [];
      for (const one of wanted) {
        const reference = await ground.file(one);
        if (reference === undefined) continue;
        const before = await ground.snapshot();
        if (await ground.approve(one.kind, reference, one.decision)) done.push({ kind: one.kind, reference, before });
      }
      for (const { kind, reference, before } of done.toReversed()) {
        expect(await ground.reverse(kind, reference)).toBe(true);
        requireSame(await ground.snapshot(), before);
      }
    }),
  );
});

test("many approved at once and reversed at once leave what was before", { timeout }, async () => {
  const next = grounds();
  await check(
    fc.asyncProperty(histories, several, async (history, wanted) => {
      const ground = await next(true);
      await live(ground, history);
      const references: string[] = [];
      for (const one of wanted) references.push(...[await ground.file(one)].filter((reference) => reference !== undefined));
      if (references.length === 0) return;
      const before = await ground.snapshot();
      for (const turn of [0, 1]) expect((await ground.bulk(references, { decision: "approve" }, "approve", turn)).status).toBe(200);
      for (const turn of [0, 1])
        expect((await ground.bulk(references.toReversed(), { decision: "reverse" }, "reverse", turn)).status).toBe(200);
      // What was never approved is open as it was.
      requireSame(await ground.snapshot(), before);
    }),
  );
});
