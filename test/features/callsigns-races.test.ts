// @module-tag postgres
// @module-tag slow
import { silent } from "../support/rooms.ts";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openDatabase, type Database } from "../../src/database/database.ts";
import { createAuditService } from "../../src/features/audit/audit.service.ts";
import { createPoolsService } from "../../src/features/callsigns/pools/pools.service.ts";
import { createCallsignRegistry } from "../../src/features/callsigns/registry.service.ts";
import { createCallsignsService } from "../../src/features/callsigns/callsigns.service.ts";
import { createEventsService } from "../../src/features/events/events.service.ts";
import type { AccessDirectory } from "../../src/features/permissions/access/access-directory.ts";
import { addLines } from "../../src/features/roster/lines.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createCursors } from "../../src/kernel/page.ts";
import { shareWorld } from "../contract/world.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { sizeOf } from "../support/size.ts";

const time = { now: Date.now() };
const clock = { now: () => new Date(time.now) };
const [minute, day] = [60_000, 86_400_000];
const personOf = (index: number): string => (80_351_110_224_678_900n + BigInt(index)).toString();
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);
const call = () => systemCall("cli", uuid7());
const north = { name: "North", department: "N", template: "{dept}-{n:03}" };

/** Nobody is staff, and nothing stands above anybody. */
const nobody = { held: [], members: [], isInGuild: false, rank: 0 };
const access = { of: (id: string) => ({ id, ...nobody }), role: () => undefined, roles: () => [] } as unknown as AccessDirectory;
const permissions = { requireRankAbove: () => undefined };

/** The rooms of callsigns, as one process has them. */
function instance(database: Database) {
  const cursors = createCursors(Buffer.alloc(32));
  const audit = createAuditService({ database, cursors });
  const callsigns = createCallsignsService({
    database,
    audit,
    events: createEventsService({ database, clock }),
    lines: addLines,
    clock,
    logger: silent,
  });
  const registry = createCallsignRegistry({ database, access, permissions, callsigns, cursors, clock });
  return { callsigns, registry, pools: createPoolsService({ database, audit, access, cursors, clock }) };
}

const shared = shareWorld({ clock });
const allocationCount = sizeOf({ quick: 40, all: 100, long: 200 });

test(`${allocationCount.toString()} allocations by 20 callers from three pools: no number twice, no gap but what was freed, and 409 where none is left`, async () => {
  const { world } = shared;
  const senior = await world.staff("senior");
  const callers = await Promise.all(upTo(20).map(() => world.staff("moderator")));
  const sizes = { alpha: 90, bravo: 200, charlie: 15 };
  const freed = new Map<string, Set<number>>();
  const held: string[] = [];
  for (const [key, size] of Object.entries(sizes)) {
    await world.post("/callsigns/pools", { key, ...north, department: key, ranges: [[1, size]] }, { actor: senior });
    freed.set(key, new Set());
    for (const index of upTo(6)) {
      const body = { pool: key, ...(index % 2 === 0 && { user_id: personOf(9000 + held.length) }) };
      const { data } = (await world.post("/callsigns/next", body, { actor: callers[0]?.id ?? "" })).body;
      freed.get(key)?.add(data.number);
      if (index % 2 === 0) held.push(data.callsign);
    }
  }
  const keys = Object.keys(sizes);
  const asked = upTo(allocationCount).map((index) => ({
    pool: keys[index % 3] ?? "",
    user_id: personOf(index),
    actor: callers[index % 20]?.id ?? "",
  }));
  const allocations = asked.map(async ({ actor, ...body }, index) => {
    if (index === Math.floor(allocationCount / 3)) time.now += 16 * minute;
    return await world.post("/callsigns/next", body, { actor });
  });
  const releases = held.map((callsign) =>
    world.post(`/callsigns/${callsign}/release`, { reason: "Over.", rest_days: 0 }, { actor: senior }),
  );
  const [answers, released] = await Promise.all([Promise.all(allocations), Promise.all(releases)]);

  expect(released.map(({ status }) => status)).toEqual(held.map(() => 200));
  const rows = await world.app.database.read.callsignSlot.findMany({ where: { state: "assigned" } });
  expect(new Set(rows.map(({ pool, number }) => `${pool}:${number.toString()}`)).size).toBe(rows.length);
  for (const [key, size] of Object.entries(sizes)) {
    const mine = answers.filter((_, index) => asked[index]?.pool === key);
    const given = mine.filter(({ status }) => status === 200).map(({ body }) => Number(body.data.number));
    expect(new Set(given).size).toBe(given.length);
    expect(given.toSorted((one, other) => one - other)).toEqual(
      rows.flatMap(({ pool, number }) => (pool === key ? [number] : [])).toSorted((one, other) => one - other),
    );
    const gaps = upTo(Math.max(...given)).filter((number) => !given.includes(number));
    expect(gaps.filter((number) => freed.get(key)?.has(number) !== true)).toEqual([]);
    const refused = mine.filter(({ status }) => status !== 200);
    expect(refused.map(({ body }) => [body.status, body.code, body.capacity])).toEqual(refused.map(() => [409, "pool_exhausted", size]));
    expect(refused.length > 0).toBe(key === "charlie");
    // Whoever comes now gets the gaps, from the lowest.
    const late = [];
    for (const index of upTo(Math.min(gaps.length, 3)))
      late.push((await world.post("/callsigns/next", { pool: key, user_id: personOf(5000 + index) }, { actor: senior })).body.data.number);
    expect(late).toEqual(gaps.slice(0, 3));
  }
  expect((await world.get("/audit/verify")).body.data.ok).toBe(true);
});

describe("two processes on one database", () => {
  let ground: TestDatabase;
  let other: Database;
  beforeAll(async () => {
    ground = await createTestDatabase({ clock });
    other = await openDatabase({ url: ground.url, synchronous: "normal", clock });
  });
  afterAll(async () => {
    await other.close();
    await ground.drop();
  });

  test("give no number twice and leave no gap, with reservations running out in between", async () => {
    const both = [instance(ground.database), instance(other)] as const;
    await both[0].pools.create(call(), { key: "pair", ...north, ranges: [[1, 50]] });
    const wanted = upTo(80).map(async (index) => {
      const { registry, callsigns } = both[index % 2 === 0 ? 0 : 1];
      if (index === 40) time.now += 16 * minute;
      if (index % 16 === 0) await patiently(() => callsigns.sweep(systemCall("job", uuid7())));
      // A reservation of the first half is over before the others are done.
      const body = index <= 20 ? { pool: "pair" } : { pool: "pair", user_id: personOf(index % 70) };
      return await patiently(() => registry.next(call(), body));
    });
    const results = await Promise.all(wanted);
    const refused = results.filter((result) => typeof result === "string");
    expect(new Set(refused)).toEqual(new Set(refused.length === 0 ? [] : ["pool_exhausted"]));
    const rows = await ground.database.read.callsignSlot.findMany({ where: { pool: "pair", liveKey: { not: null } } });
    const numbers = rows.map(({ number }) => number);
    expect(new Set(numbers).size).toBe(numbers.length);
    const assigned = rows.filter(({ state }) => state === "assigned");
    expect(new Set(assigned.map(({ userId }) => userId)).size).toBe(assigned.length);
    await both[1].callsigns.sweep(systemCall("job", uuid7()));
    const next = await both[0].registry.lookUp(call(), { pool: "pair" });
    const live = await ground.database.read.callsignSlot.findMany({ where: { pool: "pair", liveKey: { not: null } } });
    const lowest = upTo(50).find((number) => !live.some((row) => row.number === number)) ?? null;
    expect(next.number).toBe(lowest);
  });

  test("get the next number when one that knows no lock writes the same one first", async () => {
    const { registry, pools } = instance(ground.database);
    await pools.create(call(), { key: "gate", ...north, ranges: [[1, 9]] });
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    let written = (): void => undefined;
    const isWritten = new Promise<void>((resolve) => (written = resolve));
    const row = {
      pool: "gate",
      number: 1,
      callsign: "N-001",
      state: "assigned",
      liveKey: "gate:1",
      since: clock.now(),
      createdAt: clock.now(),
    };
    const first = other.write(call(), async ({ db }) => {
      await db.callsignSlot.create({ data: row });
      written();
      await gate;
    });
    await isWritten;
    const second = registry.next(call(), { pool: "gate", user_id: personOf(1) });
    await waiting(ground);
    open();
    await first;
    expect(await second).toMatchObject({ number: 2, state: "assigned" });
    expect(await ground.database.read.callsignSlot.count({ where: { pool: "gate", number: 2 } })).toBe(1);
  });
});

/** As clients do: what is refused because the storage is busy is asked for again. @returns the answer, or the code of the refusal */
async function patiently<T>(ask: () => Promise<T>): Promise<T | string> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      if (error.code !== "storage_busy" || tries === 20) return error.code;
    }
  }
}

/** Until some statement waits for another transaction: on PostgreSQL, where writers do not wait in a queue of ours. */
async function waiting({ url, database }: TestDatabase): Promise<void> {
  if (url.startsWith("file:")) return;
  for (let tries = 0; tries < 1000; tries += 1) {
    const rows = await database.read.$queryRaw<object[]>`SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'`;
    if (rows.length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("nothing came to wait");
}

type Step =
  | { kind: "allocate"; who: number }
  | { kind: "reserve"; who: number }
  | { kind: "confirm"; who: number }
  | { kind: "release"; number: number; days: number }
  | { kind: "transfer"; number: number; who: number }
  | { kind: "retire"; number: number }
  | { kind: "unretire"; number: number }
  | { kind: "wait"; minutes: number; isSwept: boolean };

const who = fc.nat(3);
const number = fc.integer({ min: 1, max: 6 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("allocate" as const), who }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("reserve" as const), who: fc.nat(5) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("confirm" as const), who }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("release" as const), number, days: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("transfer" as const), number, who }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("retire" as const, "unretire" as const), number }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("wait" as const), minutes: fc.constantFrom(1, 16, 1500), isSwept: fc.boolean() }) },
);

interface Kept {
  state: string;
  userId: string | null;
  until: number | null;
  since: number;
}
/** Numbers kept by hand. */
type Model = Map<number, Kept>;
const all = [1, 2, 4, 5, 6];
const refused = "refused";

const isHolding = ({ state }: Kept): boolean => state === "assigned" || state === "reserved";
const holds = (model: Model, userId: string | null) =>
  [...model].find(([, one]) => isHolding(one) && one.userId === userId && userId !== null);
function own(model: Model, userId: string | null): [number, Kept] | undefined {
  const resting = [...model].filter(([, one]) => one.state === "held" && one.userId === userId);
  return holds(model, userId) ?? resting.toSorted(([, one], [, other]) => other.since - one.since)[0];
}

/** What a step should do to the numbers kept by hand. @returns the number it is about, or that it is refused */
function expected(model: Model, one: Step, reservation: number | undefined): number | typeof refused | null {
  const now = time.now;
  const put = (at: number | undefined, kept: Omit<Kept, "since">) => {
    if (at === undefined) return refused;
    model.set(at, { ...kept, since: now });
    return at;
  };
  const free = all.find((candidate) => !model.has(candidate));
  if (one.kind === "wait") return null;
  if (one.kind === "allocate") {
    const [at, mine] = own(model, personOf(one.who)) ?? [free, undefined];
    return mine?.state === "assigned" && at !== undefined ? at : put(at, { state: "assigned", userId: personOf(one.who), until: null });
  }
  if (one.kind === "reserve") {
    const userId = one.who > 3 ? null : personOf(one.who);
    return (userId === null ? undefined : own(model, userId)?.[0]) ?? put(free, { state: "reserved", userId, until: now + 15 * minute });
  }
  if (one.kind === "confirm") {
    const userId = personOf(one.who);
    const kept = reservation === undefined ? undefined : model.get(reservation);
    const isTheirs = kept?.userId === null || kept?.userId === userId;
    const other = holds(model, userId)?.[0];
    if (kept?.state !== "reserved" || !isTheirs || (other !== undefined && other !== reservation)) return refused;
    return put(reservation, { state: "assigned", userId, until: null });
  }
  const kept = model.get(one.number);
  if (one.kind === "retire") {
    const isRetired = kept?.state === "retired";
    return isRetired ? refused : put(one.number, { state: "retired", userId: kept?.userId ?? null, until: null });
  }
  if (one.kind === "unretire") return kept?.state === "retired" && model.delete(one.number) ? one.number : refused;
  if (one.kind === "transfer") {
    const userId = personOf(one.who);
    const may = (kept?.state === "assigned" || kept?.state === "held") && holds(model, userId) === undefined;
    return may ? put(one.number, { state: "assigned", userId, until: null }) : refused;
  }
  if (kept === undefined || kept.state === "retired" || (kept.state === "held" && one.days > 0)) return refused;
  if (kept.state === "assigned" && one.days > 0)
    return put(one.number, { state: "held", userId: kept.userId, until: now + one.days * day });
  model.delete(one.number);
  return one.number;
}

describe("random giving, keeping, confirming, taking, resting, retiring and waiting", () => {
  let ground: TestDatabase;
  beforeAll(async () => {
    ground = await createTestDatabase({ clock });
    return () => ground.drop();
  });

  test("comes out as numbers kept by hand", async () => {
    const { registry, pools, callsigns } = instance(ground.database);
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 16 }), async (steps) => {
        const key = `model${(runs += 1).toString()}`;
        await pools.create(call(), { key, ...north, department: key, ranges: [[1, 6]], skip: [3] });
        const model: Model = new Map();
        let reservation: { id: string; number: number } | undefined;
        const named = (at: number) => ({ callsign: `${key}-00${at.toString()}`, pool: key, ifMatch: undefined });
        const play = async (one: Step): Promise<number | null> => {
          const reason = "So it is.";
          if (one.kind === "allocate") return (await registry.next(call(), { pool: key, user_id: personOf(one.who) })).number;
          if (one.kind === "reserve") {
            const body = { pool: key, mode: "reserve" as const, ...(one.who <= 3 && { user_id: personOf(one.who) }) };
            const { number: at, reservation_id: id } = await registry.next(call(), body);
            if (id !== undefined && at !== null) reservation = { id, number: at };
            return at;
          }
          if (one.kind === "confirm")
            return (await registry.next(call(), { reservation_id: reservation?.id ?? uuid7(), user_id: personOf(one.who) })).number;
          if (one.kind === "release") return (await registry.release(call(), named(one.number), { reason, rest_days: one.days })).number;
          if (one.kind === "transfer")
            return (await registry.transfer(call(), named(one.number), { reason, user_id: personOf(one.who) })).number;
          if (one.kind === "wait") {
            if (one.isSwept) await callsigns.sweep(systemCall("job", uuid7()));
            return null;
          }
          return (await registry[one.kind](call(), named(one.number), { reason })).number;
        };
        for (const one of steps) {
          time.now += one.kind === "wait" ? one.minutes * minute : 1000;
          for (const [at, { until }] of model) if (until !== null && until <= time.now) model.delete(at);
          // Whether the reservation that is confirmed is still the one of its number.
          const row =
            reservation === undefined ? null : await ground.database.read.callsignSlot.findUnique({ where: { id: reservation.id } });
          const isConfirmedBefore = one.kind === "confirm" && row?.state === "assigned" && row.userId === personOf(one.who);
          const still = row?.liveKey === null ? undefined : reservation?.number;
          const wanted = isConfirmedBefore ? (reservation?.number ?? refused) : expected(model, one, still);
          const got = await play(one).catch((error: unknown) => {
            expect(["invalid_transition", "pool_exhausted", "validation_failed"]).toContain(
              error instanceof ProblemError ? error.code : error,
            );
            return refused;
          });
          expect([one, got]).toEqual([one, wanted]);
          const { data } = await registry.list(call(), { pool: key });
          expect(data.map(({ number: at, state, user, until }) => [at, state, user?.id ?? null, until])).toEqual(
            [...model]
              .toSorted(([one], [other]) => one - other)
              .map(([at, { state, userId, until }]) => [at, state, userId, until === null ? null : new Date(until).toISOString()]),
          );
        }
      }),
      { numRuns: sizeOf({ quick: 10, all: 20, long: 400 }) },
    );
  });
});
