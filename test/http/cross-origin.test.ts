// @module-tag sqlite
import { expect, test } from "vitest";
import { z } from "zod";
import { routesFor } from "../../src/operations/route.ts";
import { openApiDocument } from "../../src/app/document.ts";
import { page } from "../../src/http/pages/page.ts";
import { type Answer, appOptions, startApp, staffId, type TestOptions } from "./support.ts";

const panel = "https://panel.example.org";
const stranger = "https://stranger.example.org";
const thing = `/things/${staffId}`;
const none = { count: 1, seconds: 3600 };

const start = (options: TestOptions = {}) => startApp({ corsOrigins: ["http://localhost:3000", panel], ...options });

/** The headers of an answer that concern other origins. */
function crossOriginHeaders({ headers }: Answer): string[] {
  return Object.keys(headers).filter((name) => name.startsWith("access-control-"));
}

async function preflightOf(app: Awaited<ReturnType<typeof start>>, path: string, origin = panel): Promise<Answer> {
  const headers = { Origin: origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization" };
  return app.ask({ method: "OPTIONS", path, key: null, headers });
}

test("without CORS_ORIGINS nothing is said about other origins", async () => {
  const app = await startApp();
  const read = await app.ask({ path: thing, headers: { Origin: panel } });
  expect([read.status, read.headers["vary"], crossOriginHeaders(read)]).toEqual([200, undefined, []]);
  const asked = await preflightOf(app, "/things");
  expect([asked.status, asked.headers["vary"], crossOriginHeaders(asked)]).toEqual([405, undefined, []]);
});

test("a preflight is answered with the methods of the path and the headers that the service reads, without a key", async () => {
  const app = await start();
  const asked = await preflightOf(app, "/things");
  expect(asked).toMatchObject({
    status: 204,
    text: "",
    headers: {
      "access-control-allow-origin": panel,
      "access-control-allow-methods": "GET, HEAD, POST",
      "access-control-max-age": "600",
      vary: "Origin",
      "x-request-id": expect.any(String),
    },
  });
  expect(asked.headers["access-control-allow-credentials"]).toBeUndefined();
  expect((await preflightOf(app, thing)).headers["access-control-allow-methods"]).toBe("GET, HEAD, PATCH");
  expect((await preflightOf(app, "/callsigns/next", "http://localhost:3000")).headers).toMatchObject({
    "access-control-allow-origin": "http://localhost:3000",
    "access-control-allow-methods": "POST",
  });
});

test("every request header and every answer header of the document is named to browsers", async () => {
  const app = await start();
  const asked = await preflightOf(app, "/things");
  const listed = (name: string): string[] => String(asked.headers[name]).split(", ");
  const { components, paths } = openApiDocument() as unknown as {
    components: { parameters: Record<string, { name: string; in: string }> };
    paths: Record<string, Record<string, { responses: Record<string, { headers?: object }> }>>;
  };
  const sent = Object.values(components.parameters).flatMap(({ name, in: where }) => (where === "header" ? [name] : []));
  expect(sent.length).toBeGreaterThan(5);
  expect(listed("access-control-allow-headers")).toEqual(expect.arrayContaining(sent));
  const answers = Object.values(paths).flatMap((path) => Object.values(path).flatMap(({ responses }) => Object.values(responses)));
  const named = new Set(answers.flatMap(({ headers = {} }) => Object.keys(headers)));
  expect(named.size).toBeGreaterThan(5);
  expect(listed("access-control-expose-headers")).toEqual(expect.arrayContaining([...named]));
});

test("a page of a listed origin may read answers and refusals alike, and caches keep them apart", async () => {
  const app = await start({ limits: { failed_auth: none, write: none } });
  const headers = { Origin: panel };
  const write = { method: "POST", path: "/things", headers };
  const answers = {
    200: await app.ask({ path: thing, headers }),
    201: await app.ask({ ...write, body: { owner_id: staffId, name: "one" } }),
    304: await app.ask({ path: thing, headers: { ...headers, "If-None-Match": '"v7"' } }),
    401: await app.ask({ path: thing, key: "wrong", headers }),
    403: await app.ask({ ...write, key: "key-read", body: {} }),
    406: await app.ask({ path: thing, headers: { ...headers, Accept: "application/xml" } }),
    422: await app.ask({ ...write, key: "key-delegate", body: {}, headers: { ...headers, "X-Acting-User": staffId } }),
    429: await app.ask({ path: thing, key: "wrong", headers }),
    500: await app.ask({ path: "/broken", headers }),
  };
  for (const [status, answer] of Object.entries(answers)) {
    expect(answer).toMatchObject({ status: Number(status), headers: { "access-control-allow-origin": panel, vary: "Origin" } });
    expect(answer.headers["access-control-expose-headers"]).toContain("X-Request-Id");
  }
});

test("a service that shuts down still answers preflights, so that pages can read its refusal", async () => {
  const app = await start({ isShuttingDown: () => true });
  expect((await preflightOf(app, "/things")).status).toBe(204);
  const refused = await app.ask({ path: thing, headers: { Origin: panel } });
  expect(refused).toMatchObject({ status: 503, headers: { "access-control-allow-origin": panel } });
});

test("compressed lists and the document vary by origin, too, also for who is no page", async () => {
  const app = await start();
  const varied = async (path: string, headers: Record<string, string> = {}) => (await app.ask({ path, headers })).headers["vary"];
  expect([await varied("/things"), await varied("/openapi.json"), await varied("/openapi.json", { Origin: panel })]).toEqual([
    "Origin",
    "Origin, Accept-Encoding",
    "Origin, Accept-Encoding",
  ]);
});

test.each([stranger, "null", `${panel}:8443`, "http://panel.example.org", `${panel}.evil.example`])(
  "origin %s is not listed: its preflight is refused like any wrong method, and its answers cannot be read",
  async (origin) => {
    const app = await start();
    const asked = await preflightOf(app, "/things", origin);
    expect([asked.status, crossOriginHeaders(asked)]).toEqual([405, []]);
    const read = await app.ask({ path: thing, headers: { Origin: origin } });
    expect([read.status, read.headers["vary"], crossOriginHeaders(read)]).toEqual([200, "Origin", []]);
  },
);

test("pages, metrics and addresses that nothing is at stay closed to other origins", async () => {
  const home = page({ method: "get", path: "/", operationId: "showHome", summary: "Home" }, async (c) => c.html("<h1>Home</h1>"));
  const metrics = { token: "a-token-of-the-test", contentType: "text/plain", text: async () => "things 1\n" };
  const app = await start({ pages: [home], metrics });
  for (const [path, key] of [
    ["/", null],
    ["/metrics", metrics.token],
    ["/nowhere", "key-all"],
  ] as const) {
    const read = await app.ask({ path, key, headers: { Origin: panel } });
    const asked = await preflightOf(app, path);
    expect([path, crossOriginHeaders(read), crossOriginHeaders(asked)]).toEqual([path, [], []]);
    expect(asked.status).toBe(path === "/nowhere" ? 404 : 405);
  }
});

test("preflights are counted by address as what needs no key, and not as failed credentials", async () => {
  const app = await start({ limits: { read: { count: 2, seconds: 3600 }, failed_auth: none } });
  const statuses = [];
  for (let count = 0; count < 3; count += 1) statuses.push((await preflightOf(app, "/things")).status);
  expect(statuses).toEqual([204, 204, 429]);
  expect((await app.ask({ path: thing, key: "wrong" })).status).toBe(401);
  expect((await app.ask({ path: thing })).status).toBe(200);
});

test("a preflight asks nobody who calls, and is in the log with its route", async () => {
  let asked = 0;
  const lines: string[] = [];
  const { authenticate } = appOptions();
  const app = await start({
    authenticate: (credentials) => {
      asked += 1;
      return authenticate(credentials);
    },
    accessLog: { write: (line) => lines.push(line) },
  });
  await preflightOf(app, thing);
  expect([asked, lines.length]).toEqual([0, 1]);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ method: "OPTIONS", route: "/things/{thing_id}", status: 204 });
});

test("an address whose methods name its parameter differently has one preflight", async () => {
  const routes = routesFor();
  const common = { summary: "A thing", access: { permission: "cases.read" as const } };
  const success = { status: 200 as const, shape: "flat" as const, schema: z.object({}), description: "Done" };
  const handle = async () => ({});
  const app = await start({
    routes: [
      routes.get("/one/{id}", "readOne", { ...common, success, handle }),
      routes.put("/one/{key}", "writeOne", { ...common, success, handle }),
    ],
  });
  expect((await preflightOf(app, "/one/1")).headers["access-control-allow-methods"]).toBe("GET, HEAD, PUT");
});
