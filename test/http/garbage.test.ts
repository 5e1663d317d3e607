// @module-tag sqlite
import { connect } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { written } from "./garbage-bytes.ts";
import { staffId, startApp } from "./support.ts";
import { runsOf } from "../support/size.ts";

interface Head {
  status: number;
  lines: string;
}

/** The heads of whatever the server answers until it falls silent; the request is ended so that it never waits for more. */
function headsOf(port: number, bytes: string): Promise<Head[]> {
  return new Promise((resolve, reject) => {
    let received = "";
    const socket = connect(port, "127.0.0.1", () => socket.end(bytes, "latin1"));
    const late = setTimeout(() => {
      socket.destroy();
      reject(new Error(`the connection stayed open after ${JSON.stringify(bytes)}; received ${JSON.stringify(received)}`));
    }, 120_000);
    socket.on("data", (chunk) => (received += chunk.toString("latin1")));
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearTimeout(late);
      const heads = received.matchAll(/HTTP\/1\.1 (\d{3})[^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n/g);
      resolve([...heads].map(([, status, lines = ""]) => ({ status: Number(status), lines })));
    });
  });
}

/** A failure of the service, or a refusal that does not say why. */
function isFault({ status, lines }: Head): boolean {
  if (status >= 500) return true;
  return (
    status >= 400 && (!/^content-type: (application\/problem\+json|text\/html)/im.test(lines) || /^content-length: 0\r$/im.test(lines))
  );
}

const batches = runsOf(100);

/** Who asks for a tunnel is left without an answer, as Node does; empty lines are no request (RFC 9112 §2.2). */
const isUnanswered = (bytes: string): boolean => bytes.includes("CONNECT") || /^[\r\n]*$/.test(bytes);

test(`${(batches * 20).toString()} mutated requests never break the service, and every refusal says why`, async () => {
  const { port, ask } = await startApp({}, { headers: 100, request: 100, check: 20 });
  const seen = new Map<number, number>();
  const check = fc.asyncProperty(fc.array(written, { minLength: 20, maxLength: 20 }), async (batch) => {
    const answered = await Promise.all(batch.map(async (bytes) => ({ bytes, heads: await headsOf(port, bytes) })));
    for (const { status } of answered.flatMap(({ heads }) => heads)) seen.set(status, (seen.get(status) ?? 0) + 1);
    expect(answered.filter(({ bytes, heads }) => heads.some(isFault) || (heads.length === 0 && !isUnanswered(bytes)))).toEqual([]);
  });
  await fc.assert(check, { numRuns: batches, endOnFailure: true });
  expect((await ask({ path: `/things/${staffId}` })).status).toBe(200);
  console.info(`${(batches * 20).toString()} mutated requests:`, Object.fromEntries(seen));
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
