// @module-tag sqlite
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { createRateLimiter } from "../../src/operations/rate-limit.ts";
import { routesFor } from "../../src/operations/route.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import { limitedNetwork } from "../../src/kernel/addresses.ts";
import { authenticate, staffId, startApp } from "./support.ts";

const routes = routesFor();

const thing = `/things/${staffId}`;

function setClock(start = "2026-11-20T10:00:00.000Z") {
  let now = new Date(start);
  return { now: () => now, pass: (seconds: number) => (now = new Date(now.getTime() + seconds * 1000)) };
}

test("a bucket gives exactly its tokens and refills evenly", () => {
  const limiter = createRateLimiter("read", { count: 3, seconds: 60 });
  expect([0, 0, 0, 0].map((now) => limiter.take("a", now))).toEqual([2, 1, 0, -20]);
  expect(limiter.take("b", 0)).toBe(2);
  expect(limiter.take("a", 19_999)).toBe(-1);
  expect(limiter.take("a", 20_000)).toBe(0);
  expect(limiter.take("a", 10_000)).toBe(-20);
});

test("every limited answer says what is left, a refused one when to come back", async () => {
  const clock = setClock();
  const { ask } = await startApp({ clock, limits: { read: { count: 2, seconds: 60 } } });
  const first = await ask({ path: thing });
  expect(first.headers).toMatchObject({ "ratelimit-policy": '"read";q=2;w=60', ratelimit: '"read";r=1;t=30' });
  await ask({ path: thing });
  const refused = await ask({ path: thing });
  expect(refused).toMatchObject({
    status: 429,
    json: { code: "rate_limited", retryable: true },
    headers: { "retry-after": "30", ratelimit: '"read";r=0;t=60' },
  });
  clock.pass(30);
  expect((await ask({ path: thing })).status).toBe(200);
});

test("keys, acting users and classes have limits of their own", async () => {
  const { ask } = await startApp({ limits: { read: { count: 1, seconds: 3600 } } });
  expect((await ask({ path: thing })).status).toBe(200);
  expect((await ask({ path: thing })).status).toBe(429);
  expect((await ask({ path: thing, key: "key-read" })).status).toBe(200);
  expect((await ask({ path: thing, headers: { "X-Acting-User": staffId } })).status).toBe(200);
  expect((await ask({ method: "POST", path: "/things", body: { owner_id: staffId, name: "a" } })).status).toBe(201);
});

test("only failed credentials count against an address, and then wrong keys are refused without a look-up and right ones are not", async () => {
  const suspected: unknown[] = [];
  const clock = setClock();
  const { ask } = await startApp({
    clock,
    limits: { failed_auth: { count: 2, seconds: 60 } },
    authenticate: async (credentials) => {
      suspected.push(credentials.isSuspect);
      return authenticate(credentials);
    },
  });
  for (let count = 0; count < 5; count += 1) expect((await ask({ path: thing })).status).toBe(200);
  for (let count = 0; count < 2; count += 1) expect((await ask({ path: thing, key: "wrong" })).status).toBe(401);
  expect(new Set(suspected.splice(0))).toEqual(new Set([false]));
  const refused = await ask({ path: thing, key: "wrong" });
  expect(refused).toMatchObject({
    status: 429,
    headers: { "retry-after": "30", "ratelimit-policy": '"failed_auth";q=2;w=60', ratelimit: '"failed_auth";r=0;t=60' },
  });
  expect((await ask({ path: thing, key: null })).status).toBe(429);
  expect((await ask({ path: thing })).status).toBe(200);
  expect(new Set(suspected.splice(0))).toEqual(new Set([true]));
  clock.pass(31);
  expect((await ask({ path: thing, key: "wrong" })).status).toBe(401);
});

test("an IPv6 address is limited together with its /64 network, in whatever way it is written", async () => {
  const { ask } = await startApp({ trustedProxies: ["127.0.0.1"], limits: { read: { count: 2, seconds: 3600 } } });
  const from = async (address: string) => (await ask({ path: "/openapi.json", key: null, headers: { "x-forwarded-for": address } })).status;
  expect([await from("2001:db8:0:1::1"), await from("2001:DB8::1:ffff:0:0:2"), await from("2001:db8:0:1:9::")]).toEqual([200, 200, 429]);
  expect([await from("2001:db8:0:2::1"), await from("198.51.100.1"), await from("::1")]).toEqual([200, 200, 200]);
});

test("a network holds the addresses that share its first 64 bits, and no others", () => {
  const group = fc.nat(0xffff);
  const text = (groups: readonly number[]) => new URL(`http://[${groups.map((one) => one.toString(16)).join(":")}]`).hostname.slice(1, -1);
  fc.assert(
    fc.property(
      fc.tuple(group, group, group, group),
      fc.tuple(group, group, group, group),
      fc.tuple(group, group),
      (network, host, [a, b]) => {
        const address = text([...network, ...host]);
        expect(limitedNetwork(address)).toBe(limitedNetwork(text([...network, a, b, 0, 0])));
        expect(limitedNetwork(address)).toBe(
          limitedNetwork([...network, ...host].map((one) => one.toString(16).padStart(4, "0")).join(":")),
        );
        const other = network.with(3, network[3] ^ 1);
        expect(limitedNetwork(text([...other, ...host]))).not.toBe(limitedNetwork(address));
      },
    ),
  );
  expect(["203.0.113.9", "", "nonsense"].map((address) => limitedNetwork(address))).toEqual(["203.0.113.9", "", "nonsense"]);
  expect(["::", "fe80::1%eth0", "64:ff9b::198.51.100.1"].map((address) => limitedNetwork(address))).toEqual([
    "0:0:0:0::/64",
    "fe80:0:0:0::/64",
    "64:ff9b:0:0::/64",
  ]);
});

test("a public route is limited by address", async () => {
  const { ask } = await startApp({ limits: { read: { count: 1, seconds: 3600 } } });
  expect((await ask({ path: "/openapi.json", key: null })).status).toBe(200);
  expect((await ask({ path: "/openapi.json", key: null })).status).toBe(429);
});

test("a route may be limited by the person it is about, however many keys ask", async () => {
  const authorize = routes.post("/authorize/sessions", "openSession", {
    summary: "Open a session",
    access: { permission: "cases.create" },
    limit: "authorize",
    limitSubject: ({ body }) => body.user_id,
    request: { body: z.object({ user_id: z.string() }) },
    success: { status: 201, shape: "flat", schema: z.object({ success: z.literal(true) }), description: "Opened" },
    handle: async () => ({ success: true as const }),
  });
  const { ask } = await startApp({ routes: [authorize], limits: { authorize: { count: 2, seconds: 3600 } } });
  const open = (user: string, actor: string) =>
    ask({ method: "POST", path: "/authorize/sessions", body: { user_id: user }, headers: { "X-Acting-User": actor } });
  const statuses = [];
  for (const actor of [1, 2, 3]) statuses.push((await open("one", `8035111022467891${actor}`)).status);
  expect(statuses).toEqual([201, 201, 429]);
  expect((await open("two", "80351110224678914")).status).toBe(201);
});

/** A route whose answers wait until the test lets them go. */
function heldRoute() {
  const held: (() => void)[] = [];
  const holding = routesFor().get("/held", "hold", {
    summary: "Held",
    access: { permission: "cases.read" },
    success: { status: 200, shape: "flat", schema: z.object({ success: z.boolean() }), description: "Released" },
    handle: () => new Promise<{ success: boolean }>((resolve) => held.push(() => resolve({ success: true }))),
  });
  const reached = async (count: number): Promise<void> => {
    for (const deadline = Date.now() + 5000; held.length < count;) {
      if (Date.now() > deadline) throw new Error(`only ${held.length} requests arrived`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { holding, reached, release: () => held.splice(0).forEach((letGo) => letGo()) };
}

test("beyond the cap requests wait, beyond the queue they are refused at once", async () => {
  const { holding, reached, release } = heldRoute();
  const { ask } = await startApp({ routes: [holding], gate: { places: 1, waiting: 1 } });
  const first = ask({ path: "/held" });
  await reached(1);
  const others = [ask({ path: "/held" }), ask({ path: "/held" })];
  const refused = await Promise.race(others);
  expect(refused).toMatchObject({ status: 503, json: { code: "overloaded" }, headers: { "retry-after": "1" } });
  release();
  expect((await first).status).toBe(200);
  await reached(1);
  release();
  expect(new Set((await Promise.all(others)).map(({ status }) => status))).toEqual(new Set([200, 503]));
});

test("closing finishes the requests in work and refuses new ones", async () => {
  const { holding, reached, release } = heldRoute();
  const { ask, server } = await startApp({ routes: [holding] });
  // A client that would go on with its connection: the answer says that it ends, and closing waits for no other end of it.
  const inWork = ask({ path: "/held", headers: { connection: "keep-alive" } });
  await reached(1);
  const closed = server.close();
  await expect(ask({ path: "/held" })).rejects.toThrow(/ECONNREFUSED/);
  release();
  expect(await inWork).toMatchObject({ status: 200, headers: { connection: "close" } });
  await closed;
});

test("closing gives up on requests that never end", async () => {
  const { holding, reached } = heldRoute();
  const { ask, server } = await startApp({ routes: [holding] }, { close: 50 });
  const inWork = ask({ path: "/held" }).catch((error: unknown) => error);
  await reached(1);
  await server.close();
  expect(await inWork).toBeInstanceOf(Error);
});

test("while shutting down, an open connection is told so and closed", async () => {
  const { ask } = await startApp({ isShuttingDown: () => true });
  expect(await ask({ path: thing })).toMatchObject({
    status: 503,
    json: { code: "shutting_down" },
    headers: { connection: "close", "retry-after": "5" },
  });
});

test("credentials that take time are waited for", async () => {
  const { ask } = await startApp({
    authenticate: async (credentials) => {
      await new Promise((resolve) => setImmediate(resolve));
      if (credentials.presented === "late") throw new ProblemError("credential_expired");
      return authenticate(credentials);
    },
  });
  expect((await ask({ path: thing })).status).toBe(200);
  expect((await ask({ path: thing, key: "late" })).json).toMatchObject({ status: 401, code: "credential_expired" });
});
