import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import { createJudgedWorld, shareWorld } from "../contract/world.ts";
import { createHouse, type House } from "./staff-house.ts";
import { runsOf } from "../support/size.ts";

const shared = shareWorld();
const cast: Record<"owner" | "senior", User> = {} as never;
beforeAll(async () => {
  for (const level of ["owner", "senior"] as const) cast[level] = await shared.world.staff(level);
});

const [hour, day] = [3_600_000, 86_400_000];
const reason = "Away until the exams are over.";
const start = (person: User, actor: User, body: object = {}) =>
  shared.world.post(`/staff/${person.id}/loa`, { reason, ...body }, { actor });
const end = (person: User, actor: User, body?: object) => shared.world.delete(`/staff/${person.id}/loa`, body, { actor });
const access = async ({ id }: User) => (await shared.world.get(`/staff/${id}/access`)).body.data;
const rowOf = ({ id }: User) => shared.world.app.database.read.staffProfile.findUnique({ where: { userId: id } });
const auditAbout = async ({ id }: User) => (await shared.world.get(`/audit?subject=${id}&action_prefix=staff.`)).body.data as any[];
const ahead = (ms: number) => new Date(Date.now() + ms).toISOString();
const jobCall = () => systemCall("job", uuid7());

describe("a leave of absence", () => {
  test("is taken and ended by oneself, and keeps access unless told otherwise", async () => {
    const { world } = shared;
    const person = await world.staff("viewer");
    const answer = await start(person, person, { duration: "5d" });
    expect([answer.status, answer.headers.get("etag")]).toEqual([200, '"v1"']);
    const { leave } = answer.body.data;
    expect(answer.body.data).toMatchObject({ user_id: person.id, status: "loa", revision: 1 });
    expect([Date.parse(leave.until) - Date.parse(leave.from), leave.reason]).toEqual([5 * day, reason]);
    expect(await access(person)).toMatchObject({ allowed: true, status: "loa", expires_at: leave.until });
    expect((await world.get("/staff", { actor: person })).status).toBe(200);
    const running = await start(person, person, { duration: "1d" });
    expect(running.body).toMatchObject({ status: 409, code: "invalid_transition", from: "loa", allowed: ["loa_end"] });
    const back = await end(person, person, { reason: "Back early." });
    expect(back.body.data).toEqual({ user_id: person.id, status: "active", leave: null, revision: 2 });
    expect(await access(person)).toMatchObject({ allowed: true, status: "active", expires_at: null });
    expect((await end(person, person)).body).toMatchObject({ status: 409, from: "active", action: "loa_end", allowed: ["loa_start"] });
    expect(await rowOf(person)).toMatchObject({ leaveFrom: null, leaveUntil: null, leaveReason: null, leaveBy: null, revision: 2 });
    expect(await auditAbout(person)).toMatchObject([
      {
        action: "staff.loa_end",
        reason: "Back early.",
        permission_used: null,
        before: { leave: { until: leave.until } },
        after: { leave: null },
      },
      { action: "staff.loa_start", reason, before: { leave: null }, after: { leave: { from: leave.from, until: leave.until } } },
    ]);
    const events = await world.app.database.read.outboxEvent.findMany({ where: { type: "staff.access_changed" }, orderBy: { seq: "asc" } });
    expect(events.map(({ data }) => data as any).filter(({ user_id }) => user_id === person.id)).toEqual([
      { user_id: person.id, change: "loa_start" },
      { user_id: person.id, change: "loa_end" },
    ]);
  });

  test("is planned, replaced by another plan, and called off", async () => {
    const person = await shared.world.staff("viewer");
    const [first, second] = [ahead(2 * day), ahead(9 * day)];
    expect((await start(person, person, { from: first, until: ahead(3 * day) })).body.data).toMatchObject({
      status: "active",
      leave: { from: first },
    });
    expect(await access(person)).toMatchObject({ status: "active", expires_at: first });
    expect((await start(person, person, { from: second })).body.data).toMatchObject({ leave: { from: second, until: null }, revision: 2 });
    expect((await auditAbout(person))[0]).toMatchObject({ before: { leave: { from: first } }, after: { leave: { from: second } } });
    const outdated = { actor: person, headers: { "if-match": '"v1"' } };
    expect((await shared.world.delete(`/staff/${person.id}/loa`, undefined, outdated)).body.code).toBe("precondition_failed");
    expect(
      (await shared.world.delete(`/staff/${person.id}/loa?reason=Changed+plans`, undefined, { actor: person })).body.data.leave,
    ).toBeNull();
    expect((await auditAbout(person))[0]).toMatchObject({ action: "staff.loa_end", reason: "Changed plans" });
    expect(await access(person)).toMatchObject({ status: "active", expires_at: null });
  });

  test("of others is for those who manage them", async () => {
    const { world } = shared;
    const [person, equal, viewer] = [await world.staff("moderator"), await world.staff("senior"), await world.staff("viewer")];
    expect((await start(person, viewer)).body).toMatchObject({ code: "permission_denied", required: "staff.manage" });
    expect((await start(equal, cast.senior)).body.code).toBe("hierarchy_violation");
    expect((await start(cast.owner, cast.senior)).body.code).toBe("hierarchy_violation");
    expect([await rowOf(person), await rowOf(equal), await rowOf(cast.owner)]).toEqual([null, null, null]);
    expect((await start(person, cast.senior)).body.data.status).toBe("loa");
    expect((await auditAbout(person))[0]).toMatchObject({ action: "staff.loa_start", permission_used: "staff.manage" });
    expect((await end(person, viewer)).body.code).toBe("permission_denied");
    expect((await end(person, person)).body.data.status).toBe("active");
  });

  test("has a reason, begins within a year and ends after it begins", async () => {
    const person = await shared.world.staff("moderator");
    for (const [body, pointer] of [
      [{ reason: "x" }, "/reason"],
      [{ from: ahead(400 * day) }, "/from"],
      [{ from: ahead(-400 * day) }, "/from"],
      [{ from: ahead(2 * day), until: ahead(day) }, "/until"],
      [{ until: ahead(-hour) }, "/until"],
      [{ from: ahead(-3 * day), duration: "1d" }, "/duration"],
      [{ until: ahead(day), duration: "1d" }, "/duration"],
      [{ duration: "soon" }, "/duration"],
      [{ status: "loa" }, "/status"],
    ] as const) {
      const answer = await start(person, person, body);
      expect([answer.status, answer.body.errors[0]]).toMatchObject([422, { in: "body", pointer }]);
    }
    expect(await rowOf(person)).toBeNull();
    expect(await auditAbout(person)).toEqual([]);
  });

  test("of a suspended person does not hide that they are suspended", async () => {
    const { world } = shared;
    const person = await world.staff("viewer");
    await start(person, person);
    await world.post(`/staff/${person.id}/suspend`, { reason }, { actor: cast.owner });
    expect(await access(person)).toMatchObject({ allowed: false, status: "suspended" });
    expect((await end(person, person)).body.code).toBe("permission_denied");
    expect((await end(person, cast.owner)).body.data.status).toBe("suspended");
  });

  test("of many at once is one leave each", async () => {
    const person = await shared.world.staff("viewer");
    const answers = await Promise.all(Array.from({ length: 4 }, () => start(person, person)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409, 409]);
    expect(await rowOf(person)).toMatchObject({ revision: 1 });
  });
});

test("where leave takes access away, it does so for its time, and only one's own is one's own to end", async () => {
  const world = await createJudgedWorld({ env: { LEAVE_ACCESS: "none" } });
  const [owner, person] = [await world.staff("owner"), await world.staff("senior")];
  const ask = (method: string, actor: User, body?: object) => world.request(method, `/staff/${person.id}/loa`, body, { actor });
  const read = async () => (await world.get(`/staff/${person.id}/access`)).body.data;
  await ask("POST", person, { reason });
  expect(await read()).toMatchObject({
    allowed: false,
    status: "loa",
    denied: ["*"],
    reasons: [{ code: "loa_policy" }, { code: "role_mapping" }],
  });
  expect((await world.get("/staff", { actor: person })).body.code).toBe("permission_denied");
  expect((await world.patch(`/staff/${person.id}`, { timezone: "UTC" }, { actor: person })).body.code).toBe("permission_denied");
  expect((await ask("DELETE", person)).body.data.status).toBe("active");
  expect(await read()).toMatchObject({ allowed: true, status: "active" });
  await ask("POST", owner, { reason });
  expect((await ask("DELETE", person)).body).toMatchObject({ status: 403, code: "permission_denied" });
  expect(await read()).toMatchObject({ allowed: false });
  expect((await ask("DELETE", owner)).status).toBe(200);
  expect(await read()).toMatchObject({ allowed: true });
});

describe("time", () => {
  /** A house whose clock stands where the test puts it. */
  async function createTimedHouse(options: { leaveBars?: boolean } = {}) {
    const time = { now: new Date("2026-11-20T10:00:00.000Z") };
    const house = await createHouse({ ...options, clock: { now: () => time.now } });
    return { time, house, person: await house.person("senior") };
  }
  const eventsOf = async (house: House) => {
    const rows = await house.database.read.outboxEvent.findMany({ where: { type: "staff.access_changed" }, orderBy: { seq: "asc" } });
    return rows.map(({ data }) => (data as any).change);
  };
  const endings = (house: House) => house.database.read.auditEntry.findMany({ where: { action: "staff.loa_end" } });

  test("begins and ends leave, each told once, and the job clears what is over", async () => {
    const { time, house, person } = await createTimedHouse();
    const [from, until] = ["2026-11-21T10:00:00.000Z", "2026-11-23T10:00:00.000Z"];
    const status = async () => (await house.get(`/staff/${person.id}/access`)).body.data.status;
    await house.ask("POST", `/staff/${person.id}/loa`, { reason, from, until }, { actor: person });
    expect([await house.staff.expireDue(jobCall()), await eventsOf(house)]).toEqual([0, ["loa_start"]]);
    time.now = new Date(from);
    expect(await status()).toBe("loa");
    for (let run = 0; run < 3; run += 1) await house.staff.expireDue(jobCall());
    expect(await eventsOf(house)).toEqual(["loa_start", "loa_start"]);
    expect(await endings(house)).toEqual([]);
    time.now = new Date(until);
    expect(await status()).toBe("active");
    expect((await house.get(`/staff/${person.id}/profile`)).body.data).toMatchObject({ status: "active", leave: null });
    expect([await house.staff.expireDue(jobCall()), await house.staff.expireDue(jobCall())]).toEqual([1, 0]);
    expect(await eventsOf(house)).toEqual(["loa_start", "loa_start", "loa_end"]);
    expect(await endings(house)).toMatchObject([{ via: "job", actorId: null, subjectUserId: person.id }]);
    expect(await house.database.read.staffProfile.findUnique({ where: { userId: person.id } })).toMatchObject({
      leaveFrom: null,
      leaveReason: null,
    });
    expect(await status()).toBe("active");
  });

  test("that nobody looked at is settled by the next change", async () => {
    const { time, house, person } = await createTimedHouse();
    const at = `/staff/${person.id}`;
    await house.ask("POST", `${at}/loa`, { reason, duration: "1d" }, { actor: person });
    time.now = new Date(time.now.getTime() + 2 * day);
    const again = await house.ask("POST", `${at}/loa`, { reason, duration: "1d" }, { actor: person });
    expect(again.body.data).toMatchObject({ status: "loa", leave: { from: time.now.toISOString() } });
    expect(await endings(house)).toHaveLength(1);
    time.now = new Date(time.now.getTime() + 2 * day);
    const changed = await house.ask("PATCH", at, { timezone: "UTC" }, { actor: person });
    expect(changed.body.data).toMatchObject({ timezone: "UTC", leave: null });
    expect(await endings(house)).toHaveLength(2);
    expect(await house.staff.expireDue(jobCall())).toBe(0);
  });

  test("is the service's to work through: nobody else may run the job", async () => {
    const { house, person } = await createTimedHouse();
    const call = { ...jobCall(), client: null, actor: house.access.of(person.id) };
    await expect(house.staff.expireDue(call)).rejects.toMatchObject({ code: "permission_denied" });
  });

  test("and every window of leave: on leave from its beginning until before its end, barred only where told", async () => {
    const { time, house, person } = await createTimedHouse({ leaveBars: true });
    const base = time.now.getTime();
    const at = `/staff/${person.id}/loa`;
    const hours = fc.integer({ min: 0, max: 200 });
    const windows = fc.record({ from: hours, length: fc.option(fc.integer({ min: 1, max: 200 }), { nil: null }), look: hours });
    await fc.assert(
      fc.asyncProperty(windows, async ({ from, length, look }) => {
        time.now = new Date(base);
        const begins = new Date(base + from * hour);
        const body = { reason, from: begins.toISOString(), ...(length !== null && { duration: `${length.toString()}h` }) };
        const answer = await house.ask("POST", at, body, { actor: person });
        expect(answer.status, JSON.stringify(answer.body)).toBe(200);
        time.now = new Date(base + look * hour);
        const isAway = look >= from && (length === null || look < from + length);
        const { data } = (await house.get(`/staff/${person.id}/access`)).body;
        expect([data.status, data.allowed]).toEqual(isAway ? ["loa", false] : ["active", true]);
        time.now = new Date(base);
        await house.ask("DELETE", at, undefined, { key: await systemKey(house) });
      }),
      { numRuns: runsOf(25) },
    );
  });
});

let system: Promise<string> | undefined;
const systemKey = (house: House) => (system ??= house.makeKey(["*", "system.act"], "none"));
