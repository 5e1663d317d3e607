// @module-tag sqlite
import { expect, test } from "vitest";
import { z } from "zod";
import { routesFor } from "../../src/operations/route.ts";
import type { IdempotencyClaim } from "../../src/kernel/call.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import { staffId, startApp, strangerId } from "./support.ts";

const routes = routesFor();

/** A write that shows its claims; `hold` keeps it from ending. */
function claimingRoute() {
  const claims: (IdempotencyClaim | null)[] = [];
  let gate: Promise<void> | undefined;
  const claiming = routes.post("/claims", "claim", {
    summary: "Claim",
    access: { permission: "cases.create" },
    request: { body: z.object({ text: z.string() }) },
    success: { status: 202, shape: "flat", schema: z.object({ success: z.boolean() }), description: "Claimed" },
    handle: async ({ call, body }) => {
      claims.push(call.idempotency);
      await gate;
      if (body.text === "refuse") throw new ProblemError("invalid_transition");
      call.replayed = body.text === "replay";
      return { success: true };
    },
  });
  const hold = (): (() => void) => {
    let release = (): void => undefined;
    gate = new Promise((resolve) => (release = resolve));
    return release;
  };
  const reached = async (count: number): Promise<void> => {
    for (const deadline = Date.now() + 5000; claims.length < count;) {
      if (Date.now() > deadline) throw new Error("the claim did not arrive");
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { claiming, claims, hold, reached };
}

const post = (key: string | undefined, text: string, actor = staffId) => ({
  method: "POST",
  path: "/claims",
  body: { text },
  headers: { "X-Acting-User": actor, ...(key !== undefined && { "Idempotency-Key": key }) },
});

test("a key becomes a claim of scope, fingerprint and status; no key, no claim", async () => {
  const { claiming, claims } = claimingRoute();
  const { ask } = await startApp({ routes: [claiming] });
  expect((await ask(post(undefined, "a"))).status).toBe(202);
  expect((await ask(post("key-one-", "a"))).headers["idempotency-replayed"]).toBeUndefined();
  expect(claims[0]).toBeNull();
  expect(claims[1]).toEqual({
    scope: expect.stringMatching(/^[0-9a-f]{64}$/),
    fingerprint: expect.stringMatching(/^[\w-]{43}$/),
    status: 202,
  });
});

test("the scope depends on client, acting user and key; the fingerprint on the body and the query", async () => {
  const { claiming, claims } = claimingRoute();
  const { ask } = await startApp({ routes: [claiming] });
  await ask(post("key-one-", "a"));
  await ask(post("key-one-", "b"));
  await ask(post("key-two-", "a"));
  await ask(post("key-one-", "a", "80351110224678913"));
  await ask({ ...post("key-one-", "a"), key: "key-delegate" });
  await ask({ ...post("key-one-", "a"), path: "/claims?mode=other" });
  const [first, otherBody, otherKey, otherActor, otherClient, otherQuery] = claims;
  for (const other of [otherBody, otherQuery]) {
    expect(other?.scope).toBe(first?.scope);
    expect(other?.fingerprint).not.toBe(first?.fingerprint);
  }
  expect(new Set([first, otherKey, otherActor, otherClient].map((claim) => claim?.scope)).size).toBe(4);
  expect(new Set([first, otherKey, otherActor, otherClient].map((claim) => claim?.fingerprint)).size).toBe(1);
});

test("the same key while the first request runs is refused, another one is not", async () => {
  const { claiming, hold, reached } = claimingRoute();
  const { ask } = await startApp({ routes: [claiming] });
  const release = hold();
  const first = ask(post("key-one-", "a"));
  await reached(1);
  expect(await ask(post("key-one-", "a"))).toMatchObject({
    status: 409,
    json: { code: "idempotency_in_progress" },
    headers: { "retry-after": "1" },
  });
  const other = ask(post("key-two-", "a"));
  await reached(2);
  release();
  expect([(await first).status, (await other).status]).toEqual([202, 202]);
});

test("a key is free again after success and after refusal", async () => {
  const { claiming } = claimingRoute();
  const { ask } = await startApp({ routes: [claiming] });
  expect((await ask(post("key-one-", "refuse"))).status).toBe(409);
  expect((await ask(post("key-one-", "a"))).status).toBe(202);
  expect((await ask(post("key-one-", "a"))).status).toBe(202);
});

test("a replayed answer has the original status and says so", async () => {
  const { claiming } = claimingRoute();
  const { ask } = await startApp({ routes: [claiming] });
  expect(await ask(post("key-one-", "replay"))).toMatchObject({ status: 202, headers: { "idempotency-replayed": "true" } });
});

test.each(["seven77", "x".repeat(256), "tab\tinside", "\u00fcmlaut-umlaut"])("key %j is refused", async (key) => {
  const { claiming, claims } = claimingRoute();
  const { ask } = await startApp({ routes: [claiming] });
  expect((await ask(post(key, "a"))).json).toMatchObject({ status: 422, errors: [{ pointer: "/Idempotency-Key", in: "header" }] });
  expect(claims).toEqual([]);
});

test("a caller who is refused claims nothing", async () => {
  const { claiming, claims } = claimingRoute();
  const { ask } = await startApp({ routes: [claiming] });
  expect((await ask(post("key-one-", "a", strangerId))).status).toBe(403);
  expect(claims).toEqual([]);
});
