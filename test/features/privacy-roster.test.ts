import { expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { everyRow, shareWorld } from "../contract/world.ts";

const shared = shareWorld();
const name = "Marigold of the Harbour";

test("a redaction ends a place on the roster, its callsigns rest, and no name of the person is left, not in a repair either", async () => {
  const { world } = shared;
  const { database } = world.app;
  const owner = await world.staff("owner");
  const [person, other] = [world.member(), world.member()];
  const pool = { key: "north", name: "North", department: "NORTH", template: "{dept}-{n:03}", ranges: [[1, 9]] };
  expect((await world.post("/callsigns/pools", pool, { actor: owner })).status).toBe(201);
  for (const user_id of [person.id, other.id]) {
    expect((await world.post("/roster", { user_id, reason: "Was chosen.", notes: name }, { actor: owner })).status).toBe(201);
    expect((await world.post("/callsigns/next", { pool: "north", user_id }, { actor: owner })).status).toBe(200);
  }
  const change = (user_id: string) => ({ user_id, guild_id: world.guild.id, from: name, to: `NORTH-001 | ${name}` });
  await database.write(systemCall("cli", uuid7()), async ({ db, now }) => {
    await db.rosterEntry.updateMany({ where: { userId: person.id }, data: { nickname: name } });
    const undo = { slots: [], nicknames: [change(person.id), change(other.id)] };
    await db.callsignRepair.create({ data: { id: uuid7(), planHash: "0", fixes: [], undo, at: now, undoUntil: now } });
    await db.rosterEntry.updateMany({ where: { userId: other.id }, data: { notes: null } });
  });
  const held = await world.post(`/users/${person.id}/redaction`, { reason: "Asked for by the person by mail." }, { actor: owner });
  const second = await world.staff("owner");
  const confirmed = await world.post(`/confirmations/${held.body.data.code}/confirm`, {}, { signed: true, actor: second });
  expect(confirmed.body.data, JSON.stringify(confirmed.body)).toMatchObject({ status: "applied" });
  const entries = await database.read.rosterEntry.findMany({ where: { userId: { in: [person.id, other.id] } } });
  const statusOf = new Map(entries.map(({ userId, status }) => [userId, status]));
  expect([statusOf.get(person.id), statusOf.get(other.id)]).toEqual(["resigned", "active"]);
  const slots = await database.read.callsignSlot.findMany({ select: { userId: true, state: true } });
  expect(slots.find(({ userId }) => userId === person.id)?.state).toBe("held");
  expect(slots.find(({ userId }) => userId === other.id)?.state).toBe("assigned");
  const repair = await database.read.callsignRepair.findFirstOrThrow();
  expect(repair.undo).toEqual({ slots: [], nicknames: [change(other.id)] });
  const { CallsignRepair: _ours, ...rows } = await everyRow(world);
  expect(JSON.stringify(rows)).not.toContain(name);
});
