// @module-tag postgres
import { expect, inject, onTestFinished, test } from "vitest";
import { changeWhileCommitsAreLost, kinds, preparePeople } from "../cluster/lost-commits.ts";
import { createPostgresProxy } from "../cluster/postgres-proxy.ts";
import { createEmptyCopy } from "../support/database.ts";
import { sizeOf } from "../support/size.ts";
import { createWorld } from "../support/world.ts";

const changes = sizeOf({ quick: 40, all: 50, long: 500 });
const cannotRun = inject("dialect") !== "postgres";

/** A service with a proxy between it and PostgreSQL. */
async function createBehindProxy() {
  const database = await createEmptyCopy();
  const proxy = await createPostgresProxy(database.url);
  const world = await createWorld({ database: { url: proxy.url(), remove: () => Promise.resolve() } });
  onTestFinished(async () => {
    await proxy.close();
    await database.remove();
  });
  return { world, proxy, url: database.url };
}

test.skipIf(cannotRun)("where PostgreSQL has committed and its answer is lost, memory says what the database says", async () => {
  const { world, proxy, url } = await createBehindProxy();
  const people = await preparePeople(world, Math.ceil(changes / kinds));
  const { committed, slowestMs } = await changeWhileCommitsAreLost(url, [{ ask: world.request, proxy }], people, changes);
  expect(committed).toBeGreaterThan(0);
  expect(slowestMs).toBeLessThan(5000);
});

test.skipIf(cannotRun)("a request that is repeated after a lost answer is answered once memory has what it did", async () => {
  const { world, proxy } = await createBehindProxy();
  const { owner, denied } = await preparePeople(world, 0);
  const mayRead = async () => (await world.get("/blacklist", { actor: denied })).status === 200;
  expect(await mayRead()).toBe(true);
  const deny = { overrides: [{ key: "blacklist.read", effect: "deny", reason: "Read too much." }] };
  const headers = { "idempotency-key": "denied-once-1" };
  proxy.loseOneIn(1);
  expect((await world.patch(`/permissions/users/${denied.id}`, deny, { actor: owner, headers })).status).toBe(503);
  proxy.loseOneIn(Infinity);
  const again = await world.patch(`/permissions/users/${denied.id}`, deny, { actor: owner, headers });
  expect(again.status).toBe(200);
  expect(again.body.data).toMatchObject({ revision: 1 });
  expect(await mayRead()).toBe(false);
});
