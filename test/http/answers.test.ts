// @module-tag sqlite
import { pino } from "pino";
import { expect, test } from "vitest";
import { routesFor, withEtag } from "../../src/operations/route.ts";
import { z } from "zod";
import { createKeyText, formatKey } from "../../src/features/keys/secrets.ts";
import { authenticate, staffId, startApp } from "./support.ts";

const thing = `/things/${staffId}`;

test("a single record comes in its envelope with its revision as entity tag", async () => {
  const { ask } = await startApp();
  const answer = await ask({ path: thing });
  expect(answer).toMatchObject({ status: 200, json: { success: true, data: { id: staffId, name: "a thing", revision: 7 } } });
  expect(answer.headers).toMatchObject({ etag: '"v7"', "content-type": "application/json", "cache-control": "no-store" });
});

test.each([
  ['"v7"', 304],
  ['W/"v7"', 304],
  ['"v6", "v7"', 304],
  ["*", 304],
  ['"v6"', 200],
])("If-None-Match %s is answered with %i", async (tag, status) => {
  const { ask } = await startApp();
  const answer = await ask({ path: thing, headers: { "If-None-Match": tag } });
  expect(answer.status).toBe(status);
  expect(answer.text === "").toBe(status === 304);
});

test.each([
  ['"v7"', 200],
  ["*", 200],
  ['"v6"', 412],
  ['W/"v7"', 412],
  ['"other"', 412],
  ["v7", 412],
  ["garbage", 412],
  ['"v7", "v6"', 412],
])("If-Match %s is answered with %i", async (tag, status) => {
  const { ask } = await startApp();
  expect((await ask({ method: "PATCH", path: thing, headers: { "If-Match": tag } })).status).toBe(status);
});

test("where conditions are required, a change without one is refused", async () => {
  const { ask } = await startApp({ requireIfMatch: true });
  expect((await ask({ method: "PATCH", path: thing })).json).toMatchObject({ status: 428, code: "precondition_required" });
  expect((await ask({ method: "PATCH", path: thing, headers: { "If-Match": '"v7"' } })).status).toBe(200);
  expect((await ask({ method: "POST", path: "/things", body: { owner_id: staffId, name: "one" } })).status).toBe(201);
});

test("a handler may name the entity tag itself", async () => {
  const tagged = routesFor().get("/tagged", "getTagged", {
    summary: "Tagged",
    access: { public: true },
    success: { status: 200, shape: "single", schema: z.object({ a: z.int() }), description: "Tagged" },
    handle: async () => withEtag({ a: 1 }, "abc"),
  });
  const { ask } = await startApp({ routes: [tagged] });
  const answer = await ask({ path: "/tagged", key: null });
  expect({ etag: answer.headers["etag"], json: answer.json }).toEqual({ etag: '"abc"', json: { success: true, data: { a: 1 } } });
});

test("a list says where it stands and links to the next page with the same filters", async () => {
  const { ask } = await startApp({ clock: { now: () => new Date("2026-11-20T10:00:00.000Z") } });
  const answer = await ask({ path: "/things?status=active&limit=10" });
  expect(answer.json).toEqual({
    success: true,
    data: [{ id: "1", name: "first", revision: 1 }],
    page: { limit: 10, next_cursor: "next&page", has_more: true },
    meta: { as_of: "2026-11-20T10:00:00.000Z", stale: false },
  });
  expect(answer.headers["link"]).toBe('</things?status=active&limit=10&cursor=next%26page>; rel="next"');
  expect((await ask({ path: "/things?cursor=x" })).headers["link"]).toBeUndefined();
});

test("HEAD answers the headers of GET without its body", async () => {
  const { ask } = await startApp();
  const [get, head] = [await ask({ path: thing }), await ask({ method: "HEAD", path: thing })];
  expect(head).toMatchObject({ status: 200, text: "", headers: { etag: '"v7"', "content-length": get.headers["content-length"] } });
  expect(await ask({ method: "HEAD", path: "/nowhere" })).toMatchObject({ status: 404, text: "" });
});

test.each([
  ["PUT", "/things", "GET, HEAD, POST"],
  ["OPTIONS", "/things", "GET, HEAD, POST"],
  ["POST", thing, "GET, HEAD, PATCH"],
  ["HEAD", "/callsigns/next", "POST"],
])("%s %s names the allowed methods", async (method, path, allow) => {
  const { ask } = await startApp();
  const answer = await ask({ method, path });
  expect({ status: answer.status, allow: answer.headers["allow"] }).toEqual({ status: 405, allow });
  expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
});

const kinds = [
  ["a success", { path: thing }, 200],
  ["an unknown route", { path: "/nowhere" }, 404],
  ["a wrong method", { method: "PUT", path: "/things" }, 405],
  ["a missing key", { path: thing, key: null }, 401],
  ["wrong content", { method: "POST", path: "/things", body: {} }, 422],
  ["a failure", { path: "/broken" }, 500],
  ["a page", { path: "/problems/timeout" }, 200, "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'"],
  ["the document", { path: "/openapi.json", key: null }, 200],
] as const;

test.each(kinds)("%s carries the security headers, the version and the request id", async (_name, asked, status, policy?) => {
  const { ask } = await startApp({ publicUrl: "https://mod.example" });
  const answer = await ask({ ...asked, headers: { "X-Request-Id": "request-12345" } });
  expect(answer.status).toBe(status);
  expect(answer.headers).toMatchObject({
    "x-request-id": "request-12345",
    "api-version": "1",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": policy ?? "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "strict-transport-security": "max-age=31536000",
  });
});

test("without https nothing is said about transport security", async () => {
  const { ask } = await startApp({ publicUrl: "http://127.0.0.1:8080" });
  expect((await ask({ path: thing })).headers["strict-transport-security"]).toBeUndefined();
});

test.each(["short", "with space in it", "ümlaut-umlaut", "x".repeat(65)])("request id %j is replaced", async (id) => {
  const { ask } = await startApp();
  const answer = await ask({ path: thing, headers: { "X-Request-Id": Buffer.from(id).toString("latin1") } });
  expect(answer.headers["x-request-id"]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("a 401 says how to authenticate", async () => {
  const { ask } = await startApp();
  expect((await ask({ path: thing, key: null })).headers["www-authenticate"]).toBe("Bearer");
  expect((await ask({ path: thing, key: null, headers: { "X-API-Key": "key-all" } })).status).toBe(200);
});

test("an unexpected error tells the log everything and the caller nothing", async () => {
  const lines: string[] = [];
  const { ask } = await startApp({ logger: pino({}, { write: (line: string) => void lines.push(line) }) });
  const answer = await ask({ path: "/broken" });
  expect(answer).toMatchObject({ status: 500, json: { code: "internal_error", request_id: answer.headers["x-request-id"] } });
  expect(answer.text).not.toContain("swordfish");
  expect(lines.join("")).toContain("swordfish");
  expect(lines.join("")).toContain(String(answer.headers["x-request-id"]));
});

test("an answer its schema does not promise is a failure where answers are checked", async () => {
  const odd = routesFor().get("/odd", "getOdd", {
    summary: "Odd",
    access: { public: true },
    success: { status: 200, shape: "single", schema: z.object({ a: z.int() }), description: "Odd" },
    handle: async () => ({ a: 0.5 }),
  });
  expect((await (await startApp({ routes: [odd] })).ask({ path: "/odd" })).status).toBe(500);
  expect((await (await startApp({ routes: [odd], validateAnswers: false })).ask({ path: "/odd" })).status).toBe(200);
});

test("a switched-off route may be hidden behind 404 with its code kept", async () => {
  const { ask } = await startApp({ switchedOff: () => "No pool is set up.", unsupportedStatus: 404 });
  const answer = await ask({ method: "POST", path: "/callsigns/next", body: { pool: "a" } });
  expect(answer).toMatchObject({
    status: 404,
    json: { status: 404, code: "unsupported_operation", capability: "callsigns.next", reason: "No pool is set up." },
  });
});

test("a key says in its last thirty days when it ends", async () => {
  const soon = new Date("2026-12-01T00:00:00.000Z");
  const ending = (days: number) =>
    startApp({
      clock: { now: () => new Date(soon.getTime() - days * 86_400_000) },
      authenticate: async (credentials) => ({ ...(await authenticate(credentials)), client: { id: "k", keyId: "k", expiresAt: soon } }),
    });
  expect((await (await ending(29)).ask({ path: thing })).headers["x-key-expires-at"]).toBe("2026-12-01T00:00:00.000Z");
  expect((await (await ending(31)).ask({ path: thing })).headers["x-key-expires-at"]).toBeUndefined();
});

test("the log line names the route, the caller and the trace, but never the query", async () => {
  const lines: string[] = [];
  const { ask } = await startApp({ accessLog: { write: (line: string) => lines.push(line) } });
  const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  await ask({ path: `${thing}?token=hidden`, headers: { traceparent: `00-${trace}-00f067aa0ba902b7-01`, "X-Acting-User": staffId } });
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    route: "/things/{thing_id}",
    path: thing,
    status: 200,
    key_id: "key-all",
    actor_id: staffId,
    trace_id: trace,
  });
  expect(lines[0]).not.toContain("hidden");
});

test("Hono's own fetch serves the same doors", async () => {
  const { app } = await startApp();
  const asked = await app.fetch(new Request(`http://provost${thing}`, { headers: { Authorization: "Bearer key-all" } }));
  expect([asked.status, await asked.json()]).toMatchObject([200, { data: { id: staffId } }]);
  expect((await app.fetch(new Request("http://provost/nowhere"))).status).toBe(404);
  const posted = await app.fetch(
    new Request("http://provost/things", {
      method: "POST",
      headers: { Authorization: "Bearer key-all", "Content-Type": "application/json" },
      body: "{}",
    }),
  );
  expect(posted.status).toBe(422);
});

test("of an unknown address the log shows only the beginning", async () => {
  const lines: string[] = [];
  const { ask } = await startApp({ accessLog: { write: (line: string) => lines.push(line) } });
  await ask({ path: "/authorise/tokentokentoken/start" });
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ route: "", path: "/authorise/…", status: 404 });
});

const { keyId, secret } = createKeyText();
const apiKey = formatKey({ keyId, secret });

test.each([
  ["where the id belongs", `/things/${apiKey}`],
  ["in an address nobody knows", `/${apiKey}`],
  ["encoded", `/things/${apiKey.replaceAll("_", "%5F")}`],
  ["after what is shown of a long address", `/things/${"x".repeat(150)}${apiKey}`],
])("a whole API key in the address is neither answered nor logged: %s", async (_, path) => {
  const lines: string[] = [];
  const { ask } = await startApp({ accessLog: { write: (line: string) => lines.push(line) } });
  const requestId = `request-${keyId}`;
  const { text, json } = await ask({ path, headers: { "X-Request-Id": requestId } });
  expect(json).toMatchObject({ instance: expect.stringContaining("[redacted]") as string, request_id: requestId });
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ msg: "request" });
  for (const shown of [text, ...lines]) expect(shown).not.toContain(secret.slice(0, 20));
});

test.each([
  ["application/json", 200],
  ["text/html, application/json;q=0.9", 200],
  ["application/*", 200],
  ["*/*;q=0.1", 200],
  ["text/html", 406],
  ["application/json;q=0, */*", 406],
  ["application/xml, application/*;q=0", 406],
])("Accept: %s is answered with %i", async (accept, status) => {
  const { ask } = await startApp();
  expect((await ask({ path: thing, headers: { Accept: accept } })).status).toBe(status);
});
