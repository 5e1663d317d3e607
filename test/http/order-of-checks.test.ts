// @module-tag sqlite
import { expect, test } from "vitest";
import { type Ask, startApp, strangerId } from "./support.ts";

const long = "x".repeat(256 * 1024 + 1);
const none = { count: 1, seconds: 3600 };

/** Faults in the order in which they are found; each adds itself to a request. */
const faults: readonly { name: string; status: number; code: string; add: (ask: Ask) => Ask }[] = [
  { name: "an unknown route", status: 404, code: "route_not_found", add: (ask) => ({ ...ask, path: "/nowhere" }) },
  { name: "a wrong method", status: 405, code: "method_not_allowed", add: (ask) => ({ ...ask, method: "PUT" }) },
  { name: "no credentials", status: 401, code: "invalid_credentials", add: (ask) => ({ ...ask, key: null }) },
  {
    name: "a missing permission",
    status: 403,
    code: "permission_denied",
    add: (ask) => ({ ...ask, key: ask.key === null ? null : "key-read" }),
  },
  {
    name: "a route that is switched off",
    status: 501,
    code: "unsupported_operation",
    add: (ask) => ({ ...ask, path: ask.path === "/things" ? "/callsigns/next" : ask.path }),
  },
  { name: "an unknown version", status: 400, code: "unsupported_version", add: (ask) => withHeader(ask, "Api-Version", "2") },
  { name: "an unacceptable format", status: 406, code: "not_acceptable", add: (ask) => withHeader(ask, "Accept", "application/xml") },
  { name: "a body that is too large", status: 413, code: "body_too_large", add: (ask) => ({ ...ask, body: long }) },
  { name: "a wrong media type", status: 415, code: "unsupported_media_type", add: (ask) => withHeader(ask, "Content-Type", "text/plain") },
  { name: "broken JSON", status: 400, code: "malformed_request", add: (ask) => ({ ...ask, body: ask.body === long ? long : "{" }) },
  {
    name: "wrong content",
    status: 422,
    code: "validation_failed",
    add: (ask) => ({ ...ask, body: typeof ask.body === "string" ? ask.body : {} }),
  },
];

const good: Ask = { method: "POST", path: "/things", body: { owner_id: "80351110224678912", name: "one" } };

function withHeader(ask: Ask, name: string, value: string): Ask {
  return { ...ask, headers: { ...ask.headers, [name]: value } };
}

const start = () => startApp({ switchedOff: (capability) => `${capability} is off here` });

test("a request without fault passes", async () => {
  const { ask } = await start();
  expect(await ask(good)).toMatchObject({ status: 201, json: { success: true, name: "one" } });
});

test.each(faults)("$name is answered with $status", async ({ status, code, add }) => {
  const { ask } = await start();
  expect(await ask(add(good))).toMatchObject({ status, json: { code, success: false, status } });
});

const pairs = faults.flatMap((earlier, index) => faults.slice(index + 1).map((later) => ({ earlier, later })));

test.each(pairs)("$earlier.name is found before $later.name", async ({ earlier, later }) => {
  const { ask } = await start();
  expect((await ask(earlier.add(later.add(good)))).json).toMatchObject({ code: earlier.code });
});

test("the limit by address is found after the method and before the credentials", async () => {
  const { ask } = await startApp({ limits: { failed_auth: none } });
  expect((await ask({ ...good, key: "wrong" })).status).toBe(401);
  expect((await ask({ ...good, method: "PUT", key: "wrong" })).status).toBe(405);
  expect((await ask({ ...good, key: "wrong" })).json).toMatchObject({ code: "rate_limited" });
  expect((await ask({ ...good, key: null })).status).toBe(429);
});

test("the limit by key is found after the credentials and before the permission", async () => {
  const { ask } = await startApp({ limits: { write: none } });
  expect((await ask({ ...good, key: "key-read" })).status).toBe(403);
  expect((await ask({ ...good, key: "key-read" })).status).toBe(429);
  expect((await ask({ ...good, key: "wrong" })).status).toBe(401);
});

test("a write without acting user is refused unless the key acts for itself", async () => {
  const { ask } = await start();
  expect((await ask({ ...good, key: "key-delegate" })).json).toMatchObject({ code: "acting_user_required" });
  expect((await ask({ ...good, key: "key-delegate", headers: { "X-Acting-User": strangerId } })).json).toMatchObject({
    code: "acting_user_not_staff",
  });
});
