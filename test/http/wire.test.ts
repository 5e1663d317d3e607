// @module-tag sqlite
import { once } from "node:events";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { expect, test } from "vitest";
import { z } from "zod";
import { routesFor } from "../../src/operations/route.ts";
import { staffId, startApp } from "./support.ts";

const routes = routesFor();

const key = "Authorization: Bearer key-all\r\n";
const end = "Connection: close\r\n\r\n";

function expectProblem(received: string, status: number, code: string): void {
  expect(received).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(received.toLowerCase()).toContain("content-type: application/problem+json");
  expect(received.toLowerCase()).toContain("connection: close");
  expect(received.toLowerCase()).toContain("x-content-type-options: nosniff");
  expect(received).toContain(`"code":"${code}"`);
}

test.each([
  ["two Host headers", "GET /things HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "malformed_request"],
  ["no Host header", "GET /things HTTP/1.1\r\n\r\n", 400, "malformed_request"],
  [
    "HTTP/1.0 with Transfer-Encoding",
    "POST /things HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    400,
    "malformed_request",
  ],
  [
    "both lengths",
    "POST /things HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    400,
    "malformed_request",
  ],
  ["no HTTP at all", "HELLO\r\n\r\n", 400, "malformed_request"],
  ["oversized headers", `GET /things HTTP/1.1\r\nHost: a\r\nX-Big: ${"x".repeat(20_000)}\r\n\r\n`, 431, "headers_too_large"],
])("%s is answered with a problem document and closed", async (_name, bytes, status, code) => {
  const { raw, ask } = await startApp();
  expectProblem(await raw(bytes), status, code);
  expect((await ask({ path: "/things" })).status).toBe(200);
});

test("slow headers are given up in time", async () => {
  const { raw } = await startApp({}, { headers: 150, request: 300, check: 25 });
  expectProblem(await raw("GET /things HTTP/1.1\r\nHost: a\r\nX-Slow: "), 408, "request_timeout");
});

test("a slow body is given up in time", async () => {
  const { raw } = await startApp({}, { headers: 150, request: 200, check: 25 });
  const head = `POST /things HTTP/1.1\r\nHost: a\r\n${key}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`;
  expect(await raw(head)).toMatch(/^(HTTP\/1\.1 (408|400) |$)/);
});

test("a flood of unreadable requests writes one log line", async () => {
  const lines: string[] = [];
  const { raw } = await startApp({ logger: pino({}, { write: (line: string) => void lines.push(line) }) });
  for (let count = 0; count < 20; count += 1) await raw("HELLO\r\n\r\n");
  expect(lines).toHaveLength(1);
});

test("a body that is not worth receiving ends the connection", async () => {
  const { raw } = await startApp();
  const received = await raw(
    `POST /things HTTP/1.1\r\nHost: a\r\n${key}Content-Type: application/json\r\nContent-Length: 999999999\r\n\r\n`,
  );
  expectProblem(received, 413, "body_too_large");
});

test("a stream comes whole although the body of its request was not read", async () => {
  const stream = routes.get("/stream", "getStream", {
    summary: "A stream",
    access: { public: true },
    success: { status: 200, shape: "raw", schema: z.string(), description: "A stream" },
    handle: async () => ({ body: Readable.from(Array.from({ length: 10 }, () => Buffer.alloc(40_000, "x"))) }),
  });
  const { port } = await startApp({ routes: [stream] });
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write(`GET /stream HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n${"b".repeat(1_000_000)}`);
  // Read only once the server has ended the connection.
  await sleep(300);
  let received = 0;
  let last = "";
  socket.on("data", (chunk: Buffer) => {
    received += chunk.length;
    last = chunk.toString("latin1").slice(-5);
  });
  await once(socket, "close");
  expect(received).toBeGreaterThan(400_000);
  expect(last).toBe("0\r\n\r\n");
});

test("a small refused body keeps the connection", async () => {
  const { raw } = await startApp();
  const one = `POST /things HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`;
  const received = await raw(`${one}GET /nowhere HTTP/1.1\r\nHost: a\r\n${end}`);
  expect(received.match(/HTTP\/1\.1 (401|404)/g)).toEqual(["HTTP/1.1 401", "HTTP/1.1 404"]);
});

test("Expect: 100-continue is invited only after the checks before the body", async () => {
  const { raw } = await startApp();
  const head = (auth: string) =>
    `POST /things HTTP/1.1\r\nHost: a\r\n${auth}Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n`;
  expect(await raw(`${head("")}${end}`, "invalid_credentials")).not.toContain("100 Continue");
  expect(await raw(`${head(key)}${end}{}`, "validation_failed")).toMatch(/^HTTP\/1\.1 100 Continue/);
});

test("an absolute request target means its path", async () => {
  const { raw } = await startApp();
  expect(await raw(`GET http://elsewhere/things/${staffId} HTTP/1.1\r\nHost: a\r\n${key}${end}`)).toMatch(/^HTTP\/1\.1 200 /);
});

test.each(["*", "//", "/%", "/things?%", "http://a"])("request target %s is no accident", async (target) => {
  const { raw } = await startApp();
  expect(await raw(`GET ${target} HTTP/1.1\r\nHost: a\r\n${end}`)).toMatch(/^HTTP\/1\.1 (404|401) /);
});

test("a client that leaves in the middle of its body harms nobody", async () => {
  const { port, ask } = await startApp();
  await new Promise<void>((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(`POST /things HTTP/1.1\r\nHost: a\r\n${key}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`, () =>
        socket.resetAndDestroy(),
      );
    });
    socket.on("close", () => resolve());
  });
  expect((await ask({ path: "/things" })).status).toBe(200);
});
