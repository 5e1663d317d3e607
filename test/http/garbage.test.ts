// @module-tag sqlite
import { connect } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { staffId, startApp } from "./support.ts";
import { runsOf } from "../support/size.ts";

const key = "Authorization: Bearer key-all\r\n";
const body = JSON.stringify({ owner_id: staffId, name: "one", tags: ["a"] });
const seeds = [
  `GET /things/${staffId} HTTP/1.1\r\nHost: a\r\n${key}If-None-Match: "v7"\r\n\r\n`,
  `GET /things?limit=5&status=active&tag=a HTTP/1.1\r\nHost: a\r\n${key}\r\n`,
  `POST /things HTTP/1.1\r\nHost: a\r\n${key}Idempotency-Key: 12345678\r\nX-Acting-User: ${staffId}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  `PATCH /things/${staffId} HTTP/1.1\r\nHost: a\r\n${key}If-Match: "v7"\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
];

const snippets = [
  "\r\n",
  "\0",
  "%00",
  "%",
  "\x80\xff",
  "Host: b\r\n",
  "Transfer-Encoding: chunked\r\n",
  "Content-Length: 99999999999999999999\r\n",
  "../",
  "[".repeat(40),
  '"__proto__":{},',
  "\u00e9".repeat(9),
];

/** A request with a few bytes changed, taken out, doubled or put in. */
const mutated = fc
  .tuple(
    fc.constantFrom(...seeds),
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.nat({ max: 40 }),
        fc.oneof(fc.constantFrom(...snippets), fc.string({ maxLength: 6, unit: "binary-ascii" }), fc.constant("")),
      ),
      { minLength: 1, maxLength: 4 },
    ),
  )
  .map(([seed, edits]) =>
    edits.reduce((text, [at, cut, put]) => {
      const start = at % (text.length + 1);
      return text.slice(0, start) + put + text.slice(start + (cut > 20 ? 0 : cut));
    }, seed),
  );

/** The statuses of whatever the server answers until it falls silent; the request is ended so that it never waits for more. */
function statusesOf(port: number, bytes: string): Promise<number[]> {
  return new Promise((resolve) => {
    let received = "";
    const socket = connect(port, "127.0.0.1", () => socket.end(bytes, "latin1"));
    socket.on("data", (chunk) => (received += chunk.toString("latin1")));
    socket.on("error", () => undefined);
    socket.on("close", () => resolve([...received.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map((match) => Number(match[1]))));
  });
}

test("2,000 mutated requests never break the service", async () => {
  const { port, ask } = await startApp({}, { headers: 100, request: 100, check: 20 });
  const seen = new Map<number, number>();
  const check = fc.asyncProperty(fc.array(mutated, { minLength: 20, maxLength: 20 }), async (batch) => {
    const answered = await Promise.all(batch.map((bytes) => statusesOf(port, bytes)));
    for (const status of answered.flat()) seen.set(status, (seen.get(status) ?? 0) + 1);
    expect(answered.flat().filter((status) => status >= 500 && status !== 501 && status !== 503)).toEqual([]);
  });
  await fc.assert(check, { numRuns: runsOf(100), endOnFailure: true });
  expect((await ask({ path: `/things/${staffId}` })).status).toBe(200);
  expect([...seen.keys()]).toEqual(expect.arrayContaining([200, 400, 401, 404]));
});

const json = fc.jsonValue({ maxDepth: 4 });

test("500 arbitrary bodies are accepted or refused with a problem document", async () => {
  const { ask } = await startApp();
  const value = fc.oneof(
    json,
    fc.record(
      { owner_id: fc.oneof(fc.constant(staffId), json), name: fc.oneof(fc.string({ unit: "binary" }), json), tags: json },
      { requiredKeys: [] },
    ),
  );
  const check = fc.asyncProperty(value, async (body) => {
    const { status, json } = await ask({ method: "POST", path: "/things", body: JSON.stringify(body) });
    expect([201, 400, 422]).toContain(status);
    expect(json["success"]).toBe(status === 201);
  });
  await fc.assert(check, { numRuns: runsOf(500) });
});
