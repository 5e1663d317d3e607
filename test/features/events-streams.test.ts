import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createChanges } from "../../src/cluster/changes.ts";
import { nextNumber } from "../../src/database/counter.ts";
import { openDatabase, type Database, type ReadClient } from "../../src/database/database.ts";
import { createEventsService, type EventInput, type EventsService } from "../../src/features/events/events.service.ts";
import { createEventStreams, type StreamsDeps } from "../../src/features/events/streams.service.ts";
import { createScopes } from "../../src/features/permissions/permissions.service.ts";
import type { Access } from "../../src/features/permissions/access/access-directory.ts";
import { systemCall, type Call } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createTestDatabase } from "../support/database.ts";
import { runsOf } from "../support/size.ts";

const person = "80351110224678912";
const openEvent: EventInput = { type: "owner.changed", data: {} };
const hiddenEvent: EventInput = { type: "permission.changed", data: {} };
const calm = { pingMs: 600_000, eventsBehind: 1000, behindMs: 600_000, endMs: 100 };
const quick = { ...calm, pingMs: 25 };

/** Write many events at once, the last one through the verb. */
async function fill(database: Database, events: EventsService, count: number, text: string): Promise<void> {
  await database.write(systemCall("job", uuid7()), async (tx) => {
    const first = await nextNumber(tx, "events");
    await tx.db.counter.update({ where: { name: "events" }, data: { value: first + count - 2 } });
    const row = { at: tx.now, type: openEvent.type, permission: "staff.read", data: { text } };
    await tx.db.outboxEvent.createMany({
      data: Array.from({ length: count - 1 }, (_, index) => ({ ...row, seq: first + index, id: uuid7() })),
    });
    events.emit(tx, { ...openEvent, data: { text } });
  });
}

async function write(database: Database, events: EventsService, inputs: readonly EventInput[]): Promise<void> {
  await database.write(systemCall("job", uuid7()), async (tx) => {
    for (const input of inputs) events.emit(tx, input);
  });
}

/** Streams on a fresh database, with one person on staff and one key. They look at the database only when told of a commit. */
async function createRoom({ onRead, ...options }: Partial<StreamsDeps> & { onRead?: () => Promise<void> } = {}) {
  const { url, database, drop } = await createTestDatabase();
  const clock = { at: Date.now(), now: () => new Date(clock.at) };
  const actor = { id: person, isStaff: true, held: ["staff.read"], decide: (key: string) => ({ allowed: actor.held.includes(key) }) };
  const access = { actorOf: () => actor as unknown as Access };
  const events = createEventsService({ database, clock });
  const read = onRead === undefined ? database : watched(database, onRead);
  const ground = { database: read, events, permissions: { createScopes }, access, clock };
  const streams = createEventStreams({ ...ground, pace: calm, pollMs: 600_000, ...options });
  onTestFinished(async () => {
    await streams.close();
    await drop();
  });
  const keyId = uuid7();
  const key = { keyId: "abc", name: "key", secretHash: "", scopes: ["staff.read"], delegation: "trusted", ipAllowlist: [] };
  const [createdAt, expiresAt] = [clock.now(), new Date(clock.at + 86_400_000)];
  const changeKey = (data: object) =>
    database.write(systemCall("job", uuid7()), ({ db }) => db.apiKey.update({ where: { id: keyId }, data }));
  await database.write(systemCall("job", uuid7()), ({ db }) => db.apiKey.create({ data: { id: keyId, ...key, createdAt, expiresAt } }));
  const call = { via: "rest", requestId: uuid7(), idempotency: null, replayed: false } as const;
  const client = { id: keyId, name: "key", allows: () => true, expiresAt };
  return {
    url,
    database,
    clock,
    actor,
    streams,
    changeKey,
    byPerson: { ...call, client: null, actor: access.actorOf() } as Call,
    byKey: { ...call, client, actor: null } as Call,
    emit: (...inputs: EventInput[]) => write(database, events, inputs),
    fill: (count: number, text = "") => fill(database, events, count, text),
  };
}

/** Read a stream to its end. */
function reading(body: Readable) {
  let text = "";
  let counted = 0;
  const numbers: number[] = [];
  /** What has been read is not searched again: there may be megabytes of it, and somebody asks time and again. */
  const seqs = (): number[] => {
    const whole = text.lastIndexOf("\n") + 1;
    for (const [, seq] of text.slice(counted, whole).matchAll(/"seq":(\d+)/g)) numbers.push(Number(seq));
    counted = whole;
    return numbers;
  };
  const ended = new Promise<"end" | "cut">((resolve) => {
    body.on("end", () => resolve("end")).on("error", () => resolve("cut"));
    body.on("close", () => resolve("cut")).on("data", (chunk: Buffer) => (text += chunk.toString()));
  });
  const until = (isSo: (text: string) => boolean): Promise<void> =>
    vi.waitFor(() => expect(isSo(text)).toBe(true), { timeout: 60_000, interval: 10 });
  return { ended, until, text: () => text, seqs };
}

describe("a listener", () => {
  test("is kept awake, and told where it stands when only hidden events happened", async () => {
    const room = await createRoom({ pace: quick });
    const listener = reading(await room.streams.follow(room.byPerson, {}));
    await listener.until((text) => text.includes(": ping\n\n: ping\n\n"));
    await room.emit(hiddenEvent, hiddenEvent);
    await listener.until((text) => /: ping\nid: 2\n\n: ping\n\n/.test(text));
    await room.emit(openEvent);
    await listener.until((text) => /"seq":3.*\n\n: ping\n\n/.test(text));
    expect(listener.text()).toMatch(
      /^retry: 3000\nid: 0\n\n(: ping\n(id: 2\n)?\n)+id: 3\nevent: owner.changed\ndata: .*\n\n(: ping\n\n)+$/,
    );
    expect(listener.text().match(/id: 2\n/g)).toHaveLength(1);
  });

  test("hears of a commit at once, without anybody asking the database time and again", async () => {
    const room = await createRoom();
    const listener = reading(await room.streams.follow(room.byPerson, {}));
    for (let turn = 1; turn <= 5; turn += 1) {
      await room.emit(openEvent);
      await listener.until(() => listener.seqs().length === turn);
    }
  });

  test("hears of what another process wrote, too", async () => {
    const room = await createRoom({ pollMs: 20 });
    const listener = reading(await room.streams.follow(room.byPerson, {}));
    const other = await openDatabase({ url: room.url, synchronous: "normal" });
    await write(other, createEventsService({ database: other }), [openEvent, openEvent]);
    await other.close();
    await listener.until(() => listener.seqs().length === 2);
    expect(listener.seqs()).toEqual([1, 2]);
  });

  test("gets every event after its position once and in order, however far back it stood", async () => {
    const room = await createRoom();
    const before = reading(await room.streams.follow(room.byPerson, {}));
    let count = 0;
    const more = async (events: number): Promise<void> => {
      await room.fill(events);
      count += events;
    };
    await more(1700);
    const runs = fc.asyncProperty(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 2, max: 40 }), async (place, added) => {
      const position = Math.floor(place * count);
      const [body] = await Promise.all([room.streams.follow(room.byPerson, { after: position }), more(added)]);
      const listener = reading(body);
      await listener.until(() => listener.seqs().at(-1) === count);
      expect(listener.seqs()).toEqual(Array.from({ length: count - position }, (_, index) => position + 1 + index));
      expect(listener.text()).not.toContain("gap");
      body.destroy();
    });
    await fc.assert(runs, { numRuns: runsOf(25) });
    await before.until(() => before.seqs().length === count);
    expect(before.seqs()).toEqual(Array.from({ length: count }, (_, index) => index + 1));
  });

  test("is told of events that were deleted while it was catching up", async () => {
    const room = await createRoom();
    await room.fill(1200, "x".repeat(500));
    const body = await room.streams.follow(room.byPerson, { after: 0 });
    body.read(0);
    await vi.waitFor(() => expect(body.readableLength).toBeGreaterThan(16_384), 60_000);
    await room.database.write(systemCall("job", uuid7()), ({ db }) => db.outboxEvent.deleteMany({ where: { seq: { lte: 1100 } } }));
    const listener = reading(body);
    await listener.until(() => listener.seqs().at(-1) === 1200);
    expect(listener.text().match(/event: gap\ndata: .*/g)).toEqual(['event: gap\ndata: {"after":500,"next":1101}']);
    expect(listener.seqs()).toHaveLength(600);
  });

  test("misses nothing when the database cannot be read for a moment", async () => {
    const faults = { left: 0 };
    const room = await createRoom({
      pollMs: 20,
      places: { all: 1, perKey: 1 },
      onRead: async () => {
        if (faults.left === 0) return;
        faults.left -= 1;
        throw new Error("no disk");
      },
    });
    faults.left = 1;
    await expect(room.streams.follow(room.byPerson, {})).rejects.toThrow("no disk");
    const listener = reading(await room.streams.follow(room.byPerson, {}));
    faults.left = 3;
    await room.emit(openEvent);
    await listener.until(() => listener.seqs().length === 1);
    expect(faults.left).toBe(0);
  });

  test("hears of what is committed while an earlier event is still being read", async () => {
    let reads = 0;
    let goOn = (): void => undefined;
    const held = new Promise<void>((resolve) => (goOn = resolve));
    const room = await createRoom({ onRead: async () => ((reads += 1) > 2 ? held : undefined) });
    const listener = reading(await room.streams.follow(room.byPerson, {}));
    await vi.waitFor(() => expect(reads).toBe(2), 60_000);
    await room.emit(openEvent);
    await vi.waitFor(() => expect(reads).toBe(3), 60_000);
    await room.emit(openEvent);
    goOn();
    await listener.until(() => listener.seqs().length === 2);
  });
});

/** A database that tells of every read of events once its answer is there, before anybody gets it. */
function watched(database: Database, onRead: () => Promise<void>): Database {
  const { outboxEvent, apiKey } = database.read;
  const after = async <T>(answer: Promise<T>): Promise<T> => {
    await answer;
    await onRead();
    return answer;
  };
  const told = {
    findMany: (asked: object) => after(outboxEvent.findMany(asked)),
    aggregate: (asked: { _max: { seq: true } }) => after(outboxEvent.aggregate(asked)),
  };
  return { ...database, read: { outboxEvent: told, apiKey } as unknown as ReadClient };
}

describe("a stream ends", () => {
  test.each([
    ["is revoked", { revokedAt: new Date() }],
    ["is changed", { scopes: ["*"], revision: 2 }],
  ])("soon after its key %s by another process", async (_what, data) => {
    const room = await createRoom({ pace: quick });
    const listener = reading(await room.streams.follow(room.byKey, {}));
    await room.changeKey({ lastUsedAt: new Date() });
    await listener.until((text) => text.includes(": ping\n\n: ping"));
    await room.changeKey(data);
    expect(await listener.ended).toBe("end");
  });

  test("before the next event when that tells of a change of its key", async () => {
    const room = await createRoom();
    const listener = reading(await room.streams.follow(room.byKey, {}));
    await room.emit({ type: "api_key.updated", data: {} }, openEvent);
    await listener.until(() => listener.seqs().length === 1);
    await room.changeKey({ revision: 2 });
    await room.emit({ type: "api_key.updated", data: {} }, openEvent);
    expect(await listener.ended).toBe("end");
    expect(listener.seqs()).toEqual([2]);
  });

  test("when its key expires, and shows nothing from that moment on", async () => {
    const calmRoom = await createRoom();
    const silent = reading(await calmRoom.streams.follow(calmRoom.byKey, {}));
    const witness = reading(await calmRoom.streams.follow(calmRoom.byPerson, {}));
    calmRoom.clock.at += 86_400_000;
    await calmRoom.emit(openEvent);
    await witness.until(() => witness.seqs().length === 1);
    expect(silent.seqs()).toEqual([]);

    const room = await createRoom({ pace: quick });
    const listener = reading(await room.streams.follow(room.byKey, {}));
    await listener.until((text) => text.includes(": ping"));
    room.clock.at += 86_400_000;
    expect(await listener.ended).toBe("end");
  });

  test.each<[string, (actor: { isStaff: boolean; held: string[] }) => void]>([
    ["leaves staff", (actor) => (actor.isStaff = false)],
    ["may not list staff any more", (actor) => actor.held.splice(0)],
  ])("soon after the acting person %s", async (_what, change) => {
    const room = await createRoom({ pace: quick });
    const listener = reading(await room.streams.follow(room.byPerson, {}));
    await listener.until((text) => text.includes(": ping\n\n: ping"));
    change(room.actor);
    expect(await listener.ended).toBe("end");
  });

  test("when nothing is taken while something waits, but not while there is nothing to take", async () => {
    const room = await createRoom({ pace: { ...calm, pingMs: 300 }, places: { all: 2, perKey: 2 } });
    const stuck = await room.streams.follow(room.byPerson, {});
    await vi.waitFor(() => expect(stuck.read()).not.toBeNull(), 60_000);
    const idle = reading(await room.streams.follow(room.byPerson, {}));
    await expect(room.streams.follow(room.byPerson, {})).rejects.toThrow("at most 2");
    await room.emit(...Array.from({ length: 10 }, () => ({ ...openEvent, data: { text: "x".repeat(5000) } })));
    await vi.waitFor(() => expect(stuck.destroyed).toBe(true), 60_000);
    expect(stuck.readableLength).toBeLessThan(40_000);
    await idle.until((text) => /"seq":10,.*\n\n(: ping\n\n){4}/.test(text));
    expect(idle.seqs()).toHaveLength(10);
    const next = reading(await room.streams.follow(room.byPerson, { after: 0 }));
    await next.until(() => next.seqs().length === 10);
  });

  test("when nobody begins to read it", async () => {
    const room = await createRoom({ pace: quick, places: { all: 1, perKey: 1 } });
    const forgotten = await room.streams.follow(room.byPerson, {});
    await vi.waitFor(() => expect(forgotten.destroyed).toBe(true), 60_000);
    expect(await room.streams.follow(room.byPerson, {})).toBeDefined();
  });

  test("when a thousand events passed a reader that takes nothing for a second", async () => {
    const room = await createRoom({ pace: { ...calm, behindMs: 1000 } });
    const [stuck, slow] = [await room.streams.follow(room.byPerson, {}), await room.streams.follow(room.byPerson, {})];
    let count = 0;
    while (!stuck.destroyed && count < 50_000) {
      await room.fill(100, "x".repeat(500));
      count += 100;
      // A little of it is taken each time, far less than there is.
      slow.read();
      await vi.waitFor(() => expect(slow.readableLength).toBeGreaterThan(0), 60_000);
    }
    expect([stuck.destroyed, slow.destroyed]).toEqual([true, false]);
    expect(count).toBeGreaterThanOrEqual(1000);
    const listener = reading(slow);
    await listener.until(() => listener.seqs().at(-1) === count);
  });

  test("not for a few events alone, however long they wait", async () => {
    const room = await createRoom({ pace: { ...calm, behindMs: 0 } });
    const [body, witness] = [await room.streams.follow(room.byPerson, {}), reading(await room.streams.follow(room.byPerson, {}))];
    for (let count = 0; count < 9; count += 1) await room.fill(100, "x".repeat(500));
    await witness.until(() => witness.seqs().length === 900);
    expect(body.destroyed).toBe(false);
    const listener = reading(body);
    await listener.until(() => listener.seqs().length === 900);
  });

  test("not for a burst alone, however large", async () => {
    const room = await createRoom();
    const body = await room.streams.follow(room.byPerson, {});
    await room.fill(5000);
    const listener = reading(body);
    await listener.until(() => listener.seqs().length === 5000);
    expect(listener.seqs().at(-1)).toBe(5000);
  });

  test("at the close, and none is opened afterwards", async () => {
    const room = await createRoom();
    const listener = reading(await room.streams.follow(room.byPerson, {}));
    const opening = room.streams.follow(room.byPerson, {}).catch((error: unknown) => error);
    await room.streams.close();
    expect(await listener.ended).toBe("end");
    expect(await opening).toMatchObject({ code: "shutting_down" });
    await expect(room.streams.follow(room.byPerson, {})).rejects.toMatchObject({ code: "shutting_down" });
  });
});

describe("a key", () => {
  test("that is revoked already opens nothing", async () => {
    const room = await createRoom({ places: { all: 1, perKey: 1 } });
    await room.changeKey({ revokedAt: new Date() });
    for (let tries = 0; tries < 3; tries += 1)
      await expect(room.streams.follow(room.byKey, {})).rejects.toMatchObject({ code: "credential_revoked" });
    expect(await room.streams.follow(room.byPerson, {})).toBeDefined();
  });

  test("sees what its stored scopes allow, not what a call remembers of them", async () => {
    const room = await createRoom();
    const listener = reading(await room.streams.follow(room.byKey, {}));
    await room.emit(hiddenEvent, openEvent);
    await listener.until(() => listener.seqs().length > 0);
    expect(listener.seqs()).toEqual([2]);
  });
});

test("work that hears of other processes looks once for many of their events, and not for those of its own", async () => {
  const changes = createChanges();
  const { database, drop } = await createTestDatabase();
  onTestFinished(drop);
  const events = createEventsService({ database, changes });
  let [looks, commits] = [0, 0];
  events.onOthers(() => (looks += 1));
  events.onCommit(() => (commits += 1));
  await write(database, events, [openEvent]);
  for (let told = 0; told < 50; told += 1) changes.tell("outbox_events", { isOwn: false });
  expect({ commits, looks }).toEqual({ commits: 51, looks: 0 });
  await vi.waitFor(() => expect(looks).toBe(1), 2000);
  await write(database, events, [openEvent]);
  await delay(300);
  expect(looks).toBe(1);
  changes.tell("outbox_events", { isOwn: false });
  await vi.waitFor(() => expect(looks).toBe(2), 2000);
});
