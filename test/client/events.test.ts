// @module-tag postgres
// @module-tag slow
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { createProvostClient, ProvostError, type EventGap, type ProvostClient, type ServiceEvent } from "../../client/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { runsOf, seedOf } from "../support/size.ts";
import { createWorld, type World } from "../support/world.ts";
import { createProxy } from "./proxy.ts";

let subjects = 82_000_000_000_000_000n;
const list = (client: ProvostClient) =>
  client.POST("/blacklist", { body: { kind: "user", subject_id: (subjects += 1n).toString(), category: "raid" } });

/** Follows until it is told to leave, and keeps what comes. */
function follow(client: ProvostClient, after?: number, onPosition?: (position: number) => void) {
  const leaving = new AbortController();
  const seen: (ServiceEvent | EventGap)[] = [];
  const ended = (async () => {
    const options = { signal: leaving.signal, ...(after !== undefined && { after }), ...(onPosition !== undefined && { onPosition }) };
    for await (const event of client.events(options)) seen.push(event);
  })();
  onTestFinished(() => leaving.abort());
  return { seen, ended, leave: () => leaving.abort(), seqs: () => seen.map((event) => ("seq" in event ? event.seq : event.type)) };
}

const storedSeqs = async ({ app }: World, after: number): Promise<number[]> => {
  const rows = await app.database.read.outboxEvent.findMany({
    where: { seq: { gt: after } },
    orderBy: { seq: "asc" },
    select: { seq: true },
  });
  return rows.map(({ seq }) => seq);
};

test("over restarts of the service and lost connections every event comes once, in order", async () => {
  const world = await createWorld();
  const owner = await world.staff("owner");
  const proxy = await createProxy(world);
  const client = createProvostClient({ baseUrl: proxy.url, key: world.key, actingUser: owner.id });
  const step = fc.constantFrom("write", "restart", "lose the connection");
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 8 }), async (steps) => {
      const [start = 0] = (await storedSeqs(world, 0)).slice(-1);
      const listener = follow(client, start);
      for (const one of ["write", ...steps, "restart", "write"] as const) {
        if (one === "write") await list(client);
        else if (one === "restart") await world.restart();
        else proxy.cut();
      }
      await list(client);
      const wanted = await storedSeqs(world, start);
      await expect.poll(() => listener.seqs().length).toBeGreaterThanOrEqual(wanted.length);
      listener.leave();
      await listener.ended;
      expect(listener.seqs()).toEqual(wanted);
    }),
    { numRuns: runsOf(4), seed: seedOf(1) },
  );
});

test("who keeps the position and ends goes on after the last event that was handled", async () => {
  const world = await createWorld();
  const owner = await world.staff("owner");
  const client = createProvostClient({ baseUrl: world.url, key: world.key, actingUser: owner.id });
  let kept: number | undefined;
  const first = follow(client, undefined, (position) => (kept = position));
  // The stream begins with its position, also where nothing happens.
  await expect.poll(() => kept).toBeDefined();
  await list(client);
  await expect.poll(() => first.seen.length).toBe(1);
  await expect.poll(() => kept).toBe(first.seqs()[0]);
  first.leave();
  await first.ended;
  await list(client);
  const second = follow(client, kept);
  await expect.poll(() => second.seen.length).toBe(1);
  expect(second.seqs()).toEqual(await storedSeqs(world, kept ?? 0));
});

test("an event whose work fails is told again", async () => {
  const world = await createWorld();
  const owner = await world.staff("owner");
  const client = createProvostClient({ baseUrl: world.url, key: world.key, actingUser: owner.id });
  const positions: number[] = [];
  await list(client);
  const [seq] = (await storedSeqs(world, 0)).slice(-1);
  const after = (seq ?? 0) - 1;
  const work = async (): Promise<void> => {
    for await (const _event of client.events({ after, onPosition: (position) => void positions.push(position) }))
      throw new Error("no disk");
  };
  await expect(work()).rejects.toThrow("no disk");
  expect(positions).toEqual([after]);
  const keep = (): never => {
    throw new Error("the position cannot be kept");
  };
  const kept = async (): Promise<void> => {
    for await (const _event of client.events({ after, onPosition: keep }));
  };
  await expect(kept()).rejects.toThrow("the position cannot be kept");
});

test("a position that takes its time to be kept is waited for, one after the other", async () => {
  const world = await createWorld();
  const owner = await world.staff("owner");
  const client = createProvostClient({ baseUrl: world.url, key: world.key, actingUser: owner.id });
  await list(client);
  await list(client);
  const order: string[] = [];
  const onPosition = async (position: number): Promise<void> => {
    order.push(`keep ${position.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
    order.push(`kept ${position.toString()}`);
  };
  const handled: number[] = [];
  for await (const event of client.events({ types: ["blacklist.created"], after: 0, onPosition })) {
    if (!("seq" in event)) continue;
    order.push(`event ${event.seq.toString()}`);
    if (handled.push(event.seq) === 2) break;
  }
  const [first, second] = handled.map(String);
  expect(order.filter((one) => !one.endsWith(" 0"))).toEqual(
    expect.arrayContaining([`event ${first}`, `keep ${first}`, `kept ${first}`, `event ${second}`]),
  );
  // None begins before the last one is kept, and that of the event at which the loop was left is not told.
  expect(order.every((one, index) => !one.startsWith("keep") || order[index + 1] === one.replace("keep", "kept"))).toBe(true);
  expect(order).not.toContain(`keep ${second}`);
});

test("whoever ends the following in the middle of many events gets no further one", async () => {
  const world = await createWorld();
  const owner = await world.staff("owner");
  const client = createProvostClient({ baseUrl: world.url, key: world.key, actingUser: owner.id });
  for (let count = 0; count < 3; count++) await list(client);
  const leaving = new AbortController();
  const seen: string[] = [];
  for await (const { type } of client.events({ types: ["blacklist.*"], after: 0, signal: leaving.signal })) {
    seen.push(type);
    leaving.abort();
  }
  expect(seen).toEqual(["blacklist.created"]);
});

test("events that are no longer kept are told as a gap", async () => {
  const world = await createWorld();
  const owner = await world.staff("owner");
  const client = createProvostClient({ baseUrl: world.url, key: world.key, actingUser: owner.id });
  for (let count = 0; count < 3; count++) await list(client);
  const stored = await storedSeqs(world, 0);
  const [last = 0] = stored.slice(-1);
  await world.app.database.write(systemCall("job", uuid7()), ({ db }) => db.outboxEvent.deleteMany({ where: { seq: { lt: last } } }));
  await world.restart();
  const again = createProvostClient({ baseUrl: world.url, key: world.key, actingUser: owner.id });
  const listener = follow(again, 0);
  await expect.poll(() => listener.seen.length).toBe(2);
  expect(listener.seen[0]).toEqual({ type: "gap", after: 0, next: last });
  expect(listener.seqs()[1]).toBe(last);
});

test("only the types asked for come, and a type that does not exist ends the following with its refusal", async () => {
  const world = await createWorld();
  const owner = await world.staff("owner");
  const client = createProvostClient({ baseUrl: world.url, key: world.key, actingUser: owner.id });
  await list(client);
  const types: string[] = [];
  for await (const { type } of client.events({ types: ["blacklist.*"], after: 0 })) {
    types.push(type);
    break;
  }
  expect(types).toEqual(["blacklist.created"]);
  const wrong = async (): Promise<void> => {
    for await (const _event of client.events({ types: ["nonsense.*"] })) break;
  };
  const refusal = await wrong().catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(ProvostError);
  expect(refusal).toMatchObject({ code: "validation_failed", errors: [expect.objectContaining({ pointer: "/types" })] });
});
