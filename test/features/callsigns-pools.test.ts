import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { shareWorld } from "../contract/world.ts";
import { traceOf } from "./callsigns-ground.ts";

const time = { now: Date.now() };
const shared = shareWorld({ clock: { now: () => new Date(time.now) } });
let senior: User;
let moderator: User;
beforeAll(async () => {
  senior = await shared.world.staff("senior");
  moderator = await shared.world.staff("moderator");
});
beforeEach(async () => {
  const { read } = shared.world.app.database;
  for (const { key } of await read.callsignPool.findMany()) {
    const slots = await read.callsignSlot.findMany({ where: { pool: key, liveKey: { not: null } } });
    for (const { number, state } of slots) {
      const path = `/callsigns/${state === "blocked" ? "unblock" : `${encodeURIComponent(await nameOf(key, number))}/release?pool=${key}`}`;
      await shared.world.post(
        path,
        state === "blocked" ? { pool: key, numbers: [number], reason: "Over." } : { reason: "Over.", rest_days: 0 },
        as,
      );
    }
    expect((await shared.world.delete(`/callsigns/pools/${key}`, undefined, as)).status).toBe(200);
  }
});
const nameOf = async (pool: string, number: number): Promise<string> =>
  (await shared.world.app.database.read.callsignSlot.findFirst({ where: { pool, number, liveKey: { not: null } } }))?.callsign ?? "";
const as = {
  get actor() {
    return senior;
  },
};
const north = { key: "north", name: "North", department: "NORTH", template: "{dept}-{n:03}", ranges: [[1, 20]] };
const create = (fields: object = {}) => shared.world.post("/callsigns/pools", { ...north, ...fields }, as);
const give = (userId: string, fields: object = {}) =>
  shared.world.post("/callsigns/next", { pool: "north", user_id: userId, ...fields }, as);

const trace = () => traceOf(shared.world);

describe("a pool", () => {
  test("is made with its usual rules, told once in the audit, and read with its counts", async () => {
    const made = await create({ reserved: [1], skip: [13] });
    expect(made.status).toBe(201);
    expect(made.body.data).toMatchObject({ hold_days: 90, reservation_minutes: 15, case_rule: "keep", revision: 1, warnings: [] });
    expect(made.body.data.counts).toEqual({ capacity: 18, assigned: 0, reserved: 0, held: 0, retired: 0, blocked: 0, free: 18 });
    const entry = await shared.world.app.database.read.auditEntry.findFirst({
      where: { action: { startsWith: "callsign" } },
      orderBy: { seq: "desc" },
    });
    expect(entry).toMatchObject({ action: "callsign_pool.create", targetId: "north", permissionUsed: "callsigns.manage" });
    expect((await create()).body).toMatchObject({ status: 409, code: "duplicate_active_record" });
    await give(shared.world.member().id);
    await shared.world.post("/callsigns/next", { pool: "north" }, as);
    await shared.world.post("/callsigns/block", { pool: "north", numbers: [5, 6], reason: "A partner's." }, as);
    const read = (await shared.world.get("/callsigns/pools/north")).body.data;
    expect(read.counts).toEqual({ capacity: 18, assigned: 1, reserved: 1, held: 0, retired: 0, blocked: 2, free: 14 });
    expect(read).not.toHaveProperty("warnings");
    const listed = (await shared.world.get("/callsigns/pools?limit=1&count=true")).body;
    expect([listed.data, listed.page]).toEqual([[read], expect.objectContaining({ total: 1, has_more: false })]);
  });

  test.each([
    [
      "ranges that overlap",
      {
        ranges: [
          [1, 10],
          [10, 20],
        ],
      },
      "/ranges/1",
      "overlapping",
    ],
    ["a range that runs backwards", { ranges: [[9, 3]] }, "/ranges/0", "not_in_order"],
    [
      "ranges out of order",
      {
        ranges: [
          [30, 40],
          [1, 9],
        ],
      },
      "/ranges/1",
      "overlapping",
    ],
    ["a template without number", { template: "{dept}" }, "/template", "number_missing"],
    ["a template with two numbers", { template: "{n}{n:03}" }, "/template", "number_repeated"],
    ["a place nobody knows", { template: "{unit}-{n}" }, "/template", "unknown_placeholder"],
    ["a stray brace", { template: "}{n}" }, "/template", "unknown_placeholder"],
    ["a nickname with a place nobody knows", { nickname_template: "{callsign} {n}" }, "/nickname_template", "unknown_placeholder"],
    ["a band of no staff role", { rank_bands: { "a/b": [1, 2] } }, "/rank_bands/a~1b", "unknown_role"],
    ["a band outside the ranges", { rank_bands: { senior: [15, 25] } }, "/rank_bands/senior", "out_of_range"],
    ["a number beyond all", { ranges: [[1, 1_000_000]] }, "/ranges/0/1", "too_big"],
    ["101 ranges", { ranges: Array.from({ length: 101 }, (_, index) => [index, index]) }, "/ranges", "too_big"],
    ["a key of two words", { key: "a b" }, "/key", "invalid_format"],
    ["an unknown field", { colour: "red" }, "/colour", "unrecognized_keys"],
  ])("with %s is refused by the name of the field, and nothing is made", async (_name, fields, pointer, code) => {
    const before = await trace();
    const answer = await create(fields);
    expect(answer.status).toBe(422);
    expect(answer.body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
    if (!["too_big", "invalid_format", "unrecognized_keys"].includes(code)) expect(answer.body.errors[0].code).toBe(code);
    expect(await trace()).toEqual(before);
  });

  test("is changed only by who read it, keeps what is assigned, and names what is outside its ranges now", async () => {
    await create();
    const person = shared.world.member();
    await give(person.id, { prefer: 18 });
    const changed = await shared.world.patch(
      "/callsigns/pools/north",
      { ranges: [[1, 9]], department: null },
      { ...as, actor: senior, headers: { "if-match": '"v1"' } },
    );
    expect(changed.body.data).toMatchObject({ revision: 2, name: "North", ranges: [[1, 9]] });
    expect(changed.body.data.warnings).toEqual([expect.stringContaining("department"), expect.stringContaining("NORTH-018")]);
    expect(changed.body.data.counts).toMatchObject({ capacity: 9, assigned: 1, free: 9 });
    expect((await shared.world.get("/callsigns/NORTH-018")).body.data).toMatchObject({ state: "assigned", user: { id: person.id } });
    const stale = await shared.world.patch("/callsigns/pools/north", { name: "Other" }, { actor: senior, headers: { "if-match": '"v1"' } });
    expect(stale.body).toMatchObject({ status: 412, current_etag: '"v2"' });
    const before = await trace();
    expect((await shared.world.patch("/callsigns/pools/north", { name: "North" }, as)).body.data.revision).toBe(2);
    expect(await trace()).toEqual(before);
    const wrong = await shared.world.patch("/callsigns/pools/north", { rank_bands: { senior: [5, 12] } }, as);
    expect(wrong.body).toMatchObject({ status: 422, errors: [{ pointer: "/rank_bands/senior" }] });
  });

  test("whose callsigns another pool writes in another case is warned of", async () => {
    await create();
    const other = await create({ key: "north-low", department: "north", case_rule: "lower" });
    expect(other.body.data.warnings).toEqual([expect.stringContaining("pool north differ")]);
    expect((await create({ key: "far", ranges: [[500, 600]] })).body.data.warnings).toEqual([]);
  });

  test("is deleted when nothing of it is in use, and refused with the counts before", async () => {
    await create({ hold_days: 30 });
    const person = shared.world.member();
    const { callsign } = (await give(person.id)).body.data;
    const refused = await shared.world.delete("/callsigns/pools/north", undefined, as);
    expect(refused.body).toMatchObject({ status: 409, code: "invalid_transition", counts: { assigned: 1, held: 0, free: 19 } });
    await shared.world.post(`/callsigns/${callsign}/release`, { reason: "They left." }, as);
    expect((await shared.world.delete("/callsigns/pools/north", undefined, as)).body.counts).toMatchObject({ assigned: 0, held: 1 });
    time.now += 31 * 86_400_000;
    expect((await shared.world.delete("/callsigns/pools/north", undefined, as)).body.data).toMatchObject({ key: "north", warnings: [] });
    expect(await shared.world.app.database.read.callsignPool.count()).toBe(0);
  });

  test("that is not there is never a 404, and only who manages pools changes them", async () => {
    for (const answer of [
      await shared.world.get("/callsigns/pools/none"),
      await shared.world.patch("/callsigns/pools/none", { name: "x" }, as),
      await shared.world.delete("/callsigns/pools/none", undefined, as),
    ])
      expect(answer.body).toMatchObject({ status: 422, errors: [{ pointer: "/key", in: "path", code: "unknown_pool" }] });
    expect((await shared.world.get("/callsigns/pools")).body.data).toEqual([]);
    const denied = await shared.world.post("/callsigns/pools", north, { actor: moderator });
    expect(denied.body).toMatchObject({ status: 403, required: "callsigns.manage" });
    expect(await shared.world.app.database.read.callsignPool.count()).toBe(0);
  });
});
