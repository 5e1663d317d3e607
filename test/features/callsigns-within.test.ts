import { silent } from "../support/rooms.ts";
import fc from "fast-check";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Tx } from "../../src/database/database.ts";
import { createAuditService } from "../../src/features/audit/audit.service.ts";
import { inParts, numbersOf } from "../../src/features/callsigns/numbers.ts";
import { createCallsignsService, type CallsignsService, type Allocation } from "../../src/features/callsigns/callsigns.service.ts";
import { formatCallsign } from "../../src/features/callsigns/template.ts";
import { createEventsService } from "../../src/features/events/events.service.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { createCursors } from "../../src/kernel/page.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { addLines } from "../../src/features/roster/lines.ts";
import { runsOf } from "../support/size.ts";

const day = 86_400_000;
const time = { now: Date.parse("2026-11-21T10:00:00.000Z") };
const clock = { now: () => new Date(time.now) };
const call = systemCall("job", "test");
let ground: TestDatabase;
let callsigns: CallsignsService;
beforeAll(async () => {
  ground = await createTestDatabase({ clock });
  const { database } = ground;
  const audit = createAuditService({ database, cursors: createCursors(Buffer.alloc(32)) });
  callsigns = createCallsignsService({
    database,
    audit,
    events: createEventsService({ database, clock }),
    lines: addLines,
    clock,
    logger: silent,
  });
  return () => ground.drop();
});
const clear = () => write(async ({ db }) => void [await db.callsignSlot.deleteMany({}), await db.callsignPool.deleteMany({})]);
beforeEach(clear);

const personOf = (index: number): string => (80_351_110_224_678_900n + BigInt(index)).toString();
const write = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => ground.database.write(call, work);
const cause = { causeReference: "REC-REQ-000001", permission: "workflows.recruitment.decide" as const };
const termination = {
  causeReference: "PUN-REQ-000001",
  permission: "workflows.punishment.decide" as const,
  reason: "They were terminated.",
};

const pool = (key: string, fields: object = {}) =>
  write(({ db }) => {
    const times = { createdAt: clock.now(), updatedAt: clock.now() };
    const rules = { template: "{dept}-{n:03}", ranges: [[1, 99]], reserved: [], skip: [], rankBands: {} };
    return db.callsignPool.create({ data: { key, name: key, department: key.toUpperCase(), ...rules, ...times, ...fields } });
  });
const allocate = (key: string, userId: string, wish: object = {}) =>
  write((tx) => callsigns.allocateInTx(tx, { pool: key, userId, ...cause, ...wish }));
const peek = (key: string, userId: string, wish: object = {}) => callsigns.peekInTx(ground.database.read, { pool: key, userId, ...wish });
const hold = (userId: string, days?: number) => write((tx) => callsigns.holdAllInTx(tx, userId, { ...termination, ...(days && { days }) }));
/** What an effect keeps has been through JSON. */
const undo = (change: unknown) =>
  write((tx) => callsigns.undoInTx(tx, JSON.parse(JSON.stringify(change)), { ...termination, reason: "Reversed." }));
const sweep = () => callsigns.sweep(call);
const slots = () => ground.database.read.callsignSlot.findMany({ orderBy: [{ pool: "asc" }, { number: "asc" }, { createdAt: "asc" }] });
const live = async () => (await slots()).filter(({ state }) => state !== "ended");
const audited = () => ground.database.read.auditEntry.count();
/** What is in force, without what only grows. */
const inForce = async () => (await live()).map(({ revision: _, ...slot }) => slot);

describe("a template", () => {
  test.each([
    ["{dept}-{rank}{n:03}", { dept: "NORTH", rank: "S", n: 7 }, "NORTH-S007"],
    ["{dept}-{rank}{n:03}", { n: 1234 }, "-1234"],
    ["{unit}{constructor}{n}", { dept: "NORTH", n: 7 }, "7"],
    ["Unit {n:02} of {dept}", { dept: "{n}$&", n: 5 }, "Unit 05 of {n}$&"],
  ])("%s with %o is %s", (template, parts, callsign) => {
    expect(formatCallsign(template, parts)).toBe(callsign);
  });

  test("keeps every number whole and tells them apart", () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.integer({ min: 1, max: 12 }), (one, other, width) => {
        const written = (n: number): string => formatCallsign(`{dept}-{n:0${width.toString()}}`, { dept: "A1", n });
        expect(Number(written(one).slice(3))).toBe(one);
        expect(written(one).length).toBe(3 + Math.max(width, one.toString().length));
        expect(written(one) === written(other)).toBe(one === other);
      }),
    );
  });
});

test("the numbers of a pool are those of its ranges, but for what is kept back, in parts of bounded size", () => {
  const span = fc.tuple(fc.nat(60), fc.nat(60));
  const few = fc.array(fc.nat(60), { maxLength: 8 });
  fc.assert(
    fc.property(fc.array(span, { maxLength: 4 }), few, few, fc.option(span), (ranges, reserved, skip, band) => {
      const isIn = (number: number, [first, last]: [number, number]): boolean => number >= first && number <= last;
      const expected = Array.from({ length: 61 }, (_, number) => number).filter(
        (number) =>
          ranges.some((range) => isIn(number, range)) && ![...reserved, ...skip].includes(number) && (band === null || isIn(number, band)),
      );
      const numbers = numbersOf({ ranges, reserved, skip, rankBands: band === null ? {} : { senior: band } }, "senior");
      const parts = [...inParts(numbers, 2, 8)];
      expect(parts.flat()).toEqual(expected);
      expect(numbers.capacity).toBe(expected.length);
      expect(Math.max(0, ...parts.map((part) => part.length))).toBeLessThanOrEqual(8);
    }),
  );
});

describe("a callsign", () => {
  test("is the lowest free number of the pool, told once, and what was looked up before", async () => {
    await pool("north", { reserved: [1], skip: [2], caseRule: "lower" });
    const before = await audited();
    expect(await peek("north", personOf(1))).toEqual({ pool: "north", number: 3, callsign: "north-003", reused: false });
    expect([await slots(), await audited()]).toEqual([[], before]);
    const { slot, reused } = await allocate("north", personOf(1));
    expect({ slot, reused }).toMatchObject({ slot: { number: 3, callsign: "north-003", state: "assigned" }, reused: false });
    const entry = await ground.database.read.auditEntry.findFirst({ orderBy: { seq: "desc" } });
    expect(entry).toMatchObject({ action: "callsign.assign", subjectUserId: personOf(1), targetReference: "north-003" });
    const event = await ground.database.read.outboxEvent.findFirst({ orderBy: { seq: "desc" } });
    expect(event).toMatchObject({ type: "callsign.assigned", permission: "callsigns.read", data: { number: 3, user_id: personOf(1) } });
  });

  test("of the same person and pool is the same again, ten times at once, too", async () => {
    await pool("north");
    const all = await Promise.all(Array.from({ length: 10 }, () => allocate("north", personOf(1), { preferred: 7 })));
    expect(new Set(all.map(({ slot }) => slot.number))).toEqual(new Set([7]));
    expect(all.filter(({ reused }) => !reused)).toHaveLength(1);
    expect(await slots()).toHaveLength(1);
    expect(await undo(all.find(({ reused }) => reused)?.undo)).toMatchObject({ restored: true });
    expect((await live())[0]).toMatchObject({ state: "assigned" });
  });

  test("is the preferred number where that is free and given away, and comes from the band of the staff role", async () => {
    await pool("north", { reserved: [5], rankBands: { senior: [50, 59] } });
    const numberOf = async (index: number, wish: object) => (await allocate("north", personOf(index), wish)).slot.number;
    expect(await numberOf(1, { preferred: 42 })).toBe(42);
    for (const [index, preferred] of [42, 5, 100, 0].entries()) expect(await numberOf(10 + index, { preferred })).toBe(index + 1);
    expect(await numberOf(2, { roleKey: "senior", preferred: 7 })).toBe(50);
    expect(await numberOf(3, { roleKey: "senior", preferred: 55 })).toBe(55);
    expect(await numberOf(4, { roleKey: "constructor" })).toBe(6);
  });

  test("is refused where there is no such pool, and where no number is left", async () => {
    await pool("tiny", { ranges: [[1, 3]], skip: [2, 9] });
    for (const index of [1, 2]) await allocate("tiny", personOf(index));
    const before = await audited();
    const exhausted = { code: "pool_exhausted", extra: { capacity: 2 } };
    await expect(allocate("tiny", personOf(3))).rejects.toMatchObject(exhausted);
    await expect(peek("tiny", personOf(3))).rejects.toMatchObject(exhausted);
    await expect(allocate("none", personOf(3))).rejects.toMatchObject({ code: "invalid_transition" });
    expect([await slots().then((rows) => rows.length), await audited()]).toEqual([2, before]);
    expect(await callsigns.knowsPool(ground.database.read, "tiny")).toBe(true);
    expect(await callsigns.knowsPool(ground.database.read, "none")).toBe(false);
  });

  test("sixty at once from two pools: no number twice, no gap, and the pool that is too small says so", async () => {
    await pool("north", { ranges: [[10, 99]], skip: [13] });
    await pool("south", { ranges: [[1, 20]] });
    const wanted = Array.from({ length: 60 }, (_, index) => allocate(index % 2 === 0 ? "north" : "south", personOf(index)));
    const results = await Promise.allSettled(wanted);
    const refused = results.flatMap((result) => (result.status === "rejected" ? [result.reason.code] : []));
    expect(refused).toEqual(Array.from({ length: 10 }, () => "pool_exhausted"));
    const rows = await live();
    const taken = (key: string) => rows.filter(({ pool }) => pool === key).map(({ number }) => number);
    expect(taken("north")).toEqual([10, 11, 12, ...Array.from({ length: 27 }, (_, index) => 14 + index)]);
    expect(taken("south")).toEqual(Array.from({ length: 20 }, (_, index) => 1 + index));
    expect(new Set(rows.map(({ userId }) => userId)).size).toBe(50);
  });

  test("fills the only gap far up in a large pool", async () => {
    await pool("large", { ranges: [[1, 999_999]] });
    const row = { pool: "large", state: "assigned", since: clock.now(), createdAt: clock.now() };
    const numbers = Array.from({ length: 1000 }, (_, index) => index + 1).filter((number) => number !== 777);
    const data = numbers.map((n) => ({ ...row, number: n, callsign: n.toString(), liveKey: `large:${n.toString()}` }));
    await write(({ db }) => db.callsignSlot.createMany({ data }));
    expect((await allocate("large", personOf(1))).slot.number).toBe(777);
    expect((await allocate("large", personOf(2))).slot.number).toBe(1001);
  });
});

describe("a number that rests", () => {
  test("goes to nobody else until its time is over, and then to anybody", async () => {
    await pool("north", { holdDays: 30 });
    await allocate("north", personOf(1));
    expect(await hold(personOf(1))).toMatchObject({ held: 1, callsigns: ["NORTH-001"] });
    expect((await live())[0]).toMatchObject({ state: "held", until: new Date(time.now + 30 * day), holderKey: null });
    expect((await allocate("north", personOf(2))).slot.number).toBe(2);
    expect(await sweep()).toBe(0);
    time.now += 31 * day;
    const swept = await Promise.all([sweep(), sweep()]);
    expect(swept.reduce((sum, count) => sum + count, 0)).toBe(1);
    expect((await allocate("north", personOf(3))).slot.number).toBe(1);
    expect(await ground.database.read.auditEntry.count({ where: { action: "callsign.release" } })).toBeGreaterThan(0);
  });

  test("is taken back first by who had it, and rests on as before when that is taken back", async () => {
    await pool("north");
    await allocate("north", personOf(1), { preferred: 9 });
    await hold(personOf(1), 10);
    const resting = await inForce();
    time.now += day;
    const again = await allocate("north", personOf(1), { preferred: 3, causeReference: "REC-REQ-000002" });
    expect(again).toMatchObject({ reused: true, slot: { number: 9, state: "assigned", until: null } });
    expect(await undo(again.undo)).toMatchObject({ restored: true });
    expect(await inForce()).toEqual(resting);
  });

  test("is taken back before an older one that rests, too", async () => {
    await pool("north");
    const row = { pool: "north", state: "held", userId: personOf(1), createdAt: clock.now() };
    const data = [8, 9, 7].map((number, index) => {
      const since = new Date(time.now - Math.abs(index - 1) * day);
      return { ...row, number, callsign: number.toString(), liveKey: `north:${number.toString()}`, since };
    });
    await write(({ db }) => db.callsignSlot.createMany({ data }));
    expect((await peek("north", personOf(1))).number).toBe(9);
    expect(await allocate("north", personOf(1))).toMatchObject({ reused: true, slot: { number: 9 } });
  });

  test("is given back when the hold is taken back, even after its time, while number and person are free for it", async () => {
    await pool("north");
    await pool("south");
    for (const key of ["north", "south"]) await allocate(key, personOf(1));
    const before = await inForce();
    const { undo: held } = await hold(personOf(1), 10);
    expect((await live()).map(({ state }) => state)).toEqual(["held", "held"]);
    expect(await undo(held)).toMatchObject({ restored: true });
    expect(await inForce()).toEqual(before);

    const { undo: expired } = await hold(personOf(1), 10);
    time.now += 11 * day;
    expect(await sweep()).toBe(2);
    expect((await allocate("north", personOf(2))).slot.number).toBe(1);
    expect(await undo(expired)).toMatchObject({ restored: false, detail: expect.stringContaining("NORTH-001") });
    expect((await live()).map(({ pool, userId, state }) => [pool, userId, state])).toEqual([
      ["north", personOf(2), "assigned"],
      ["south", personOf(1), "assigned"],
    ]);
  });

  test("stays where it is when the person has another one of the pool by now", async () => {
    await pool("north");
    await allocate("north", personOf(1));
    const { undo: held } = await hold(personOf(1), 10);
    time.now += 11 * day;
    await sweep();
    await allocate("north", personOf(1), { preferred: 30 });
    expect(await undo(held)).toMatchObject({ restored: false });
    expect((await live()).map(({ number }) => number)).toEqual([30]);
  });
});

test("a new callsign that is taken back rests, and one given anew for another reason is left alone", async () => {
  await pool("north", { holdDays: 5 });
  const first = await allocate("north", personOf(1));
  expect(await undo(first.undo)).toMatchObject({ restored: true });
  const rested = await live();
  expect(rested[0]).toMatchObject({ state: "held", until: new Date(time.now + 5 * day) });
  expect(await undo(first.undo)).toMatchObject({ restored: true });
  expect(await live()).toEqual(rested);
  await allocate("north", personOf(1), { causeReference: "REC-REQ-000002" });
  expect(await undo(first.undo)).toMatchObject({ restored: false });
  expect((await live())[0]).toMatchObject({ state: "assigned" });
});

type Step =
  | { kind: "allocate"; who: number; preferred: number | null }
  | { kind: "hold"; who: number; days: number }
  | { kind: "undo"; place: number }
  | { kind: "wait"; days: number };

const who = fc.nat(3);
const steps = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ kind: fc.constant("allocate" as const), who, preferred: fc.option(fc.integer({ min: 1, max: 5 })) }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("hold" as const), who, days: fc.integer({ min: 1, max: 4 }) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("undo" as const), place: fc.nat(2) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("wait" as const), days: fc.integer({ min: 1, max: 3 }) }) },
  ),
  { maxLength: 14 },
);

/** By number: who has it, or had it and lets it rest until then. */
type Model = Map<number, { userId: string; since: number; until: number | null }>;
interface Done {
  undo: unknown;
  after: string;
  before: Model;
}

test("random giving, resting, taking back and waiting comes out as a list of numbers kept by hand", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      await clear();
      await pool("five", { ranges: [[1, 6]], skip: [3] });
      let model: Model = new Map();
      const done: Done[] = [];
      for (const step of sequence) {
        time.now += 1000;
        model = await play(step, model, done);
        expect(await access()).toEqual(text(model));
      }
    }),
    { numRuns: runsOf(50) },
  );
});

const isGiven = (answer: unknown): answer is Allocation => typeof answer === "object" && answer !== null && "slot" in answer;
const text = (model: Model): string =>
  JSON.stringify([...model].toSorted(([one], [other]) => one - other).map(([number, { userId, until }]) => [number, userId, until]));
/** With since when: who has the same number anew has it for another reason. */
const whole = (model: Model): string =>
  text(model) +
  [...model]
    .map(([number, { since }]) => `${number.toString()}@${since.toString()}`)
    .toSorted()
    .join();
const access = async () => text(await modelNow());
async function modelNow(): Promise<Model> {
  const rows = await live();
  return new Map(
    rows.map(({ number, userId, since, until }) => [
      number,
      { userId: userId ?? "", since: since.getTime(), until: until?.getTime() ?? null },
    ]),
  );
}

async function play(step: Step, model: Model, done: Done[]): Promise<Model> {
  const before: Model = new Map(model);
  if (step.kind === "wait") {
    time.now += step.days * day;
    await sweep();
    return new Map([...before].filter(([, { until }]) => until === null || until > time.now));
  }
  if (step.kind === "undo") {
    const last = done.at(-1 - step.place);
    if (last === undefined) return before;
    const isUntouched = whole(model) === last.after;
    const { restored } = await undo(last.undo);
    const now = await modelNow();
    // Where nothing happened since, all is as it was; only a number that was free rests now.
    const kept = [...now].filter(([number]) => last.before.has(number));
    if (isUntouched) expect([restored, text(new Map(kept))]).toEqual([true, text(last.before)]);
    const fresh = [...now].filter(([number]) => !last.before.has(number) && !before.has(number));
    expect(fresh).toEqual([]);
    done.splice(done.indexOf(last), 1);
    return now;
  }
  const userId = personOf(step.who);
  if (step.kind === "hold") {
    const { undo: held } = await hold(userId, step.days);
    for (const [number, slot] of before)
      if (slot.userId === userId && slot.until === null) model.set(number, { userId, since: time.now, until: time.now + step.days * day });
    done.push({ undo: held, after: whole(model), before });
    return model;
  }
  const own = [...before].filter(([, slot]) => slot.userId === userId);
  const [resting] = own.toSorted(([, one], [, other]) => other.since - one.since);
  const free = [1, 2, 4, 5, 6].filter((number) => !before.has(number));
  const preferred = step.preferred !== null && free.includes(step.preferred) ? step.preferred : free[0];
  const expected = own.find(([, { until }]) => until === null)?.[0] ?? resting?.[0] ?? preferred;
  const given = await allocate("five", userId, { preferred: step.preferred }).catch((error: unknown) => error);
  if (expected === undefined) {
    expect(given).toMatchObject({ code: "pool_exhausted" });
    return before;
  }
  if (!isGiven(given)) throw given;
  expect(given.slot.number).toBe(expected);
  if (before.get(given.slot.number)?.until !== null) model.set(given.slot.number, { userId, since: time.now, until: null });
  done.push({ undo: given.undo, after: whole(model), before });
  return model;
}
