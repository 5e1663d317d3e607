import { beforeAll, describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { shareWorld } from "../contract/world.ts";
import { traceOf } from "./callsigns-ground.ts";

const time = { now: Date.now() };
const day = 86_400_000;
const shared = shareWorld({ clock: { now: () => new Date(time.now) } });
const staff = {} as Record<"admin" | "senior" | "moderator" | "other" | "viewer", User>;
beforeAll(async () => {
  for (const level of ["admin", "senior", "moderator", "viewer"] as const) staff[level] = await shared.world.staff(level);
  staff.other = await shared.world.staff("moderator");
});

let pools = 0;
/** A pool of its own for each test. @returns its key */
async function pool(fields: object = {}): Promise<string> {
  const key = `pool${(pools += 1).toString()}`;
  const rules = { key, name: key, department: key.toUpperCase(), template: "{dept}-{n:02}", ranges: [[1, 20]], ...fields };
  expect((await shared.world.post("/callsigns/pools", rules, { actor: staff.senior })).status).toBe(201);
  return key;
}
const next = (body: object, actor: User = staff.moderator) => shared.world.post("/callsigns/next", body, { actor });
const look = (callsign: string) => shared.world.get(`/callsigns/${encodeURIComponent(callsign)}`).then(({ body }) => body.data);
const act = (callsign: string, verb: string, body: object, actor: User = staff.senior, headers = {}) =>
  shared.world.post(`/callsigns/${encodeURIComponent(callsign)}/${verb}`, { reason: "So it is.", ...body }, { actor, headers });
const events = (type: string, key: string) =>
  shared.world.app.database.read.outboxEvent
    .findMany({ where: { type } })
    .then((rows) => rows.filter(({ data }) => (data as { pool: string }).pool === key));
const history = (userId: string) =>
  shared.world.app.database.read.rosterEvent
    .findMany({ where: { userId, event: { startsWith: "callsign" } }, orderBy: { id: "asc" } })
    .then((rows) => rows.map(({ event, callsign }) => [event, callsign]));

const trace = () => traceOf(shared.world);

describe("the next callsign", () => {
  test("goes to a person, and is the same when asked for again", async () => {
    const key = await pool({ reserved: [1], skip: [2] });
    const person = staff.other;
    const given = await next({ pool: key, user_id: person.id });
    const callsign = `${key.toUpperCase()}-03`;
    const shown = { callsign, number: 3, pool: key, state: "assigned", user_id: person.id, reused: false, free: 17 };
    expect(given.body.data).toEqual({
      ...shown,
      skipped: [
        { number: 1, reason: "reserved" },
        { number: 2, reason: "skipped" },
      ],
    });
    const rows = await trace();
    const again = await next({ pool: key, user_id: person.id, prefer: 9 });
    expect(again.body.data).toMatchObject({ callsign, reused: true, skipped: [] });
    expect(await trace()).toEqual(rows);
    expect(await look(callsign.toLowerCase())).toMatchObject({ state: "assigned", user: { id: person.id, in_community: true } });
  });

  test("says why numbers were passed over", async () => {
    const key = await pool({ ranges: [[1, 30]] });
    const [resting, retired] = [shared.world.member(), shared.world.member()];
    await next({ pool: key, user_id: shared.world.member().id });
    await next({ pool: key });
    await next({ pool: key, user_id: resting.id });
    await act(`${key}-03`, "release", {});
    await next({ pool: key, user_id: retired.id });
    await act(`${key}-04`, "retire", {});
    await shared.world.post("/callsigns/block", { pool: key, numbers: [5], reason: "Kept." }, { actor: staff.senior });
    const { skipped, number } = (await next({ pool: key, mode: "preview" })).body.data;
    expect([number, skipped.map(({ reason }: { reason: string }) => reason)]).toEqual([
      6,
      ["taken", "reserved", "held", "retired", "blocked"],
    ]);
    for (let count = 6; count < 25; count += 1) await next({ pool: key });
    expect((await next({ pool: key, mode: "preview" })).body.data.skipped).toHaveLength(20);
    expect((await next({ pool: key, mode: "preview", prefer: 3 })).body.data.skipped[0]).toEqual({ number: 3, reason: "held" });
  });

  test("takes nothing when it is only looked at, through either door", async () => {
    const key = await pool();
    const before = await trace();
    const preview = await next({ pool: key, user_id: staff.viewer.id, mode: "preview" });
    expect(preview.body.data).toMatchObject({ number: 1, state: "free", advisory: true, user_id: staff.viewer.id });
    const looked = await shared.world.get(`/callsigns/next?pool=${key}`, { actor: staff.viewer });
    expect(looked.body.data).toMatchObject({ number: 1, state: "free", advisory: true, free: 20 });
    expect((await shared.world.get("/callsigns/next?pool=none")).body.data).toMatchObject({
      callsign: null,
      state: "absent",
      pool: "none",
    });
    expect(await trace()).toEqual(before);
  });

  test("is refused when no number is left, and a look says so with the capacity", async () => {
    const key = await pool({ ranges: [[1, 2]] });
    for (const _ of [1, 2]) await next({ pool: key, user_id: shared.world.member().id });
    const before = await trace();
    const refused = await next({ pool: key, user_id: staff.viewer.id });
    expect(refused.body).toMatchObject({ status: 409, code: "pool_exhausted", capacity: 2, pool: key });
    expect(refused.body.detail).toContain("widen");
    const looked = await shared.world.get(`/callsigns/next?pool=${key}`);
    expect([looked.status, looked.body.data]).toEqual([200, expect.objectContaining({ callsign: null, state: "exhausted", capacity: 2 })]);
    expect(await trace()).toEqual(before);
  });

  test("follows the highest number ever given, and begins again after the last", async () => {
    const key = await pool({
      ranges: [
        [1, 2],
        [8, 9],
      ],
    });
    const numberOf = async (fields: object) => (await next({ pool: key, fill: "sequential", mode: "reserve", ...fields })).body.data.number;
    expect([await numberOf({ prefer: 2 }), await numberOf({}), await numberOf({}), await numberOf({})]).toEqual([2, 8, 9, 1]);
  });

  test("can be any of the free ones", async () => {
    const key = await pool({ ranges: [[1, 4]] });
    const seen = new Set<number>();
    for (let tries = 0; tries < 60; tries += 1) seen.add((await next({ pool: key, mode: "preview", fill: "random" })).body.data.number);
    expect(seen).toEqual(new Set([1, 2, 3, 4]));
    const given = [];
    for (let tries = 0; tries < 4; tries += 1) given.push((await next({ pool: key, fill: "random" })).body.data.number);
    expect(new Set(given)).toEqual(new Set([1, 2, 3, 4]));
    expect((await next({ pool: key, fill: "random" })).body.code).toBe("pool_exhausted");
  });

  test("is the one they would like, by number or by name", async () => {
    const key = await pool({ template: "{dept}-{rank}{n:03}" });
    const numberOf = async (prefer: unknown, fields = {}) => (await next({ pool: key, prefer, ...fields })).body.data.number;
    expect(await numberOf(7)).toBe(7);
    expect(await numberOf(`${key}-008`)).toBe(8);
    expect(await numberOf(`${key}-senior012`, { role_key: "senior" })).toBe(12);
    expect(await numberOf("9")).toBe(9);
    expect(await numberOf(7)).toBe(1);
    expect((await next({ pool: key, prefer: "Zulu" })).body.errors).toMatchObject([{ pointer: "/prefer", code: "not_of_pool" }]);
  });

  test("comes from the pool and the band of the role, of the person, or of nothing known", async () => {
    const key = await pool({ rank_bands: { moderator: [10, 12] } });
    const put = (pool_key: string | null) =>
      shared.world.app.staff.roles.patch(systemCall("cli", "role"), "moderator", { callsign_pool: pool_key });
    await put(key);
    expect((await next({ role_key: "moderator" })).body.data).toMatchObject({ pool: key, number: 10 });
    expect((await next({ user_id: staff.other.id })).body.data).toMatchObject({ pool: key, number: 11, free: 1 });
    expect((await shared.world.get("/callsigns/next?role_key=moderator")).body.data).toMatchObject({ pool: key, number: 12 });
    await put("gone");
    expect((await next({ role_key: "moderator" })).body.errors).toMatchObject([{ pointer: "/pool", code: "unknown_pool" }]);
    await put(null);
    const { key: first } = await shared.world.app.database.read.callsignPool.findFirstOrThrow({ orderBy: { createdAt: "asc" } });
    expect((await next({ mode: "preview" })).body.data).toMatchObject({ pool: first });
    expect((await next({ pool: "none" })).body).toMatchObject({ status: 422, errors: [{ pointer: "/pool", code: "unknown_pool" }] });
    expect((await next({ pool: key, role_key: "none" })).body.errors).toMatchObject([{ pointer: "/role_key", code: "unknown_role" }]);
    expect((await next({ pool: key, mode: "allocate" })).body.errors).toMatchObject([{ pointer: "/user_id", code: "required" }]);
    expect((await next({ pool: key, colour: "red" })).body.errors).toMatchObject([{ pointer: "/colour" }]);
    expect((await next({ pool: key }, staff.viewer)).body).toMatchObject({ status: 403, required: "callsigns.allocate" });
  });

  test("never looks like one that somebody has under another number", async () => {
    const key = await pool({ template: "{dept}{n}", department: "A", ranges: [[1, 30]] });
    await next({ pool: key, department: "A1", prefer: 2 });
    expect((await next({ pool: key, prefer: 12 })).body.data).toMatchObject({ number: 1, callsign: "A1" });
  });
});

describe("a reservation", () => {
  test("is confirmed by who made it, or by who manages callsigns, for somebody", async () => {
    const key = await pool();
    const [one, two] = [shared.world.member(), shared.world.member()];
    const made = (await next({ pool: key })).body.data;
    expect(made).toMatchObject({ state: "reserved", user_id: null, expires_at: new Date(time.now + 15 * 60_000).toISOString() });
    const confirm = (userId: string, actor: User) => next({ reservation_id: made.reservation_id, user_id: userId }, actor);
    expect((await confirm(one.id, staff.other)).body).toMatchObject({ status: 403, required: "callsigns.manage" });
    expect((await confirm(one.id, staff.moderator)).body.data).toMatchObject({
      callsign: made.callsign,
      state: "assigned",
      user_id: one.id,
    });
    expect((await confirm(one.id, staff.moderator)).body.data).toMatchObject({ reused: true });
    expect((await confirm(two.id, staff.moderator)).body).toMatchObject({ status: 409, from: "assigned" });
    const other = (await next({ pool: key })).body.data.reservation_id;
    expect((await next({ reservation_id: other, user_id: one.id })).body.detail).toContain(made.callsign);
    expect((await next({ reservation_id: other, user_id: two.id }, staff.senior)).body.data).toMatchObject({ state: "assigned" });
    expect(await history(one.id)).toEqual([["callsign_assigned", made.callsign]]);
    const unknown = await next({ reservation_id: "01890000-0000-7000-8000-000000000000", user_id: one.id });
    expect(unknown.body).toMatchObject({ status: 422, errors: [{ pointer: "/reservation_id" }] });
  });

  test("that has run out is refused by name, and its number is free at once", async () => {
    const key = await pool({ ranges: [[1, 1]], reservation_minutes: 5 });
    const [one, two] = [shared.world.member(), shared.world.member()];
    const made = (await next({ pool: key, user_id: one.id, mode: "reserve" })).body.data;
    expect((await next({ pool: key, user_id: one.id, mode: "reserve" })).body.data).toMatchObject({ reused: true, number: 1 });
    expect((await next({ pool: key, user_id: two.id })).body.code).toBe("pool_exhausted");
    time.now += 5 * 60_000;
    const late = await next({ reservation_id: made.reservation_id, user_id: one.id });
    expect(late.body).toMatchObject({ status: 409, code: "invalid_transition", from: "ended", callsign: made.callsign });
    expect(await look(made.callsign)).toMatchObject({ state: "free", user: null });
    expect((await shared.world.get(`/callsigns?pool=${key}`)).body.data).toEqual([]);
    expect((await shared.world.get(`/callsigns/pools/${key}`)).body.data.counts).toMatchObject({ reserved: 0, free: 1 });
    expect((await next({ pool: key, user_id: two.id })).body.data).toMatchObject({ number: 1, state: "assigned", skipped: [] });
    const states = await shared.world.get(`/callsigns?pool=${key}&include_ended=true`);
    expect(states.body.data.map(({ state }: { state: string }) => state).toSorted()).toEqual(["assigned", "ended"]);
  });
});

describe("a callsign", () => {
  test("is released by who stands above its holder, rests, and is given back to them first", async () => {
    const key = await pool({ hold_days: 10 });
    const { callsign } = (await next({ pool: key, user_id: staff.senior.id })).body.data;
    const before = await trace();
    expect((await act(callsign, "release", {}, staff.senior)).body).toMatchObject({ status: 403, code: "hierarchy_violation" });
    expect((await act(callsign, "release", {}, staff.moderator)).body).toMatchObject({ status: 403, required: "callsigns.release" });
    expect((await act(callsign, "transfer", { user_id: staff.viewer.id }, staff.senior)).body.code).toBe("hierarchy_violation");
    expect((await act(callsign, "retire", {}, staff.senior)).body.code).toBe("hierarchy_violation");
    expect((await act(callsign, "release", {}, staff.admin, { "if-match": '"v9"' })).body).toMatchObject({
      status: 412,
      current_etag: '"v1"',
    });
    expect(await trace()).toEqual(before);
    const released = await act(callsign.toLowerCase(), "release", {}, staff.admin, { "if-match": '"v1"' });
    expect(released.body.data).toMatchObject({ state: "held", until: new Date(time.now + 10 * day).toISOString(), revision: 2 });
    expect((await act(callsign, "release", {}, staff.admin)).body).toMatchObject({ status: 409, from: "held" });
    expect((await next({ pool: key, user_id: staff.senior.id, mode: "reserve" })).body.data).toMatchObject({ state: "held", reused: true });
    expect((await next({ pool: key, user_id: staff.senior.id })).body.data).toMatchObject({ callsign, reused: true, state: "assigned" });
    expect(await history(staff.senior.id)).toEqual([
      ["callsign_assigned", callsign],
      ["callsign_released", callsign],
      ["callsign_assigned", callsign],
    ]);
    expect((await act(callsign, "release", { rest_days: 0 }, staff.admin)).body.data).toMatchObject({ state: "ended" });
    expect(await look(callsign)).toMatchObject({ state: "free", number: 1, pool: key });
    expect((await act(callsign, "release", {}, staff.admin)).body).toMatchObject({
      status: 409,
      from: "free",
      allowed: ["retire", "block", "unblock"],
    });
  });

  test("is transferred with both histories, unless the other one has one of the pool", async () => {
    const key = await pool();
    const [one, two, three] = [shared.world.member(), shared.world.member(), shared.world.member()];
    const { callsign } = (await next({ pool: key, user_id: one.id })).body.data;
    await next({ pool: key, user_id: three.id });
    const before = await trace();
    expect((await act(callsign, "transfer", { user_id: three.id })).body).toMatchObject({ status: 409, code: "invalid_transition" });
    expect(await trace()).toEqual(before);
    expect((await act(callsign, "transfer", { user_id: two.id })).body.data).toMatchObject({
      state: "assigned",
      user: { id: two.id },
      callsign,
    });
    expect([await history(one.id), await history(two.id)]).toEqual([
      [
        ["callsign_assigned", callsign],
        ["callsign_released", callsign],
      ],
      [["callsign_assigned", callsign]],
    ]);
    expect((await next({ pool: key, user_id: one.id })).body.data.callsign).not.toBe(callsign);
  });

  test("is retired for good, even when nobody has it, until that is taken back", async () => {
    const key = await pool({ ranges: [[1, 2]] });
    expect((await act(`${key}-01`, "retire", {})).body.data).toMatchObject({ state: "retired", user: null, number: 1 });
    expect((await next({ pool: key })).body.data.number).toBe(2);
    expect((await next({ pool: key })).body.code).toBe("pool_exhausted");
    expect((await act(`${key}-01`, "release", {})).body).toMatchObject({ status: 409, from: "retired", allowed: ["unretire"] });
    expect((await act(`${key}-01`, "unretire", {})).body.data.state).toBe("ended");
    expect((await next({ pool: key })).body.data.number).toBe(1);
  });

  test("is blocked with others or not at all", async () => {
    const key = await pool();
    const block = (numbers: number[], verb = "block") =>
      shared.world.post(`/callsigns/${verb}`, { pool: key, numbers, reason: "Kept." }, { actor: staff.senior });
    await next({ pool: key });
    const before = await trace();
    expect((await block([2, 1])).body).toMatchObject({ status: 409, from: "reserved" });
    expect((await block([2, 99])).body.errors).toMatchObject([{ pointer: "/numbers/1", code: "out_of_range" }]);
    expect(await trace()).toEqual(before);
    const blocked = (await block([2, 3, 2])).body.data.slots;
    expect(blocked.map(({ state }: { state: string }) => state)).toEqual(["blocked", "blocked"]);
    expect((await next({ pool: key })).body.data.number).toBe(4);
    expect((await block([2], "unblock")).body.data.slots).toMatchObject([{ state: "free", number: 2 }]);
    expect((await next({ pool: key })).body.data.number).toBe(2);
  });

  test("of no pool is absent, never a 404, and one of two pools has to be told apart", async () => {
    const [one, two] = [await pool({ department: "TWIN" }), await pool({ department: "Twin" })];
    expect(await look("Nothing-77")).toMatchObject({ state: "absent", id: null, revision: 0 });
    expect((await act("Nothing-77", "release", {})).body).toMatchObject({ status: 422, errors: [{ pointer: "/callsign", in: "path" }] });
    for (const key of [one, two]) await next({ pool: key, user_id: shared.world.member().id });
    const ambiguous = await shared.world.get("/callsigns/twin-01");
    expect(ambiguous.body).toMatchObject({ status: 422, errors: [{ pointer: "/pool", in: "query", code: "ambiguous" }] });
    expect((await shared.world.get(`/callsigns/twin-01?pool=${two}`)).body.data).toMatchObject({ pool: two, callsign: "Twin-01" });
  });

  test("written in another way than the pool writes now is found in any case", async () => {
    const key = await pool();
    const { callsign } = (await next({ pool: key, department: "MiXed" })).body.data;
    expect(callsign).toBe("MiXed-01");
    expect(await look("mixed-01")).toMatchObject({ callsign, state: "reserved", reserved_by: staff.moderator.id });
  });

  test("stands in the list by pool and number, page by page", async () => {
    const key = await pool();
    const people = [shared.world.member(), shared.world.member(), shared.world.member()];
    for (const { id } of people) await next({ pool: key, user_id: id });
    const page = async (query: string) => (await shared.world.get(`/callsigns?pool=${key}${query}`)).body;
    const first = await page("&limit=2&count=true");
    expect([first.data.map(({ number }: { number: number }) => number), first.page.total]).toEqual([[1, 2], 3]);
    const rest = await page(`&limit=2&cursor=${first.page.next_cursor}`);
    expect([rest.data.map(({ number }: { number: number }) => number), rest.page.has_more]).toEqual([[3], false]);
    expect((await page(`&user_id=${people[1]?.id ?? ""}`)).data).toMatchObject([{ number: 2 }]);
    expect((await page(`&q=${key}-03`)).data).toMatchObject([{ number: 3 }]);
    expect((await page("&state=held")).data).toEqual([]);
    expect((await page("&colour=red")).code).toBe("unknown_parameter");
  });
});

test("a pool that runs low says so once", async () => {
  const key = await pool({ ranges: [[1, 20]] });
  for (let count = 1; count <= 17; count += 1) await next({ pool: key });
  expect(await events("callsign.low_pool", key)).toEqual([]);
  for (const _ of [18, 19, 20]) await next({ pool: key, user_id: shared.world.member().id });
  expect(await events("callsign.low_pool", key)).toMatchObject([
    { permission: "callsigns.read", data: { pool: key, free: 2, capacity: 20 } },
  ]);
});
