// @module-tag slow
import fc from "fast-check";
import { describe, expect, inject, test } from "vitest";
import { seedOf, sizeOf } from "../support/size.ts";
import {
  createFollower,
  createOrigin,
  follow,
  list,
  purge,
  refresh,
  revoke,
  saidBy,
  type Follower,
  type Origin,
} from "./follows-ground.ts";
import { freshId } from "./workflows-ground.ts";

const deeds = ["list", "list", "change", "move", "revoke", "purge", "read", "restart origin", "restart follower"] as const;
type Deed = { what: (typeof deeds)[number]; which: number };

interface Stage {
  origin: Origin;
  follower: Follower;
  id: string;
}

/** Do something if it can be done now. */
async function act({ origin, follower, id }: Stage, { what, which }: Deed): Promise<void> {
  const { world, owner } = origin;
  if (what === "list") return void (await list(origin, freshId(), { category: which % 2 === 0 ? "raid" : "scam" }));
  if (what === "read") return void (await refresh(follower, id));
  if (what === "restart origin") return await world.restart();
  if (what === "restart follower") return await follower.world.restart();
  const where = what === "purge" ? { status: "revoked" } : { status: "active" };
  const rows = await world.app.database.read.blacklistRecord.findMany({ where, orderBy: { number: "asc" } });
  const row = rows[which % Math.max(rows.length, 1)];
  if (row === undefined) return;
  if (what === "revoke") await revoke(origin, row.id);
  else if (what === "purge") await purge(origin, row.id);
  else await world.patch(`/blacklist/${row.id}`, what === "move" ? { category: "hate" } : { severity: "critical" }, { actor: owner });
}

describe("whatever happens at the origin, and whoever restarts in between", () => {
  test("the follower says what the origin's active records say, and has no contradiction to find", { timeout: 3_600_000 }, async () => {
    const [origin, follower] = [await createOrigin(), await createFollower()];
    const id = await follow(follower, { name: "Harbour Watch", address: origin.world.url, key: origin.key });
    const stage = { origin, follower, id };
    const deed = fc.record({ what: fc.constantFrom(...deeds), which: fc.nat(30) });
    await fc.assert(
      fc.asyncProperty(fc.array(deed, { minLength: 8, maxLength: 25 }), async (story) => {
        for (const one of story) await act(stage, one);
        expect(await refresh(follower, id)).toMatchObject({ state: "following", problem: null });
        const { read } = origin.world.app.database;
        const active = await read.blacklistRecord.findMany({ where: { status: "active" } });
        const wanted = Object.fromEntries(active.map(({ subjectId, category, severity }) => [subjectId, `${category} ${severity}`]));
        expect(await saidBy(follower, id)).toEqual(wanted);
        const purged = await follower.world.app.database.read.followedEntry.findMany({ select: { originId: true } });
        const there = new Set((await read.blacklistRecord.findMany({ select: { id: true } })).map((row) => row.id));
        expect(purged.filter(({ originId }) => !there.has(originId))).toEqual([]);
        // A page of the answer holds them all.
        if (active.length > 150) for (const row of active) await revoke(origin, row.id);
      }),
      {
        numRuns: sizeOf(inject("dialect") === "sqlite" ? { quick: 3, all: 25, long: 2000 } : { quick: 3, all: 10, long: 300 }),
        seed: seedOf(11),
        endOnFailure: true,
      },
    );
  });
});
