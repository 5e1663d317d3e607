// @module-tag sqlite
import { expect, test } from "vitest";
import { type Ask, startApp, type TestOptions, thingRoutes } from "./support.ts";

const token = "a-token-of-24-characters";
const metrics = { token, contentType: "text/plain; version=0.0.4; charset=utf-8", text: () => Promise.resolve("things_total 1\n") };
const start = (options: TestOptions = {}) => startApp({ metrics, ...options });
const scrape: Ask = { path: "/metrics", key: token };

test("whoever has the token gets the text, with GET and with HEAD", async () => {
  const { ask } = await start();
  const headers = { "content-type": metrics.contentType, "cache-control": "no-store", "content-length": "15" };
  expect(await ask(scrape)).toMatchObject({ status: 200, text: "things_total 1\n", headers });
  expect(await ask({ ...scrape, method: "HEAD" })).toMatchObject({ status: 200, text: "", headers });
  const accept =
    "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
  expect((await ask({ ...scrape, headers: { accept } })).status).toBe(200);
});

test("without a token of its own the address answers as one that does not exist", async () => {
  const { ask } = await startApp();
  const { request_id: _one, ...asked } = (await ask(scrape)).json;
  const { request_id: _other, ...nowhere } = (await ask({ path: "/nowhere", key: token })).json;
  expect(asked).toEqual({ ...nowhere, instance: "/metrics" });
  expect(asked).toMatchObject({ status: 404, code: "route_not_found" });
});

test.each([
  ["no token", { key: null }, 401, "invalid_credentials"],
  ["another token", { key: `${token.slice(0, -1)}x` }, 401, "invalid_credentials"],
  ["a longer token", { key: `${token}x` }, 401, "invalid_credentials"],
  ["an API key that may do everything", { key: "key-all" }, 401, "invalid_credentials"],
  ["another method", { method: "POST" }, 405, "method_not_allowed"],
  ["a format that it does not have", { headers: { accept: "application/xml" } }, 406, "not_acceptable"],
  ["another version", { headers: { "api-version": "2" } }, 400, "unsupported_version"],
])("%s is refused as at any route", async (_name, fault, status, code) => {
  const { ask } = await start();
  expect(await ask({ ...scrape, ...fault })).toMatchObject({ status, json: { code, status } });
});

test("the token opens nothing else", async () => {
  const { ask } = await start();
  expect((await ask({ path: "/things", key: token })).status).toBe(401);
});

test("wrong tokens count as failed credentials of the address, and scrapes as reads", async () => {
  const { ask } = await start({ limits: { failed_auth: { count: 2, seconds: 60 }, read: { count: 3, seconds: 60 } } });
  const wrong = { ...scrape, key: "wrong" };
  expect([await ask(wrong), await ask(wrong), await ask(wrong)].map(({ status }) => status)).toEqual([401, 401, 429]);
  expect((await ask(scrape)).headers).toMatchObject({ ratelimit: '"read";r=2;t=20' });
  expect([await ask(scrape), await ask(scrape), await ask(scrape)].map(({ status }) => status)).toEqual([200, 200, 429]);
});

test("a service that shuts down refuses, before it looks at the token", async () => {
  const { ask } = await start({ isShuttingDown: () => true });
  expect(await ask({ ...scrape, key: "wrong" })).toMatchObject({ status: 503, json: { code: "shutting_down" } });
});

test("neither the document nor the list of routes knows the address", async () => {
  const { app } = await start();
  expect(app.registry().map(({ path }) => path)).not.toContain("/metrics");
  expect(Object.keys(app.document()["paths"] as object)).not.toContain("/metrics");
});

test("each answer is told with its route as a template, and never with what somebody typed", async () => {
  const told: unknown[] = [];
  const { ask } = await start({
    routes: thingRoutes(),
    onAnswer: ({ milliseconds, ...ended }) => told.push({ ...ended, isTimed: milliseconds > 0 }),
  });
  await ask({ path: "/things/80351110224678912?expand=x" });
  await ask({ path: "/nowhere/80351110224678912" });
  await ask({ path: "/things", method: "PUT" });
  await ask({ path: "/things", key: "wrong" });
  const ended = { method: "GET", isTimed: true };
  expect(told).toEqual([
    { ...ended, route: "/things/{thing_id}", status: 200 },
    { ...ended, route: "", status: 404 },
    { ...ended, route: "", status: 405, method: "PUT" },
    { ...ended, route: "/things", status: 401 },
  ]);
});
