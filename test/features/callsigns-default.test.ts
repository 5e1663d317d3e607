// @module-tag both
import { cp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import { openDatabase, migrate } from "../../src/database/database.ts";
import { migrationsFolder } from "../../src/database/migrate-sqlite.ts";
import { createJudgedWorld, staffAtConsole } from "../contract/world.ts";
import { createFolder } from "../database/folders.ts";
import { execute } from "../database/sql.ts";
import { createUnmigrated } from "../support/database.ts";

test("a fresh installation gives a callsign to a client that names no pool, and tells where it comes from", async () => {
  const world = await createJudgedWorld();
  const [moderator, person] = [await world.staff("moderator"), world.member()];
  const looked = await world.get(`/callsigns/next?user_id=${person.id}`, { actor: moderator });
  expect(looked.body.data).toMatchObject({ callsign: "001", pool: "default", state: "free", free: 999 });
  const given = await world.post("/callsigns/next", { user_id: person.id }, { actor: moderator });
  expect([given.status, given.body.data]).toMatchObject([200, { callsign: "001", pool: "default", state: "assigned", reused: false }]);
  const reserved = await world.post("/callsigns/next", undefined, { actor: moderator });
  expect([reserved.status, reserved.body.data]).toMatchObject([200, { callsign: "002", pool: "default", state: "reserved" }]);
  const [pool, ...others] = (await world.get("/callsigns/pools", { actor: moderator })).body.data;
  expect(others).toEqual([]);
  expect(pool).toMatchObject({
    key: "default",
    template: "{n:03}",
    ranges: [[1, 999]],
    hold_days: 90,
    nickname_template: null,
    revision: 1,
  });
});

test("a fresh installation gives a callsign by slash command, and lets its pool be changed and replaced", async () => {
  const world = await createJudgedWorld();
  const [senior, person] = [await staffAtConsole(world, "senior"), world.member()];
  const ask = world.sandbox.as(senior).in(world.guild);
  const reply = await (await ask.runSlashCommand("callsign next", { user: person })).reply();
  expect(JSON.stringify(reply.embeds)).toContain("001");
  expect((await ask.autocomplete("callsign next", "")).map(({ value }) => value)).toEqual(["default"]);
  const patched = await world.patch("/callsigns/pools/default", { template: "A-{n}" }, { actor: senior });
  expect(patched.body.data).toMatchObject({ template: "A-{n}", revision: 2 });
  expect((await world.post("/callsigns/001/release", { rest_days: 0, reason: "Over." }, { actor: senior })).status).toBe(200);
  expect((await world.delete("/callsigns/pools/default", undefined, { actor: senior })).status).toBe(200);
  await world.restart();
  expect((await world.get("/callsigns/pools", { actor: senior })).body.data).toEqual([]);
});

test("an older database with pools of its own keeps those alone", async () => {
  const dialect = inject("dialect");
  const { url, remove } = await createUnmigrated();
  onTestFinished(remove);
  const earlier = await createFolder();
  await cp(migrationsFolder(dialect), earlier, { recursive: true });
  for (const name of await readdir(earlier))
    if (name.endsWith("_default_callsign_pool")) await rm(join(earlier, name), { recursive: true });
  await migrate(url, earlier);
  await execute(
    url,
    `INSERT INTO callsign_pools (key, name, template, ranges, reserved, skip, rank_bands, created_at, updated_at)
     VALUES ('north', 'North', 'N-{n}', '[[1,9]]', '[]', '[]', '{}', '2026-11-20T10:00:00.000+00:00', '2026-11-20T10:00:00.000+00:00')`,
  );
  const database = await openDatabase({ url, synchronous: "normal" });
  onTestFinished(() => database.close());
  const at = new Date("2026-11-20T10:00:00.000Z");
  expect(await database.read.callsignPool.findMany()).toMatchObject([
    { key: "north", template: "N-{n}", ranges: [[1, 9]], createdAt: at, updatedAt: at, revision: 1 },
  ]);
});
