// @module-tag postgres
// @module-tag slow
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { createPair, isPostgres } from "./shared-ground.ts";

const wrong = { authorization: "Bearer prv_live_000000000000_wrong" };

test.runIf(isPostgres())(
  "wrong keys tried at one process count at the other within a second, and a limited address writes nothing more",
  async () => {
    const { apps, ask, world } = await createPair({ env: { RATE_LIMITS: "failed_auth=10/3600" } });
    const [one, other] = apps;
    for (let turn = 0; turn < 10; turn += 1) expect((await ask(one, "GET", "/health", wrong)).status).toBe(401);
    // The first wrong key at the other process is one too many, a second later.
    await delay(1000);
    expect((await ask(other, "GET", "/staff", wrong)).status).toBe(429);
    expect((await ask(one, "GET", "/staff", wrong)).status).toBe(429);
    // Keys that are right are answered as ever, once a process knows them: within a second of its start.
    await expect.poll(async () => (await ask(other, "GET", "/staff")).status).toBe(200);
    const counted = async (): Promise<number> => {
      const rows = await world.app.database.read.authFailure.findMany();
      return rows.reduce((sum, { count }) => sum + count, 0);
    };
    await delay(600);
    const before = await counted();
    for (let turn = 0; turn < 20; turn += 1) await ask(one, "GET", "/staff", wrong);
    await delay(600);
    expect(await counted()).toBe(before);
    expect(before).toBe(10);
  },
);

test.runIf(isPostgres())("a limit is divided among the processes that are alive, and follows their number", async () => {
  let nodes = 2;
  const { apps, ask } = await createPair({ env: { RATE_LIMITS: "read=9/3600" }, liveNodes: () => nodes });
  const [one, other] = apps;
  const policies = async (turns: number) => {
    const found: string[] = [];
    for (let turn = 0; turn < turns; turn += 1) {
      const { status, headers } = await ask(one, "GET", "/staff");
      found.push(`${status.toString()} ${headers.get("ratelimit-policy") ?? ""}`);
    }
    return found;
  };
  expect(await policies(6)).toEqual([...Array.from({ length: 5 }, () => '200 "read";q=5;w=3600'), '429 "read";q=5;w=3600']);
  expect((await ask(other, "GET", "/staff")).status).toBe(200);
  nodes = 3;
  expect((await ask(other, "GET", "/staff")).headers.get("ratelimit")).toMatch(/^"read";r=2;/);
  nodes = 1;
  expect((await ask(other, "GET", "/staff")).headers.get("ratelimit-policy")).toBe('"read";q=9;w=3600');
});
