// @module-tag postgres
// @module-tag slow
import { expect, inject, onTestFinished, test } from "vitest";
import { sizeOf } from "../support/size.ts";
import { createCluster, eventually } from "./cluster.ts";
import { changeWhileCommitsAreLost, kinds, preparePeople } from "./lost-commits.ts";

const changes = sizeOf({ quick: 30, all: 50, long: 500 });

test.skipIf(inject("dialect") !== "postgres")(
  "of two servers both say what the database says, where answers to commits are lost",
  async () => {
    const prepare = (world: Parameters<typeof preparePeople>[0]) => preparePeople(world, Math.ceil(changes / kinds));
    const { nodes, prepared, world, leader } = await createCluster({ nodes: 2, prepare, onEnd: onTestFinished });
    await leader();
    // Members are known again once the link is there.
    for (const { ask } of nodes)
      await eventually(async () => (await ask("GET", "/blacklist", undefined, { actor: prepared.owner })).status === 200, 60_000);
    const { committed, slowestMs } = await changeWhileCommitsAreLost(world.databaseUrl, nodes, prepared, changes);
    expect(committed).toBeGreaterThan(0);
    expect(slowestMs).toBeLessThan(5000);
  },
);
