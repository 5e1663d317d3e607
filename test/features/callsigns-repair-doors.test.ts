// @module-tag sqlite
import { describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import { shareWorld } from "../contract/world.ts";

const ground = shareWorld();
const call = systemCall("cli", "test");
const slotOf = (id: string) => ground.world.app.database.read.callsignSlot.findUnique({ where: { id } });

/** A pool of its own for each test. */
async function makePool(key: string, fields: object = {}): Promise<void> {
  await ground.world.app.database.write(call, async ({ db, now }) => {
    const rules = { template: "{dept}-{n:03}", ranges: [[1, 99]], reserved: [], skip: [], rankBands: {} };
    await db.callsignPool.create({
      data: { key, name: key, department: key.toUpperCase(), ...rules, createdAt: now, updatedAt: now, ...fields },
    });
  });
}

/** Somebody on the roster with a callsign of a pool. */
async function employ(pool: string, user: User): Promise<string> {
  const { database, callsigns } = ground.world.app;
  return await database.write(call, async (tx) => {
    const times = { createdAt: tx.now, updatedAt: tx.now };
    await tx.db.rosterEntry.create({ data: { id: uuid7(), userId: user.id, status: "active", ...times } });
    const given = await callsigns.allocateInTx(tx, { pool, userId: user.id, causeReference: null, permission: "callsigns.allocate" });
    return given.slot.id;
  });
}

const plantRest = (pool: string) =>
  ground.world.app.database.write(call, ({ db, now }) => {
    const at = { since: now, until: new Date(now.getTime() - 1), createdAt: now };
    return db.callsignSlot.create({
      data: { id: uuid7(), pool, number: 50, callsign: `${pool.toUpperCase()}-050`, state: "held", liveKey: `${pool}:50`, ...at },
    });
  });

describe("the door to repairs", () => {
  test("is open to those who may repair, and refuses what it does not know", async () => {
    const { world } = ground;
    const [admin, viewer] = [await world.staff("admin"), await world.staff("viewer")];
    expect(await world.post("/callsigns/repair", {}, { actor: viewer })).toMatchObject({ status: 403 });
    expect(await world.get("/callsigns/repairs", { actor: viewer })).toMatchObject({ status: 403 });
    const unknown = await world.post("/callsigns/repair", { pools: "x" }, { actor: admin });
    expect(unknown).toMatchObject({ status: 422, body: { errors: [{ pointer: "/pools" }] } });
    const looked = await world.post("/callsigns/repair", undefined, { actor: admin });
    expect(looked).toMatchObject({ status: 200, body: { data: { dry_run: true, applied: 0, undo_token: null } } });
    const missing = await world.post("/callsigns/repair", { dry_run: false }, { actor: admin });
    expect(missing).toMatchObject({ status: 422, body: { errors: [{ pointer: "/plan_hash" }] } });
    const none = await world.post("/callsigns/repair/none/undo", { reason: "None." }, { actor: admin });
    expect(none).toMatchObject({ status: 409, body: { code: "invalid_transition", from: null } });
  });

  test("repairs once however often the request is repeated, lists it, and undoes it once", async () => {
    const { world } = ground;
    const admin = await world.staff("admin");
    await makePool("once");
    const slot = await plantRest("once");
    const wanted = { pool: "once", dry_run: false, plan_hash: "0".repeat(64) };
    const stale = await world.post("/callsigns/repair", wanted, { actor: admin });
    expect(stale).toMatchObject({ status: 412, body: { code: "precondition_failed", plan_hash: expect.stringMatching(/^[0-9a-f]{64}$/) } });
    expect(await slotOf(slot.id)).toMatchObject({ state: "held" });

    const body = { ...wanted, plan_hash: stale.body.plan_hash };
    const asked = { actor: admin, headers: { "idempotency-key": "repair-once" } };
    const done = await world.post("/callsigns/repair", body, asked);
    expect(done).toMatchObject({ status: 200, body: { data: { applied: 1, plan: [{ code: "hold_over", action: "end" }] } } });
    const again = await world.post("/callsigns/repair", body, asked);
    expect(again.body.data).toEqual(done.body.data);
    const { undo_token: id } = done.body.data;
    const { body: listed } = await world.get("/callsigns/repairs?count=true", { actor: admin });
    expect(listed.data.filter((repair: { id: string }) => repair.id === id)).toMatchObject([
      { counts: { hold_over: 1 }, actor_id: admin.id, undone_at: null },
    ]);

    const undone = await world.post(`/callsigns/repair/${id as string}/undo`, { reason: "It was meant." }, { actor: admin });
    expect(undone).toMatchObject({ status: 200, body: { data: { restored: 1, left: [] } } });
    expect(await slotOf(slot.id)).toMatchObject({ state: "held", liveKey: "once:50" });
    const twice = await world.post(`/callsigns/repair/${id as string}/undo`, { reason: "Again." }, { actor: admin });
    expect(twice).toMatchObject({ status: 409, body: { from: "undone" } });
    await world.app.database.write(call, ({ db }) => db.callsignSlot.deleteMany({ where: { pool: "once" } }));
  });
});

test("a holder who leaves the guild is found and their callsign rests; nobody else's does", async () => {
  const { world } = ground;
  const admin = await world.staff("admin");
  const [stays, leaves] = [await world.staff("moderator"), await world.staff("moderator")];
  await makePool("gone");
  const [kept, orphaned] = [await employ("gone", stays), await employ("gone", leaves)];
  const look = async () => (await world.post("/callsigns/repair", { pool: "gone" }, { actor: admin })).body.data;
  expect((await look()).findings).toEqual([]);
  world.guild.kick(leaves);
  await world.sandbox.waitFor(() => !world.app.access.of(leaves.id).isInGuild, 60_000);
  const seen = await look();
  expect(seen.findings).toMatchObject([{ code: "orphan_assignment", user_id: leaves.id, severity: "error" }]);
  const body = { pool: "gone", dry_run: false, plan_hash: seen.plan_hash };
  expect(await world.post("/callsigns/repair", body, { actor: admin })).toMatchObject({ status: 200, body: { data: { applied: 1 } } });
  const stateOf = async (id: string) => (await slotOf(id))?.state;
  expect([await stateOf(kept), await stateOf(orphaned)]).toEqual(["assigned", "held"]);
  expect((await look()).findings).toEqual([]);
});

test("a nickname in the guild that is not what the pool says is found, and one that is is not", async () => {
  const { world } = ground;
  const [admin, right, wrong] = [await world.staff("admin"), await world.staff("moderator"), await world.staff("moderator")];
  await makePool("nick", { nicknameTemplate: "{callsign} | {name}" });
  await employ("nick", right);
  await employ("nick", wrong);
  world.guild.setNick(right, "NICK-001 | Ada");
  world.guild.setNick(wrong, "NICK-001 | Eve");
  const nickOf = (user: User) => world.app.guildState.members(user.id)[0]?.nick;
  await world.sandbox.waitFor(() => nickOf(right) === "NICK-001 | Ada" && nickOf(wrong) === "NICK-001 | Eve", 60_000);
  const { body } = await world.post("/callsigns/repair", { pool: "nick", fix: ["nickname_mismatch"] }, { actor: admin });
  expect(body.data.plan).toMatchObject([
    { action: "set_nickname", user_id: wrong.id, from: "NICK-001 | Eve", to: "NICK-002 | Eve", needs_discord: true },
  ]);
});
