import { beforeAll, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import { shareWorld, staffAtConsole } from "../contract/world.ts";

const day = 86_400_000;
const shared = shareWorld({ env: { ROSTER_FOLLOWS_DISCORD: "false" } });
const cast: Record<"owner" | "viewer", User> = {} as never;
beforeAll(async () => {
  for (const level of ["owner", "viewer"] as const) cast[level] = await shared.world.staff(level);
});

const reason = "Away until the exams are over.";
const since = (days: number): string => new Date(Date.now() + days * day).toISOString();
const leave = (person: User, body: object = {}) => shared.world.post(`/staff/${person.id}/loa`, { reason, ...body }, { actor: person });
const back = (person: User) => shared.world.delete(`/staff/${person.id}/loa`, undefined, { actor: person });
const read = async (person: User, actor: User = cast.owner) => (await shared.world.get(`/roster/${person.id}`, { actor })).body.data;
const change = (person: User, body: object) => shared.world.patch(`/roster/${person.id}`, { reason, ...body }, { actor: cast.owner });
const sweep = () => shared.world.app.staff.expireDue(systemCall("job", uuid7()));
const linesOf = ({ id }: User) => shared.world.app.database.read.rosterEvent.findMany({ where: { userId: id }, orderBy: { id: "asc" } });
const eventsOf = async (person: User) => (await linesOf(person)).map(({ event }) => event);
async function colleague(body: object = {}): Promise<User> {
  const person = await shared.world.staff("moderator");
  const joined = { user_id: person.id, staff_role: "moderator", joined_at: since(-300), reason, ...body };
  expect((await shared.world.post("/roster", joined, { actor: cast.owner })).status).toBe(201);
  return person;
}
/** Time passes for a leave: it began and ended so many days ago, and nobody looked since. */
const shift = (person: User, { from, until, days }: { from: number; until: number | null; days: number }) =>
  shared.world.app.database.write(systemCall("job", uuid7()), ({ db }) =>
    db.staffProfile.update({
      where: { userId: person.id },
      data: {
        leaveFrom: new Date(since(from)),
        leaveUntil: until === null ? null : new Date(since(until)),
        updatedAt: new Date(since(-days)),
      },
    }),
  );

test("a leave that begins now is one on the roster, and so is its end", async () => {
  const person = await colleague();
  await leave(person, { duration: "5d" });
  const view = await read(person);
  expect(view).toMatchObject({ status: "loa", loa: { reason } });
  expect((await read(person, person)).loa.reason).toBe(reason);
  expect((await read(person, cast.viewer)).loa).toEqual({ from: view.loa.from, until: view.loa.until });
  await back(person);
  expect(await read(person)).toMatchObject({ status: "active", loa: null });
  const [, started, ended] = await linesOf(person);
  expect(started).toMatchObject({
    event: "loa_started",
    effectiveAt: new Date(view.loa.from),
    actorId: person.id,
    source: "staff",
  });
  expect(ended).toMatchObject({ event: "loa_ended", actorId: person.id });
  expect(await linesOf(person)).toHaveLength(3);
});

test("the reasons of a leave and of its end are not copied into the history of the roster", async () => {
  const { world } = shared;
  const person = await colleague();
  const reasons = ["Surgery on the left knee.", "The knee has healed."];
  await leave(person, { reason: reasons[0], duration: "5d" });
  expect((await read(person)).loa.reason).toBe(reasons[0]);
  await world.delete(`/staff/${person.id}/loa`, { reason: reasons[1] }, { actor: person });
  await leave(person, { reason: reasons[0], from: since(5) });
  await shift(person, { from: -3, until: null, days: 4 });
  await sweep();
  const lines = await linesOf(person);
  expect(lines.map(({ event, reason: kept }) => [event, kept])).toEqual([
    ["hired", reason],
    ["loa_started", null],
    ["loa_ended", null],
    ["loa_started", null],
  ]);
  const shown = await world.get(`/roster/history?user_id=${person.id}`, { actor: cast.owner });
  const said = await world.slash(await staffAtConsole(world, "owner"), "roster history", { user: person });
  const audited = await world.get(`/audit?subject=${person.id}&action_prefix=roster.`, { actor: cast.owner });
  expect(said).toContain("eave");
  const texts = [JSON.stringify(lines), JSON.stringify(shown.body), said, JSON.stringify(audited.body)];
  expect(texts.map((text) => text.includes("knee"))).toEqual([false, false, false, false]);
});

test("a leave told afterwards counts since it began", async () => {
  const person = await colleague();
  const from = since(-6);
  await leave(person, { from, duration: "30d" });
  expect((await linesOf(person)).at(-1)).toMatchObject({ event: "loa_started", effectiveAt: new Date(from) });
  const stood = await shared.world.get(`/roster/history?user_id=${person.id}&on=${since(-3)}`, { actor: cast.owner });
  expect(stood.body.meta.standing).toMatchObject({ status: "loa" });
});

test("a planned leave begins and ends on the roster at its own dates, however late somebody looks", async () => {
  const person = await colleague();
  await leave(person, { from: since(5), until: since(9) });
  expect(await read(person)).toMatchObject({ status: "active", loa: { from: expect.any(String) } });
  expect(await eventsOf(person)).toEqual(["hired"]);
  await shift(person, { from: -20, until: -10, days: 30 });
  await sweep();
  const [, started, ended] = await linesOf(person);
  expect([started?.event, ended?.event]).toEqual(["loa_started", "loa_ended"]);
  expect(Math.abs((started?.effectiveAt.getTime() ?? 0) - Date.parse(since(-20)))).toBeLessThan(60_000);
  expect(Math.abs((ended?.effectiveAt.getTime() ?? 0) - Date.parse(since(-10)))).toBeLessThan(60_000);
  expect(started).toMatchObject({ source: "time", actorId: null });
  expect(await read(person)).toMatchObject({ status: "active", loa: null });
  await sweep();
  expect(await linesOf(person)).toHaveLength(3);
});

test("a leave that has begun is found by the sweep, and called off it was never one on the roster", async () => {
  const [begun, calledOff] = [await colleague(), await colleague()];
  for (const person of [begun, calledOff]) await leave(person, { from: since(5), until: since(9) });
  await shift(begun, { from: -2, until: null, days: 3 });
  await back(calledOff);
  await sweep();
  expect((await read(begun)).status).toBe("loa");
  expect(await eventsOf(begun)).toEqual(["hired", "loa_started"]);
  expect(await eventsOf(calledOff)).toEqual(["hired"]);
});

test("who is suspended meanwhile returns to where the leave has left them, however the suspension ends", async () => {
  const [lifted, ended] = [await colleague(), await colleague()];
  for (const person of [lifted, ended]) {
    await leave(person, { duration: "5d" });
    await change(person, { status: "suspended" });
    expect(await read(person)).toMatchObject({ status: "suspended", status_before: "loa" });
  }
  await back(lifted);
  expect(await read(lifted)).toMatchObject({ status: "suspended", status_before: "active" });
  expect((await change(lifted, { status: "active" })).body.data.status).toBe("active");
  expect((await change(ended, { status: "loa" })).body.data.status).toBe("loa");
  expect(await eventsOf(ended)).toEqual(["hired", "loa_started", "suspended", "reinstated"]);
});

test("taking a suspension back puts nobody on a leave that is over", async () => {
  const person = await colleague();
  const { app } = shared.world;
  await leave(person, { duration: "5d" });
  const call = systemCall("job", uuid7());
  const note = { causeReference: null, permission: "system.act" as const };
  const moved = await app.database.write(call, (tx) => app.roster.moveInTx(tx, person.id, { ...note, event: "suspended" }));
  if ("skipped" in moved) throw new Error(moved.skipped);
  await back(person);
  expect(await app.database.write(call, (tx) => app.roster.undoInTx(tx, moved.undo, note))).toMatchObject({ restored: true });
  expect(await read(person)).toMatchObject({ status: "active", status_before: null });
});

test("a leave of somebody on trial, or not on the roster, changes nothing there", async () => {
  const [onTrial, stranger] = [await colleague({ trial_days: 360 }), await shared.world.staff("moderator")];
  for (const person of [onTrial, stranger]) expect((await leave(person, { duration: "5d" })).status).toBe(200);
  expect((await read(onTrial)).status).toBe("trial");
  expect(await read(stranger)).toEqual({ state: "absent", id: stranger.id });
  expect(await eventsOf(onTrial)).toEqual(["hired", "trial_started"]);
  expect(await eventsOf(stranger)).toEqual([]);
});

test("who is erased while on leave is on it no more, nor on the roster", async () => {
  const person = await colleague();
  await leave(person, { duration: "5d" });
  const { app, guild, sandbox } = shared.world;
  guild.setRoles(person, []);
  await sandbox.waitFor(() => !app.access.of(person.id).isStaff, 60_000);
  await app.privacy.redact(systemCall("cli", uuid7()), person.id, { reason: "Asked for it.", suppress: false });
  expect(await read(person)).toMatchObject({ status: "resigned", loa: null });
});
