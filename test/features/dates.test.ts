// @module-tag both
import { expect, test } from "vitest";
import type { Prisma } from "../../src/generated/sqlite/client.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { community, isBanned, limitMs, within } from "./stances-community.ts";

// Row A14: what time starts or ends acts at its date, and not with the next full minute.

const inMs = (ms: number): Date => new Date(Date.now() + ms);
/** Waits until something is so; says how long after a date that was, in milliseconds. */
async function late(date: Date, isSo: () => boolean | Promise<boolean>): Promise<number> {
  await within(isSo, date.getTime() - Date.now() + limitMs + 500);
  return Date.now() - date.getTime();
}

test("a record that is in force for three seconds bans at its start, and its ban is lifted at its end", async () => {
  const { world, bay, stance, list, rows } = await community({}, { isScheduled: true });
  await stance(bay, { category: "any", stance: "apply", action: "ban" });
  const [user, other] = [world.sandbox.createUser("for a moment"), world.sandbox.createUser("banned by hand")];
  bay.addMember(user);
  bay.ban(other, { reason: "Spam." });
  const [startsAt, expiresAt] = [inMs(1500), inMs(4500)];
  const { number } = await list(user, { starts_at: startsAt.toISOString(), expires_at: expiresAt.toISOString() });
  expect(isBanned(bay, user)).toBe(false);
  const began = await late(startsAt, () => isBanned(bay, user));
  expect(began).toBeGreaterThanOrEqual(0);
  expect(began).toBeLessThan(limitMs);
  const ended = await late(expiresAt, () => !isBanned(bay, user));
  expect(ended).toBeGreaterThanOrEqual(0);
  expect(ended).toBeLessThan(limitMs);
  await within(async () => (await rows(user)).every(({ standingKey }) => standingKey === null));
  expect(isBanned(bay, other)).toBe(true);
  expect((await world.get(`/blacklist/${number}`)).body.data).toMatchObject({ status: "expired" });
  const { data } = (await world.get("/blacklist/changes")).body as { data: { number: string; op?: string }[] };
  expect(data.filter((change) => change.number === number)).toHaveLength(3);
});

test("the bot acts on a person again when their exemption ends", async () => {
  const { world, bay, stance, list, admin } = await community({}, { isScheduled: true });
  await stance(bay, { category: "any", stance: "apply", action: "timeout", timeout_seconds: 3600 });
  const user = world.sandbox.createUser("spared");
  bay.addMember(user);
  const until = inMs(2000);
  const exemption = { user_id: user.id, reason: "Apologised.", until: until.toISOString() };
  expect((await world.post(`/guilds/${bay.id}/exemptions`, exemption, { actor: admin })).status).toBe(201);
  await list(user);
  const ms = await late(until, () => (bay.member(user)?.timeoutUntil ?? 0) > Date.now());
  expect(ms).toBeGreaterThanOrEqual(0);
  expect(ms).toBeLessThan(limitMs);
});

test("a request, a callsign, a leave and a permission end at their dates, also where another process wrote them", async () => {
  const { world, owner, admin } = await community({}, { isScheduled: true });
  const { read, write } = world.app.database;
  const plant = (work: (db: Prisma.TransactionClient, now: Date) => Promise<unknown>) =>
    write(systemCall("cli", uuid7()), ({ db, now }) => work(db as unknown as Prisma.TransactionClient, now));
  const user = world.member("ann");
  const moderator = await world.staff("moderator");
  const pool = { key: "south", name: "South", template: "S-{n:03}", ranges: [[1, 30]] };
  expect((await world.post("/callsigns/pools", pool, { actor: owner })).status).toBe(201);
  const body = { user_id: user.id, category: "raid", reason: "Led the raid of last night.", severity: "low" };
  const { reference } = (await world.post("/workflows/blacklist-user", body, { actor: moderator })).body as { reference: string };

  const date = inMs(1500);
  const leave = { from: new Date(date.getTime() - 60_000).toISOString(), until: date.toISOString(), reason: "A day at the sea." };
  expect((await world.post(`/staff/${moderator.id}/loa`, leave, { actor: owner })).status).toBeLessThan(300);
  const override = [{ key: "staff.suspend", effect: "allow", reason: "While the lead is away", expires_at: date.toISOString() }];
  const granted = await world.patch(`/permissions/users/${moderator.id}`, { overrides: override }, { actor: admin });
  expect(granted.status, JSON.stringify(granted.body)).toBeLessThan(300);
  const id = uuid7();
  await plant(async (db, now) => {
    const slot = { pool: "south", number: 9, callsign: "S-009", state: "held", liveKey: "south:9" };
    await db.callsignSlot.create({ data: { id, ...slot, since: now, until: date, createdAt: now } });
    await db.workflowRequest.update({ where: { reference }, data: { expiresAt: date } });
  });

  const states = async () => ({
    callsign: (await read.callsignSlot.findUniqueOrThrow({ where: { id } })).state,
    request: (await read.workflowRequest.findUniqueOrThrow({ where: { reference } })).status,
    leave: (await read.staffProfile.findUnique({ where: { userId: moderator.id } }))?.leaveUntil ?? null,
    overrides: await read.userPermission.count({ where: { userId: moderator.id } }),
  });
  expect(await states()).toEqual({ callsign: "held", request: "pending", leave: date, overrides: 1 });
  const ended = { callsign: "ended", request: "expired", leave: null, overrides: 0 };
  const ms = await late(date, async () => JSON.stringify(await states()) === JSON.stringify(ended));
  expect(ms).toBeLessThan(limitMs);
});
