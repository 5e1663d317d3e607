import { expect, test } from "vitest";
import { createProvostClient, ifMatch, ProvostError, signAssertion } from "../../client/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { requireDone } from "../../src/kernel/held.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { shareWorld } from "../contract/world.ts";
import { createPair } from "../support/signer.ts";
import { createWorld } from "../support/world.ts";
import { createProxy } from "./proxy.ts";

const shared = shareWorld();

/** A client of the shared world for a new member of staff, by way of a proxy. */
async function setUp(level: "moderator" | "admin" | "owner" = "admin") {
  const { world } = shared;
  const person = await world.staff(level);
  const proxy = await createProxy(world);
  return { world, person, proxy, client: createProvostClient({ baseUrl: proxy.url, key: world.key, actingUser: person.id }) };
}

const refusalOf = (call: Promise<unknown>): Promise<ProvostError> =>
  call.then(
    () => expect.unreachable("it was not refused"),
    (error: unknown) => {
      expect(error).toBeInstanceOf(ProvostError);
      return error as ProvostError;
    },
  );

let subjects = 81_000_000_000_000_000n;
const freshId = (): string => (subjects += 1n).toString();

test("a request is filed, decided by two, and read with its decision", async () => {
  const { world, client, person } = await setUp("moderator");
  const [adam, olivia] = [await world.staff("admin"), await world.staff("owner")];
  const body = { user_id: freshId(), category: "raid", severity: "high", reason: "Led a raid on us." } as const;
  const { data: filed, response } = await client.POST("/workflows/blacklist-user", { body });
  expect([response.status, filed.status]).toEqual([201, "pending"]);
  const path = { type: "blacklist-user", website_id: filed.reference } as const;
  const decide = (by: string) =>
    client.as(by).POST("/workflows/{type}/{website_id}/decision", { params: { path }, body: { decision: "approve" } });
  expect((await refusalOf(decide(person.id))).code).toBe("permission_denied");
  await decide(adam.id);
  await decide(olivia.id);
  const { data } = await client.GET("/workflows/{type}/{id}", { params: { path: { type: "blacklist-user", id: filed.reference } } });
  expect(data.data.status).toBe("approved");
});

test("every page of a list is read, in the order of the list, with the filters of the call", async () => {
  const { client, proxy } = await setUp();
  const made: string[] = [];
  const category = "doxxing";
  for (let count = 0; count < 7; count++) {
    const { data } = await client.POST("/blacklist", { body: { kind: "user", subject_id: freshId(), category } });
    if ("code" in data) expect.unreachable();
    made.push(data.data.number);
  }
  const read: string[] = [];
  for await (const { number } of client.paginate("/blacklist", { params: { query: { limit: 3, category } } })) read.push(number);
  expect(read).toEqual(made.toReversed());
  expect(proxy.asked.filter(({ method }) => method === "GET").length).toBe(3);
});

test("a refusal is thrown with its code, every wrong field, and the id by which the log names it", async () => {
  const { client } = await setUp();
  const wrong = { user_id: "42", category: "nonsense" } as never;
  const refusal = await refusalOf(client.POST("/workflows/blacklist-user", { body: wrong }));
  expect(refusal).toMatchObject({ name: "ProvostError", status: 422, code: "validation_failed", retryable: false });
  expect(refusal.errors.map(({ pointer }) => pointer)).toEqual(expect.arrayContaining(["/user_id", "/category", "/reason"]));
  expect(refusal.requestId).toMatch(/^[\da-f-]{36}$/);
  expect(refusal.message).toMatch(/^\d fields are wrong\.$/);
});

test("an answer that is none of the service is an error that shows it", async () => {
  const { client, proxy } = await setUp();
  proxy.fates.push({ status: 502, body: "<h1>Bad gateway</h1>" });
  const refusal = await refusalOf(client.GET("/staff"));
  expect(refusal).toMatchObject({ status: 502, code: "unreadable_answer", errors: [] });
  expect(refusal.message).toContain("<h1>Bad gateway</h1>");
});

test("a write whose answer is lost is repeated with one key, and has one effect", async () => {
  const { client, proxy } = await setUp();
  proxy.fates.push("lose the answer", "lose the answer");
  const subject = freshId();
  const { data, response } = await client.POST("/blacklist", { body: { kind: "user", subject_id: subject, category: "raid" } });
  expect([response.status, response.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
  const keys = proxy.asked.map(({ headers }) => headers["idempotency-key"]);
  expect([keys.length, new Set(keys).size]).toEqual([3, 1]);
  if ("code" in data) expect.unreachable();
  const found = await client.GET("/blacklist", { params: { query: { subject } } });
  expect(found.data.data.map(({ number }) => number)).toEqual([data.data.number]);
});

test("the key of the caller is kept, and two calls without one have keys of their own", async () => {
  const { client, proxy } = await setUp();
  const file = (headers?: Record<string, string>) =>
    client.POST("/blacklist", { body: { kind: "user", subject_id: freshId(), category: "raid" }, ...(headers && { headers }) });
  await file();
  await file();
  await file({ "Idempotency-Key": "mine-12345" });
  const keys = proxy.asked.map(({ headers }) => headers["idempotency-key"]);
  expect(new Set(keys).size).toBe(3);
  expect(keys[2]).toBe("mine-12345");
});

test("a limit that passes is waited for, and one that lasts longer than a call may wait is thrown at once", async () => {
  const world = await createWorld({ env: { RATE_LIMITS: "read=1/300,write=2/2,authorize=9/1,export=9/1,failed_auth=9/1" } });
  const admin = await world.staff("admin");
  const client = createProvostClient({ baseUrl: world.url, key: world.key, actingUser: admin.id });
  const started = performance.now();
  for (let count = 0; count < 4; count++)
    await client.POST("/blacklist", { body: { kind: "user", subject_id: freshId(), category: "raid" } });
  expect(performance.now() - started).toBeGreaterThan(900);
  await client.GET("/blacklist");
  const refusal = await refusalOf(client.GET("/blacklist"));
  expect(refusal).toMatchObject({ status: 429, code: "rate_limited", retryable: true });
  expect(refusal.retryAfter).toBeGreaterThan(60);
});

test("an overloaded service is asked again after the time it names, five times at most", async () => {
  const { client, proxy } = await setUp();
  const busy = { status: 503, headers: { "retry-after": "0", "content-type": "application/problem+json" }, body: '{"code":"overloaded"}' };
  proxy.fates.push(busy, busy);
  await client.GET("/staff");
  expect(proxy.asked.length).toBe(3);
  proxy.fates.push(busy, busy, busy, busy, busy);
  expect((await refusalOf(client.GET("/staff"))).code).toBe("overloaded");
  expect(proxy.asked.length).toBe(8);
});

test("a call that is given up while it waits ends at once", async () => {
  const { client, proxy } = await setUp();
  proxy.fates.push({ status: 503, headers: { "retry-after": "50" } });
  const giving = new AbortController();
  const call = client.GET("/staff", { signal: giving.signal });
  await expect.poll(() => proxy.asked.length).toBe(1);
  giving.abort(new Error("enough"));
  await expect(call).rejects.toThrow("enough");
});

test("a change happens only to the record that was read", async () => {
  const { client } = await setUp();
  const { data } = await client.POST("/blacklist", { body: { kind: "user", subject_id: freshId(), category: "raid" } });
  if ("code" in data) expect.unreachable();
  const path = { id: data.data.number };
  const read = await client.GET("/blacklist/{id}", { params: { path } });
  const change = (header: { "If-Match": string }, severity: "high" | "critical") =>
    client.PATCH("/blacklist/{id}", { params: { path, header }, body: { severity } });
  await change(ifMatch(read.data.data), "high");
  expect((await refusalOf(change(ifMatch(read.response), "critical"))).code).toBe("precondition_failed");
  const again = await client.GET("/blacklist/{id}", { params: { path } });
  expect(again.data.data.severity).toBe("high");
  await change(ifMatch(again.response), "critical");
});

test("a key that demands assertions takes those of the client: with a body, with a query, and repeated", async () => {
  const { world, proxy, person } = await setUp();
  const pair = createPair();
  const input = { name: "signing", scopes: ["*"], delegation: "signed" as const, public_key: pair.jwk };
  const { key } = requireDone(await world.app.keys.create(systemCall("cli", uuid7()), input));
  const pem = pair.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const client = createProvostClient({ baseUrl: proxy.url, key, actingUser: person.id, privateKey: pem });
  const body = { user_id: freshId(), category: "raid", severity: "high", reason: "Led a raid on us." } as const;
  const { data: filed } = await client.POST("/workflows/blacklist-user", { body });
  await client.GET("/workflows", { params: { query: { limit: 1 } } });
  proxy.fates.push("lose the answer");
  const { data } = await client.POST("/workflows/{type}/{website_id}/decision", {
    params: { path: { type: "blacklist-user", website_id: filed.reference }, query: { dry_run: "true" } },
    body: { decision: "claim" },
  });
  expect(data).toMatchObject({ success: true });
  const used = proxy.asked.flatMap(({ headers }) => headers["x-acting-assertion"] ?? []);
  expect([used.length, new Set(used).size]).toEqual([4, 4]);

  const jwk = pair.privateKey.export({ format: "jwk" });
  const asked = { method: "POST", path: "/blacklist", body: "{}" };
  const otherPerson = { key, privateKey: jwk, actingUser: (await world.staff("admin")).id, audience: "another installation" };
  const headers = {
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
    "x-acting-assertion": await signAssertion(otherPerson, asked),
  };
  const refused = await fetch(`${world.url}/blacklist`, { method: "POST", headers, body: "{}" });
  expect(await refused.json()).toMatchObject({ code: "assertion_invalid", detail: expect.stringContaining("aud") });
});
