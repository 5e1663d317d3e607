// @module-tag sqlite
// @module-tag slow
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { routesFor } from "../../src/operations/route.ts";
import type { ServerTimeouts } from "../../src/http/listen.ts";
import { startApp } from "./support.ts";

const routes = routesFor();

const megabyte = Buffer.alloc(1024 * 1024, "x");
/** Short enough that thousands fit into what is read at once. */
const asking = "GET /big HTTP/1.1\r\nHost: a\r\n\r\n";

/** A public route with a large answer; it counts how often it was asked, and each answer holds its number. */
async function startBig(timeouts: Partial<ServerTimeouts> = {}, limits: Parameters<typeof startApp>[0] = {}) {
  const begun: number[] = [];
  const big = routes.get("/big", "getBig", {
    summary: "Much",
    access: { public: true },
    success: { status: 200, shape: "raw", schema: z.string(), description: "Much" },
    handle: async () => {
      begun.push(begun.length);
      return { body: Buffer.concat([Buffer.from(`#${begun.length.toString()};`), megabyte]) };
    },
  });
  return { begun, ...(await startApp({ routes: [big], ...limits }, timeouts)) };
}

/** The same address, where every answer waits until it is let go. */
async function startSlow() {
  let begun = 0;
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  onTestFinished(() => release());
  const slow = routes.get("/big", "getBig", {
    summary: "Late",
    access: { public: true },
    success: { status: 200, shape: "raw", schema: z.string(), description: "Late" },
    handle: async () => {
      begun += 1;
      await released;
      return { body: "late" };
    },
  });
  return { begun: () => begun, release: () => release(), ...(await startApp({ routes: [slow] })) };
}

async function open(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return socket;
}

test("500 requests sent without waiting are answered each, in their order", async () => {
  const { begun, port } = await startBig();
  const socket = await open(port);
  const numbers: number[] = [];
  let rest = "";
  socket.on("data", (chunk: Buffer) => {
    const text = rest + chunk.toString("latin1");
    for (const [, number] of text.matchAll(/#(\d+);/g)) numbers.push(Number(number));
    // A number may come in two chunks.
    rest = /#\d*$/.exec(text)?.[0] ?? "";
  });
  socket.write(asking.repeat(500));
  await vi.waitFor(() => expect(numbers).toHaveLength(500), 60_000);
  expect(numbers).toEqual(Array.from({ length: 500 }, (_, index) => index + 1));
  expect(begun).toHaveLength(500);
});

test("of what is sent without reading only a few are begun, others are served meanwhile, and whoever reads gets the rest", async () => {
  const { begun, port, ask } = await startBig();
  const socket = await open(port);
  socket.pause();
  socket.write(asking.repeat(500));
  await sleep(200);
  const first = begun.length;
  // A few in work, and those whose answers the system holds for the reader.
  expect(first).toBeLessThan(40);
  expect((await ask({ path: "/nowhere" })).status).toBe(404);
  await sleep(100);
  expect(begun).toHaveLength(first);
  socket.resume();
  await vi.waitFor(() => expect(begun).toHaveLength(500), 60_000);
});

test("what waits for its turn is not even parsed, but for the few requests that came in one piece", async () => {
  let parsed = 0;
  const count = () => (parsed += 1);
  subscribe("http.server.request.start", count);
  onTestFinished(() => void unsubscribe("http.server.request.start", count));
  const { begun, port, release } = await startSlow();
  const socket = await open(port);
  socket.write(asking.repeat(500));
  await vi.waitFor(() => expect(begun()).toBe(1), 60_000);
  await sleep(100);
  expect(parsed).toBeGreaterThan(1);
  expect(parsed).toBeLessThan(50);
  // The server waits for what it has begun before it stops.
  release();
});

test("nothing is begun after an answer that ends its connection", async () => {
  const { begun, port } = await startBig();
  const socket = await open(port);
  socket.write("POST /big HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n");
  const [received] = (await once(socket, "data")) as [Buffer];
  expect(received.toString("latin1").toLowerCase()).toMatch(/^http\/1\.1 405 [^]*\r\nconnection: close\r\n/);
  socket.write(`0\r\n\r\n${asking}`);
  await once(socket, "close");
  expect(begun).toHaveLength(0);
});

test("a body that comes after requests which wait is read when its turn has come", async () => {
  const { port } = await startBig();
  const socket = await open(port);
  let received = "";
  socket.on("data", (chunk: Buffer) => (received = (received + chunk.toString("latin1")).slice(-2000)));
  socket.pause();
  socket.write(`${asking.repeat(40)}POST /big HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 20000\r\n\r\n`);
  socket.write(" ".repeat(20_000));
  socket.write("GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  await sleep(100);
  socket.resume();
  await once(socket, "end");
  expect(received).toContain("HTTP/1.1 405");
  expect(received).toContain("HTTP/1.1 404");
});

test("who sends more than can wait is cut off, and nobody else is", async () => {
  const { begun, port, ask, release } = await startSlow();
  const hostile = await Promise.all(Array.from({ length: 200 }, () => open(port)));
  let ended = 0;
  for (const socket of hostile) {
    socket.on("error", () => undefined);
    socket.on("close", () => (ended += 1));
    socket.write(asking.repeat(100));
  }
  await vi.waitFor(() => expect(ended).toBeGreaterThan(20), 60_000);
  expect(ended).toBeLessThan(120);
  // Of each connection one is in work.
  expect(begun()).toBeLessThanOrEqual(hostile.length);
  const innocent = await Promise.all(Array.from({ length: 20 }, () => ask({ path: "/nowhere" })));
  expect(new Set(innocent.map(({ status }) => status))).toEqual(new Set([404]));
  for (const socket of hostile) socket.destroy();
  release();
});

test("of a client that left nothing is begun that waited", async () => {
  const { begun, port, ask, release } = await startSlow();
  const socket = await open(port);
  socket.write(asking.repeat(500));
  await vi.waitFor(() => expect(begun()).toBe(1), 60_000);
  socket.destroy();
  await sleep(50);
  release();
  expect((await ask({ path: "/nowhere" })).status).toBe(404);
  await sleep(50);
  expect(begun()).toBe(1);
});

test("who sends on without waiting beyond the limit is told once, and cut off", async () => {
  const { begun, port, ask } = await startBig({}, { limits: { read: { count: 5, seconds: 3600 } } });
  const socket = await open(port);
  let received = "";
  socket.on("error", () => undefined);
  socket.on("data", (chunk: Buffer) => (received += chunk.toString("latin1").replaceAll("x", "")));
  socket.write(asking.repeat(500));
  await once(socket, "close");
  expect(begun).toHaveLength(5);
  // Those in work together with the first that is refused are refused as well.
  const refused = received.split("HTTP/1.1 429").length - 1;
  expect([refused > 0, refused < 20]).toEqual([true, true]);
  // One request after the other is told as often as it asks.
  for (let count = 0; count < 3; count += 1) expect((await ask({ path: "/big", key: null })).status).toBe(429);
});

test("an answer that nobody takes ends its connection in time, one that is taken slowly does not", async () => {
  const { port } = await startBig({ unread: 1500, check: 100 });
  const [idle, slow] = [await open(port), await open(port)];
  let taken = 0;
  slow.on("data", (chunk: Buffer) => {
    taken += chunk.length;
    slow.pause();
    setTimeout(() => slow.resume(), 5);
  });
  idle.pause();
  const ended = once(idle, "close");
  idle.on("error", () => undefined);
  idle.write(asking.repeat(20));
  slow.write(asking.repeat(4));
  await sleep(2500);
  idle.resume();
  await ended;
  await vi.waitFor(() => expect(taken).toBeGreaterThan(4 * megabyte.length), 60_000);
  expect(slow.destroyed).toBe(false);
});

test.each([
  ["asks for a tunnel", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n"],
  ["cannot be parsed", "GET\u0000/ HTTP/1.1\r\nHost: a\r\n"],
])("what comes in the same bytes after a request that %s ends nothing but its connection", async (_, head) => {
  const { begun, port } = await startBig();
  const failures: unknown[] = [];
  const note = (error: unknown): void => void failures.push(error);
  process.prependListener("uncaughtException", note);
  onTestFinished(() => void process.removeListener("uncaughtException", note));
  // The next request begins where the parser takes the next piece.
  const filler = `X-Filler: ${"x".repeat(1024 - head.length - "X-Filler: \r\n\r\n".length)}\r\n\r\n`;
  const socket = await open(port);
  socket.on("error", () => undefined).resume();
  socket.write(head + filler + asking.repeat(200));
  await once(socket, "close");
  expect(failures).toEqual([]);
  expect(begun).toEqual([]);
  const answer = await fetch(`http://127.0.0.1:${port.toString()}/big`);
  expect(answer.status).toBe(200);
  await answer.body?.cancel();
});
