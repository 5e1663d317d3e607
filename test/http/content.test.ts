// @module-tag sqlite
import { expect, test } from "vitest";
import { z } from "zod";
import { routesFor } from "../../src/operations/route.ts";
import { staffId, startApp } from "./support.ts";

const routes = routesFor();

const post = { method: "POST", path: "/things" };
const good = { owner_id: staffId, name: "one" };

test("every wrong field is named at once, with pointer, place, code and detail", async () => {
  const { ask } = await startApp();
  const answer = await ask({
    method: "PATCH",
    path: "/things/123?x=1",
    headers: { "Idempotency-Key": "short", "X-Acting-User": "bob" },
    body: { name: 5, "a/b~c": 1 },
  });
  expect(answer.status).toBe(422);
  expect(answer.headers["content-type"]).toBe("application/problem+json");
  expect(answer.json).toMatchObject({
    type: "/problems/validation_failed",
    detail: "5 fields are wrong.",
    instance: "/things/123",
    retryable: false,
  });
  expect(answer.json["errors"]).toEqual([
    { pointer: "/thing_id", in: "path", code: "invalid_snowflake", detail: "Send ids as strings of 17–20 digits." },
    { pointer: "/Idempotency-Key", in: "header", code: "invalid_idempotency_key", detail: expect.any(String) },
    { pointer: "/X-Acting-User", in: "header", code: "invalid_snowflake", detail: expect.any(String) },
    { pointer: "/name", in: "body", code: "invalid_type", detail: expect.any(String) },
    { pointer: "/a~1b~0c", in: "body", code: "unknown_field", detail: "This field is not known here." },
  ]);
});

test.each([
  [{ name: "one" }, "/owner_id", "required"],
  [{ ...good, owner_id: 80351110224678912 }, "/owner_id", "invalid_snowflake"],
  [{ ...good, owner_id: "123" }, "/owner_id", "invalid_snowflake"],
  [{ ...good, owner_id: "bob" }, "/owner_id", "invalid_snowflake"],
  [{ ...good, owner_id: "99999999999999999999" }, "/owner_id", "invalid_snowflake"],
  [{ ...good, name: "" }, "/name", "too_short"],
  [{ ...good, name: "x".repeat(11) }, "/name", "too_long"],
  [{ ...good, tags: ["a", "b", "c", "d"] }, "/tags", "too_many"],
  [{ ...good, tags: ["a", 5] }, "/tags/1", "invalid_type"],
  [{ ...good, name: "a\0b" }, "/name", "invalid_characters"],
  [{ ...good, name: "\ud800" }, "/name", "invalid_characters"],
  [{ ...good, name: `\ufdd0["kernel.number-most",{"count":7}]\ufdd1` }, "/name", "invalid_characters"],
  [[], "", "invalid_type"],
  ["text", "", "invalid_type"],
])("refuses %j at %s with %s", async (body, pointer, code) => {
  const { ask } = await startApp();
  const { status, json } = await ask({ ...post, body: JSON.stringify(body) });
  expect({ status, errors: json["errors"] }).toEqual({ status: 422, errors: [{ pointer, in: "body", code, detail: expect.any(String) }] });
});

test("an id sent as a JSON number is refused with the reason", async () => {
  const { ask } = await startApp();
  const { text } = await ask({ ...post, body: '{"owner_id":80351110224678912,"name":"one"}' });
  expect(text).toContain("a JSON number has lost precision");
});

test.each(["1e2", "0x10", "%2010", "5.0", "+5", "5%20", "-0", "%D9%A5", "1_0", ""])("limit=%s is no number", async (limit) => {
  const { ask } = await startApp();
  expect(await ask({ path: `/things?limit=${limit}` })).toMatchObject({
    status: 422,
    json: { errors: [{ pointer: "/limit", in: "query", code: "invalid_type" }] },
  });
});

test("a number in a query is digits, leading zeros among them", async () => {
  const { ask } = await startApp();
  expect((await ask({ path: "/things?limit=007" })).json["page"]).toMatchObject({ limit: 7 });
  expect((await ask({ path: "/things?limit=0" })).json["errors"]).toMatchObject([{ pointer: "/limit", code: "too_small" }]);
});

test.each([
  ["none", {}],
  ["one of no bytes", { "Content-Length": "0", "Content-Type": "application/json" }],
  ["an empty one in chunks", { "Transfer-Encoding": "chunked", "Content-Type": "application/json" }],
])("a request that needs a body is told so when it has %s", async (_, headers) => {
  const { ask } = await startApp();
  expect(await ask({ ...post, headers })).toMatchObject({
    status: 400,
    json: { code: "malformed_request", detail: "This request needs a body." },
  });
});

test("a body whose fields are all optional may be absent", async () => {
  const { ask } = await startApp();
  expect((await ask({ method: "PATCH", path: `/things/${staffId}` })).status).toBe(200);
});

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

test.each([
  ["invalid UTF-8", Buffer.from([0x22, 0xff, 0x22])],
  ["broken JSON", "{"],
  ["a byte order mark", "\ufeff{}"],
  ["17 levels", nested(17)],
  ["100,000 levels", nested(100_000)],
])("%s is malformed", async (_name, body) => {
  const { ask } = await startApp();
  expect(await ask({ ...post, body })).toMatchObject({ status: 400, json: { code: "malformed_request" } });
});

test("16 levels of nesting are read", async () => {
  const { ask } = await startApp();
  expect((await ask({ ...post, body: nested(16) })).status).toBe(422);
});

test.each([
  ["application/json", 201],
  ["application/json; charset=utf-8", 201],
  ['Application/JSON;charset="UTF-8"', 201],
  ["application/json; charset=latin1", 415],
  ["application/x-www-form-urlencoded", 415],
  ["", 415],
])("content type %j is answered with %i", async (type, status) => {
  const { ask } = await startApp();
  expect((await ask({ ...post, body: good, headers: { "Content-Type": type } })).status).toBe(status);
});

test("a compressed body is not supported", async () => {
  const { ask } = await startApp();
  expect((await ask({ ...post, body: good, headers: { "Content-Encoding": "gzip" } })).status).toBe(415);
});

test("a body without announced length is counted while it arrives", async () => {
  const { ask } = await startApp();
  const headers = { "Transfer-Encoding": "chunked" };
  expect((await ask({ ...post, headers, body: good })).status).toBe(201);
  const answer = await ask({ ...post, headers, body: JSON.stringify({ ...good, name: "x".repeat(300_000) }) });
  expect(answer).toMatchObject({ status: 413, json: { code: "body_too_large" } });
});

test("a list refuses unknown parameters and names them", async () => {
  const { ask } = await startApp();
  const { status, json } = await ask({ path: "/things?statsu=active&limit=5" });
  expect({ status, json }).toMatchObject({
    status: 400,
    json: { code: "unknown_parameter", errors: [{ pointer: "/statsu", in: "query" }] },
  });
});

test("a single record ignores unknown parameters", async () => {
  const { ask } = await startApp();
  expect((await ask({ path: `/things/${staffId}?statsu=active` })).status).toBe(200);
});

test.each([
  ["limit=0", "/limit", "too_small"],
  ["limit=201", "/limit", "too_large"],
  ["limit=many", "/limit", "invalid_type"],
  ["limit=5&limit=6", "/limit", "repeated"],
  ["status=paused", "/status", "invalid_value"],
  ["cursor=%00", "/cursor", "invalid_characters"],
])("query %s is wrong at %s with %s", async (query, pointer, code) => {
  const { ask } = await startApp();
  const { status, json } = await ask({ path: `/things?${query}` });
  expect({ status, errors: json["errors"] }).toEqual({ status: 422, errors: [{ pointer, in: "query", code, detail: expect.any(String) }] });
});

test("a parameter that is a list takes one value or several", async () => {
  const { ask } = await startApp();
  expect((await ask({ path: "/things?tag=a" })).status).toBe(200);
  expect((await ask({ path: "/things?tag=a&tag=b" })).status).toBe(200);
});

test.each(["%zz", "%00", "%2e%2e", "a%2Fb"])("path text %s is content, never a way around the route", async (text) => {
  const { ask } = await startApp();
  expect((await ask({ path: `/things/${text}` })).json).toMatchObject({
    code: "validation_failed",
    errors: [{ pointer: "/thing_id", in: "path" }],
  });
});

test.each(["/things/", `/things/${staffId}/`, "//things", "/./things", "/THINGS"])("%s is no other name of a route", async (path) => {
  const { ask } = await startApp();
  expect((await ask({ path })).status).toBe(404);
});

test("what a verb's own schema refuses is answered like the door's", async () => {
  const Inner = z.object({ name: z.string() });
  const verb = routes.post("/verbs", "runVerb", {
    summary: "A verb that parses again",
    access: { permission: "cases.create" },
    success: { status: 200, shape: "flat", schema: Inner, description: "Never" },
    handle: async () => Inner.parse({ name: 5 }),
  });
  const { ask } = await startApp({ routes: [verb] });
  expect(await ask({ method: "POST", path: "/verbs" })).toMatchObject({
    status: 422,
    json: { errors: [{ pointer: "/name", in: "body", code: "invalid_type" }] },
  });
});
