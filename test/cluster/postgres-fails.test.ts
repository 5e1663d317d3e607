// @module-tag postgres
// @module-tag slow
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { migrate } from "../../src/database/database.ts";
import { startInstalled, whyNoInstalled } from "../backup/installed-postgres.ts";
import { sizeOf } from "../support/size.ts";
import { eventually } from "./cluster.ts";
import { createGround, expectNoGaps, expectWholeChain, type Ground, isServing } from "./ground.ts";
import { expectCardsOnce, expectEachOnce, expectFirstAnswers, startLoad } from "./load.ts";

/** It has servers of its own, so one of the projects is enough. */
const cannotRun = inject("dialect") !== "postgres" || whyNoInstalled !== undefined;
const restarts = sizeOf({ quick: 1, all: 2, long: 5 });
const loadMs = sizeOf({ quick: 1000, all: 2000, long: 10_000 });

/** A server of PostgreSQL, and three nodes on it. */
async function createPlace(settings: readonly string[] = []) {
  const server = await startInstalled({ settings });
  onTestFinished(() => server.stop());
  await run(server.url("postgres"), "CREATE DATABASE provost");
  await migrate(server.url("provost"));
  const database = { url: server.url("provost"), remove: () => Promise.resolve() };
  return { server, ground: await createGround({ database, onEnd: onTestFinished }) };
}

async function run<Row extends pg.QueryResultRow>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return (await client.query<Row>(sql).finally(() => client.end())).rows;
}

/** Every node answers again, and commands are answered, by the processes that were there before. */
async function expectBack(ground: Ground): Promise<void> {
  const began = performance.now();
  for (const node of ground.nodes) await eventually(() => node.isReady(), 60_000);
  const ready = performance.now() - began;
  await isServing(ground);
  process.stdout.write(
    `PostgreSQL is back: every node is ready after ${ready.toFixed(0)} ms, commands are answered after ${(performance.now() - began).toFixed(0)} ms\n`,
  );
  expect(ground.nodes.filter((node) => !node.isRunning()).map((node) => node.printed())).toEqual([]);
}

test.skipIf(cannotRun)("every node recovers from a restart of PostgreSQL, without a restart of its own", async () => {
  const { server, ground } = await createPlace();
  const load = startLoad(ground);
  for (let round = 0; round < restarts; round += 1) {
    await delay(loadMs);
    await server.crash();
    await delay(round % 2 === 0 ? 500 : 8000);
    await server.begin();
    await expectBack(ground);
  }
  await delay(loadMs);
  await load.stop();
  await expectEachOnce(ground, load);
  await expectCardsOnce(ground, load, restarts);
  await expectNoGaps(ground);
  await expectWholeChain(ground);
});

test.skipIf(cannotRun)("every node recovers where a copy of PostgreSQL takes the place of one that is lost", async () => {
  const { server, ground } = await createPlace(["wal_level=replica"]);
  const standby = await startInstalled({ from: server });
  onTestFinished(() => standby.stop());
  // From here on what was answered is on both.
  await run(server.url("postgres"), "ALTER SYSTEM SET synchronous_standby_names = '*'");
  await run(server.url("postgres"), "SELECT pg_reload_conf()");
  const isFollowing = () =>
    run<{ sync_state: string }>(server.url("postgres"), "SELECT sync_state FROM pg_stat_replication").then((rows) =>
      rows.some(({ sync_state: state }) => state === "sync" || state === "quorum"),
    );
  await eventually(isFollowing);
  const load = startLoad(ground);
  await delay(loadMs);
  const before = load.acknowledged.length;
  await server.crash();
  await standby.promote();
  await run(standby.url("postgres"), "ALTER SYSTEM RESET synchronous_standby_names");
  await run(standby.url("postgres"), "SELECT pg_reload_conf()");
  ground.pointTo(standby.url("provost"));
  await expectBack(ground);
  await delay(loadMs);
  await load.stop();
  expect(load.acknowledged.length).toBeGreaterThan(before);
  await expectEachOnce(ground, load);
  await expectCardsOnce(ground, load, 1);
  await expectFirstAnswers(ground, load, 100);
  await expectNoGaps(ground);
  await expectWholeChain(ground);
});
