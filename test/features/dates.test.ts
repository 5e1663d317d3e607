// @module-tag both
// @module-tag slow
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
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

/** A community that follows the file of another one, and applies what it says with a ban in one of its servers. */
async function followers() {
  const given = await community({}, { isScheduled: true });
  const { world, bay, admin, stance } = given;
  const list = (await world.post("/lists", { name: "Harbour Watch", kind: "file" }, { actor: admin })).body.data.id as string;
  await stance(bay, { list, category: "any", stance: "apply", action: "ban" });
  const says = async (...entries: { user: { id: string }; starts_at?: Date; expires_at?: Date }[]) => {
    const about = { kind: "user", category: "raid", severity: "high" };
    const records = entries.map(({ user, ...dates }) => ({ ...about, subject_id: user.id, number: `HW-${user.id}`, ...dates }));
    const sent = await world.put(`/lists/${list}/file`, { records }, { actor: admin });
    expect(sent.status, JSON.stringify(sent.body)).toBe(200);
  };
  return { ...given, says };
}

test("an entry of a followed list with dates of its own bans at its start, and its ban is lifted at its end", async () => {
  const { world, bay, says, rows } = await followers();
  const [user, permanent, other] = ["for a moment", "for good", "banned by hand"].map((name) => world.sandbox.createUser(name)) as [
    User,
    User,
    User,
  ];
  for (const one of [user, permanent]) bay.addMember(one);
  bay.ban(other, { reason: "Spam." });
  const [starts_at, expires_at] = [inMs(2000), inMs(5000)];
  await says({ user, starts_at, expires_at }, { user: permanent, starts_at });
  expect([user, permanent].map((one) => isBanned(bay, one))).toEqual([false, false]);
  const began = await late(starts_at, () => isBanned(bay, user) && isBanned(bay, permanent));
  expect(began).toBeGreaterThanOrEqual(0);
  expect(began).toBeLessThan(limitMs);
  const ended = await late(expires_at, () => !isBanned(bay, user));
  expect(ended).toBeGreaterThanOrEqual(0);
  expect(ended).toBeLessThan(limitMs);
  await within(async () => (await rows(user)).every(({ standingKey }) => standingKey === null));
  expect([permanent, other].map((one) => isBanned(bay, one))).toEqual([true, true]);
});

test("dates of a followed list that pass while the service is down act when it is back", async () => {
  const { world, bay, says } = await followers();
  const [starting, ending] = ["starting", "ending"].map((name) => world.sandbox.createUser(name)) as [User, User];
  for (const one of [starting, ending]) bay.addMember(one);
  await says({ user: ending, expires_at: inMs(4000) }, { user: starting, starts_at: inMs(4000) });
  await within(() => isBanned(bay, ending));
  await world.app.stop();
  await pause(4500);
  expect([starting, ending].map((one) => isBanned(bay, one))).toEqual([false, true]);
  await world.restart();
  await within(() => isBanned(bay, starting) && !isBanned(bay, ending), 5000);
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

test("a held change, a clearance, a request for access and a grant end at their dates", async () => {
  const { world, owner } = await community({}, { isScheduled: true });
  const { read, write } = world.app.database;
  const [asked, granted] = [world.member("asked"), world.member("granted")];
  const date = inMs(1500);
  const month = 30 * 86_400_000;
  const id = uuid7();
  await write(systemCall("cli", uuid7()), async (tx) => {
    const db = tx.db as unknown as Prisma.TransactionClient;
    const confirmation = { code: "K7Q4", action: "keys.create", input: {}, summary: "Make a key.", permission: "api_keys.manage" };
    const asks = { needs: ["second_person"], keys: [], rank: 0, actorId: owner.id, answers: [], status: "pending" };
    await db.confirmation.create({ data: { id, ...confirmation, ...asks, createdAt: tx.now, expiresAt: date } });
    const cleared = { userId: asked.id, fromServerId: "1", toServerId: "2", originReference: "POA-REQ-000001", createdAt: tx.now };
    await db.poachClearance.create({ data: { id, ...cleared, status: "active", validUntil: date } });
    const session = { purpose: "verification", scopes: ["guilds"], tokenHash: "of an address", status: "pending" };
    await db.authorizationSession.create({ data: { userId: asked.id, ...session, createdAt: tx.now, expiresAt: date } });
    const refreshedAt = new Date(date.getTime() - month);
    const grant = { status: "active", scopes: ["guilds"], purposes: [], consentVersion: "1", grantedAt: refreshedAt, refreshedAt };
    await db.authorization.create({ data: { userId: granted.id, ...grant, expiresAt: date } });
  });
  const states = async () => ({
    confirmation: (await read.confirmation.findUniqueOrThrow({ where: { id } })).status,
    clearance: (await read.poachClearance.findUniqueOrThrow({ where: { id } })).status,
    session: (await read.authorizationSession.findFirstOrThrow({})).status,
    grant: (await read.authorization.findUniqueOrThrow({ where: { userId: granted.id } })).status,
  });
  expect(await states()).toEqual({ confirmation: "pending", clearance: "active", session: "pending", grant: "active" });
  const ms = await late(date, async () => Object.values(await states()).every((state) => state === "expired"));
  expect(ms).toBeGreaterThanOrEqual(0);
  expect(ms).toBeLessThan(limitMs);
});
