// @module-tag postgres
// @module-tag slow
import { connect, type Socket } from "node:net";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { knownPermissions } from "../../src/kernel/permissions.ts";
import { eventTypes } from "../../src/features/events/types.ts";
import type { Tx } from "../../src/database/database.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { everyRow, shareWorld } from "../contract/world.ts";
import { createWorld, type World } from "../support/world.ts";
import type { User } from "../../sandbox/index.ts";
import { emit, listen, openEvent, type Listener } from "./events-listener.ts";

const job = () => systemCall("job", uuid7());
const numbersOf = (first: number, count: number): number[] => Array.from({ length: count }, (_, index) => first + index);

const shared = shareWorld();

/** The shared world with a key that nobody else listens with: only so many may listen with one. */
async function guest(): Promise<World> {
  return { ...shared.world, key: await shared.world.makeKey(["*"]) };
}

/** The number of the newest event, written or not followed. */
async function newest(world: World): Promise<number> {
  const { _max } = await world.app.database.read.outboxEvent.aggregate({ _max: { seq: true } });
  return _max.seq ?? 0;
}

/** Every row but those that the gateway writes by itself. */
async function ownRows(world: World): Promise<object> {
  const { Guild: _guilds, GuildMember: _members, GuildRole: _roles, ...rows } = await everyRow(world);
  return rows;
}

describe("a stream", () => {
  test("shows events in the order of their numbers, and following writes nothing", async () => {
    const world = await guest();
    const before = await ownRows(world);
    const listener = await listen(world);
    expect(listener.headers).toMatchObject({ "content-type": "text/event-stream", "cache-control": "no-store", connection: "close" });
    const start = await newest(world);
    expect(listener.frames).toEqual([{ retry: "3000", id: start.toString() }]);
    expect(await ownRows(world)).toEqual(before);

    await emit(world, openEvent({ user_id: "1" }), { type: "api_key.created", data: { id: "2" } });
    await emit(world, openEvent({ user_id: "3", text: "two\nlines" }));
    await listener.until(() => listener.seqs().length === 3);
    expect(listener.types()).toEqual(["owner.changed", "api_key.created", "owner.changed"]);
    const rows = await world.app.database.read.outboxEvent.findMany({ where: { seq: { gt: start } }, orderBy: { seq: "asc" } });
    expect(listener.frames.slice(1)).toEqual(
      rows.map(({ seq, id, at, type, data }) => ({
        id: seq.toString(),
        event: type,
        data: { seq, id, at: at.toISOString(), type, data },
      })),
    );
    expect(rows.map(({ seq }) => seq)).toEqual(numbersOf(start + 1, 3));
  });

  test("goes on where the client stood, without loss or repetition, while eight writers commit at once", async () => {
    const world = await guest();
    const [writers, each] = [8, 25];
    const start = await newest(world);
    const steady = await listen(world);
    const seen: number[] = [];
    let hops = 0;
    /** Leaves after a few events each time and comes back. */
    const hop = async (): Promise<void> => {
      let position = start.toString();
      while (seen.length < writers * each) {
        const listener = await listen(world, { lastEventId: position, atMost: 7 });
        await listener.until(() => listener.seqs().length === 7 || seen.length + listener.seqs().length >= writers * each);
        listener.leave();
        seen.push(...listener.seqs());
        position = listener.position();
        hops += 1;
      }
    };
    const write = async (): Promise<void> => {
      for (let count = 0; count < each; count += 1) await emit(world, openEvent());
    };
    await Promise.all([hop(), ...Array.from({ length: writers }, write)]);
    await steady.until(() => steady.seqs().length >= writers * each);
    const all = numbersOf(start + 1, writers * each);
    expect(seen).toEqual(all);
    expect(steady.seqs()).toEqual(all);
    expect(hops).toBe(Math.ceil((writers * each) / 7));
    const late = await listen(world, { query: `?after=${start.toString()}` });
    await late.until(() => late.seqs().length >= all.length);
    expect(late.seqs()).toEqual(all);
    expect([...steady.types(), ...late.types()]).not.toContain("gap");
  });

  test("knows nothing of a write that came to nothing, which leaves no hole in the numbers either", async () => {
    const world = await guest();
    const start = await newest(world);
    const listener = await listen(world);
    const { database, events } = world.app;
    const fail = async (): Promise<void> => {
      throw new Error("no");
    };
    const doomed = [
      async (tx: Tx) => {
        events.emit(tx, openEvent({ doomed: true }));
        await fail();
      },
      async (tx: Tx) => {
        events.emit(tx, openEvent({ doomed: true }));
        // Fails when its event has its number already.
        tx.beforeCommit(fail);
      },
    ];
    for (const work of doomed) await expect(database.write(job(), work)).rejects.toThrow("no");
    await emit(world, openEvent());
    await listener.until(() => listener.seqs().length > 0);
    expect(listener.seqs()).toEqual([start + 1]);
    expect(await world.app.database.read.outboxEvent.count({ where: { seq: { gt: start } } })).toBe(1);
  });

  test("survives a restart of the service: what happened in between comes first", async () => {
    const world = await createWorld();
    const listener = await listen(world);
    await emit(world, openEvent({ number: 1 }));
    await listener.until(() => listener.seqs().length === 1);
    await world.restart();
    expect(await listener.ended).toBe("end");
    await emit(world, openEvent({ number: 2 }));
    const back = await listen(world, { lastEventId: listener.position() });
    await emit(world, openEvent({ number: 3 }));
    await back.until(() => back.seqs().length === 2);
    expect(back.frames.flatMap(({ data }) => (data === undefined ? [] : [data.data]))).toEqual([{ number: 2 }, { number: 3 }]);
  });

  test("tells of what the doors did, once each: a refused or repeated request tells of nothing", async () => {
    const world = await guest();
    const [owner, viewer] = [await world.staff("owner"), await world.staff("viewer")];
    const listener = await listen(world);
    const role = { name: "Helper", rank: 5, level: "viewer", discord: [] };
    const put = (actor: User, turn: string) =>
      world.put("/staffroles/helper", { ...role, name: turn }, { actor, headers: { "idempotency-key": `turn-${turn}` } });
    expect((await put(viewer, "refused")).status).toBe(403);
    for (const turn of ["first", "first", "second"]) expect((await put(owner, turn)).body).toMatchObject({ success: true });
    const made = await world.post("/keys", { name: "bot", scopes: ["staff.read"], delegation: "none" }, { actor: owner });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    await listener.until(() => listener.types().includes("api_key.created"));
    expect(listener.types()).toEqual(["staff_role.changed", "staff_role.changed", "api_key.created"]);
    expect(listener.frames.at(-1)?.data.data.id).toBe(made.body.data.id);
    expect(JSON.stringify(listener.frames)).not.toContain(made.body.data.key);
  });

  test("shows the types asked for, by name and by prefix", async () => {
    const world = await guest();
    const listener = await listen(world, { query: "?types=permission.changed,%20api_key.*" });
    await emit(world, openEvent(), { type: "api_key.rotated", data: {} }, openEvent(), { type: "permission.changed", data: {} });
    await emit(world, { type: "api_key.created", data: {} });
    await listener.until(() => listener.types().includes("api_key.created"));
    expect(listener.types()).toEqual(["api_key.rotated", "permission.changed", "api_key.created"]);
  });
});

describe("who may not see an event", () => {
  const secrets = Object.keys(eventTypes).filter((type) => type.startsWith("api_key.")) as (keyof typeof eventTypes)[];

  test("is not told of it: neither a viewer, nor a key without the scope, live or afterwards", async () => {
    const world = await guest();
    const [viewer, owner] = [await world.staff("viewer"), await world.staff("owner")];
    const narrow = await world.makeKey(["staff.read", "staff.access.read"]);
    const start = await newest(world);
    const ways = [{ actor: viewer }, { actor: owner, key: narrow }, { key: narrow }, { actor: owner }];
    const live = await Promise.all(ways.map((way) => listen(world, way)));
    await emit(
      world,
      ...secrets.map((type) => ({ type, data: { name: "hidden" } })),
      { type: "permission.changed", data: {} },
      openEvent(),
    );
    const replayed = await Promise.all(ways.map((way) => listen(world, { ...way, query: `?after=${start.toString()}` })));
    for (const listeners of [live, replayed]) {
      await Promise.all(listeners.map((listener) => listener.until(() => listener.types().includes("owner.changed"))));
      expect(listeners.map((listener) => listener.types())).toEqual([
        ["permission.changed", "owner.changed"],
        ["owner.changed"],
        ["owner.changed"],
        [...secrets, "permission.changed", "owner.changed"],
      ]);
      expect(JSON.stringify(listeners.slice(0, 3).map(({ frames }) => frames))).not.toContain("hidden");
    }
  });

  test("sees no more from the moment the person loses the permission, and more from the moment they get it", async () => {
    const world = await guest();
    const [falling, rising] = [await world.staff("owner"), await world.staff("viewer")];
    const [down, up] = [await listen(world, { actor: falling }), await listen(world, { actor: rising })];
    await emit(world, { type: "api_key.created", data: { turn: 1 } });
    await down.until(() => down.seqs().length === 1);
    world.guild.setRoles(falling, [world.roles.viewer]);
    world.guild.setRoles(rising, [world.roles.owner]);
    const { access } = world.app;
    await world.sandbox.waitFor(() => access.of(falling.id).level === "viewer" && access.of(rising.id).level === "owner");
    await emit(world, { type: "api_key.created", data: { turn: 2 } }, openEvent());
    await Promise.all([down, up].map((listener) => listener.until(() => listener.types().includes("owner.changed"))));
    expect(down.frames.flatMap(({ data }) => data?.data.turn ?? [])).toEqual([1]);
    expect(up.frames.flatMap(({ data }) => data?.data.turn ?? [])).toEqual([2]);

    world.guild.kick(falling);
    await world.sandbox.waitFor(() => !access.of(falling.id).isStaff);
    await emit(world, openEvent({ turn: 3 }));
    await up.until(() => up.frames.some(({ data }) => data?.data.turn === 3));
    expect(JSON.stringify(down.frames)).not.toContain('"turn":3');
  });

  test("is refused at the door like everywhere, and for a filter that would stay silent", async () => {
    const world = await guest();
    const viewer = await world.staff("viewer");
    const refusals: [Parameters<World["get"]>, object][] = [
      [["/events", { key: null }], { status: 401, code: "invalid_credentials" }],
      [["/events", { actor: world.member() }], { status: 403, code: "acting_user_not_staff" }],
      [["/events", { key: await world.makeKey(["permissions.read"]) }], { status: 403, required: "staff.read", missing_in: "key" }],
      [["/events?types=api_key.*", { actor: viewer }], { status: 403, required: "clients.manage", missing_in: "acting_user" }],
      [["/events?types=owner.changed,nonsense"], { status: 422, errors: [{ in: "query", pointer: "/types" }] }],
      [["/events?types=api_*"], { status: 422, errors: [{ in: "query", pointer: "/types" }] }],
      [["/events?types="], { status: 422, errors: [{ in: "query", pointer: "/types" }] }],
      [["/events?after=-1"], { status: 422, errors: [{ in: "query", pointer: "/after" }] }],
      [["/events?type=owner.changed"], { status: 400, code: "unknown_parameter" }],
      [["/events", { headers: { accept: "application/json" } }], { status: 406, code: "not_acceptable" }],
    ];
    for (const [asked, refusal] of refusals) expect((await world.get(...asked)).body).toMatchObject(refusal);
    expect((await world.get("/events?types=api_key.*,owner.changed", { actor: viewer })).status).toBe(200);
  });
});

describe("a position", () => {
  test("that is too old or unknown starts with the oldest event kept, and a gap says so", async () => {
    const world = await createWorld();
    await emit(world, ...numbersOf(0, 6).map((turn) => openEvent({ turn })));
    const last = await newest(world);
    const [oldest, long] = [last - 2, new Date(Date.now() - 8 * 86_400_000)];
    await world.app.database.write(job(), async ({ db }) => {
      await db.outboxEvent.updateMany({ where: { seq: { lt: oldest } }, data: { at: long } });
    });
    expect(await world.app.events.sweep(job())).toBe(oldest - 1);
    expect(await world.app.events.sweep(job())).toBe(0);
    const kept = numbersOf(oldest, 3);
    const first = async (lastEventId: string): Promise<Listener> => {
      const listener = await listen(world, { lastEventId });
      await listener.until(() => listener.seqs().includes(last));
      return listener;
    };
    const positions = [
      ["1", { after: 1, next: oldest }],
      ["0", { after: 0, next: oldest }],
      [(last + 1).toString(), { after: null, next: oldest }],
      ["999999999999999999999", { after: null, next: oldest }],
      ["a word", { after: null, next: oldest }],
    ] as const;
    for (const [position, gap] of positions) {
      const listener = await first(position);
      const [told, ...events] = listener.frames.slice(1);
      expect([position, told]).toEqual([position, { event: "gap", data: gap }]);
      expect(events.map(({ data }) => data.seq)).toEqual(kept);
      listener.leave();
    }
    const whole = await first((oldest - 1).toString());
    expect(whole.seqs()).toEqual(kept);
    expect(whole.types()).not.toContain("gap");
    whole.leave();
  });

  test("in the header goes before the one in the address, which a browser repeats when it comes back", async () => {
    const world = await guest();
    const start = await newest(world);
    await emit(world, openEvent(), openEvent());
    const listener = await listen(world, { query: `?after=${start.toString()}`, lastEventId: (start + 1).toString() });
    await listener.until(() => listener.seqs().length > 0);
    expect(listener.seqs()).toEqual([start + 2]);
  });
});

describe("the sweep", () => {
  test("keeps the newest event however old, and makes no hole where the clock was put back", async () => {
    const world = await createWorld();
    await emit(world, ...numbersOf(0, 4).map(() => openEvent()));
    const last = await newest(world);
    const long = new Date(Date.now() - 30 * 86_400_000);
    const age = (seqs: number[]) =>
      world.app.database.write(job(), ({ db }) => db.outboxEvent.updateMany({ where: { seq: { in: seqs } }, data: { at: long } }));
    await age([last - 1]);
    expect(await world.app.events.sweep(job())).toBe(0);
    await age(numbersOf(1, last));
    expect(await world.app.events.sweep(job())).toBe(last - 1);
    expect(await world.app.database.read.outboxEvent.findMany({ select: { seq: true } })).toEqual([{ seq: last }]);
    await emit(world, openEvent());
    expect(await newest(world)).toBe(last + 1);
  });

  test("deletes a bounded part at a time", async () => {
    const world = await createWorld();
    const at = new Date(Date.now() - 30 * 86_400_000);
    const first = (await newest(world)) + 1;
    const data = numbersOf(first, 6000).map((seq) => ({ seq, id: uuid7(), at, type: "owner.changed", permission: "staff.read", data: {} }));
    await world.app.database.write(job(), async ({ db }) => {
      await db.outboxEvent.deleteMany();
      await db.outboxEvent.createMany({ data });
    });
    expect([await world.app.events.sweep(job()), await world.app.events.sweep(job())]).toEqual([5000, 999]);
  });
});

describe("open streams", () => {
  test("are five for one key and a hundred in all; a place is free again when its client leaves", async () => {
    const world = await createWorld();
    const keys = await Promise.all(numbersOf(0, 20).map(() => world.makeKey(["*"])));
    const opened = await Promise.all(keys.flatMap((key) => numbersOf(0, 5).map(() => listen(world, { key }))));
    expect(opened.map(({ status }) => status)).toEqual(opened.map(() => 200));
    const sixth = await listen(world, { key: keys[0] ?? "" });
    expect([sixth.problem.code, sixth.headers["retry-after"]]).toEqual(["rate_limited", "15"]);
    const another = await listen(world);
    expect([another.status, another.problem.code, another.headers["retry-after"]]).toEqual([503, "overloaded", "15"]);
    expect((await world.get("/staff")).status).toBe(200);

    opened[0]?.leave();
    let again = await listen(world, { key: keys[0] ?? "" });
    for (let tries = 0; tries < 100 && again.status !== 200; tries += 1) again = await listen(world, { key: keys[0] ?? "" });
    expect(again.status).toBe(200);
    await emit(world, openEvent());
    const live = [...opened.slice(1), again];
    await Promise.all(live.map((listener) => listener.until(() => listener.seqs().length === 1)));
  });

  test("are not opened by HEAD", async () => {
    const world = await guest();
    for (let count = 0; count < 12; count += 1) {
      const { status, headers, body } = await world.request("HEAD", "/events");
      expect([status, headers.get("content-type"), body]).toEqual([200, "text/event-stream", ""]);
    }
    for (let count = 0; count < 12; count += 1) {
      const response = await world.app.http.fetch(
        new Request("http://localhost/events", { method: "HEAD", headers: { authorization: `Bearer ${world.key}` } }),
      );
      expect([response.status, response.body]).toEqual([200, null]);
    }
    expect((await listen(world)).status).toBe(200);
  });

  test("of a revoked key end; those of others go on", async () => {
    const world = await guest();
    const [key, other] = [await world.makeKey(["*"]), await world.makeKey(["*"])];
    const { id } = await world.app.database.read.apiKey.findFirstOrThrow({ orderBy: { id: "desc" }, skip: 1 });
    const [doomed, spared] = [await listen(world, { key }), await listen(world, { key: other })];
    await world.app.keys.revoke(systemCall("cli", uuid7()), id);
    await emit(world, openEvent({ after: true }));
    expect(await doomed.ended).toBe("end");
    await spared.until(() => spared.types().includes("owner.changed"));
    expect(doomed.seqs()).toEqual([]);
    expect((await listen(world, { key })).problem.code).toBe("credential_revoked");
  });

  test("end at once and in good order when the service stops, beside a reader that takes nothing and a connection that says nothing", async () => {
    const world = await createWorld();
    const listeners = await Promise.all(numbersOf(0, 2).map(() => listen(world)));
    const stuck = await openStuck(world, world.key);
    // More than the system's own buffers take for the reader that takes nothing.
    for (let batch = 0; batch < 8; batch += 1) await emit(world, ...numbersOf(0, 40).map(() => openEvent({ text: "x".repeat(64_000) })));
    await Promise.all(listeners.map((listener) => listener.until(() => listener.seqs().length === 320)));
    const silent = await openConnection(world);
    const start = performance.now();
    await world.restart();
    expect(await Promise.all(listeners.map(({ ended }) => ended))).toEqual(listeners.map(() => "end"));
    expect(performance.now() - start).toBeLessThan(20_000);
    for (const socket of [stuck, silent]) socket.destroy();
  });

  test("of a reader that takes nothing are cut off; others miss nothing", async () => {
    const world = await createWorld();
    const key = await world.makeKey(["*"]);
    const start = await newest(world);
    const others = await Promise.all(numbersOf(0, 4).map(() => listen(world, { key })));
    const stuck = await openStuck(world, key);
    expect((await listen(world, { key })).problem.code).toBe("rate_limited");
    const text = "x".repeat(9000);
    let written = 0;
    let late = await listen(world, { key });
    while (late.status !== 200 && written < 6000) {
      await emit(world, ...numbersOf(0, 200).map(() => openEvent({ text })));
      written += 200;
      late = await listen(world, { key });
    }
    expect(late.status).toBe(200);
    expect(written).toBeGreaterThanOrEqual(1000);
    await Promise.all(others.map((listener) => listener.until(() => listener.seqs().length >= written)));
    for (const listener of others) expect(listener.seqs()).toEqual(numbersOf(start + 1, written));
    stuck.destroy();
  });
});

async function openConnection(world: World): Promise<Socket> {
  const socket = connect(Number(new URL(world.url).port), "127.0.0.1");
  await new Promise((resolve) => socket.on("error", () => undefined).once("connect", resolve));
  return socket;
}

/** A client that asks for events and reads no byte after the head of the answer. */
async function openStuck(world: World, key: string): Promise<Socket> {
  const socket = await openConnection(world);
  socket.write(`GET /events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  await new Promise<void>((resolve) => socket.once("data", () => resolve(void socket.pause())));
  return socket;
}

describe("the table of types", () => {
  test("names permissions of the catalog", () => {
    for (const { permission } of Object.values(eventTypes)) expect(knownPermissions).toContain(permission);
  });

  test("is the one in the documentation", () => {
    const text = readFileSync(new URL("../../docs/events.md", import.meta.url), "utf8");
    const rows = [...text.matchAll(/^\| `([a-z_.]+)` +\| `([a-z_.]+)` +\| (.+?) +\|$/gm)].map(([, type, permission, description]) => [
      type,
      { permission, description },
    ]);
    expect(rows).toEqual(Object.entries(eventTypes));
  });
});
