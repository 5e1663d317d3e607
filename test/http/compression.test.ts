// @module-tag sqlite
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { z } from "zod";
import { routesFor } from "../../src/operations/route.ts";
import { startApp } from "./support.ts";

const routes = routesFor();

const Thing = z.object({ id: z.string(), name: z.string() });
const many = routes.get("/many", "listMany", {
  summary: "Many",
  access: { permission: "cases.read" },
  request: { query: z.strictObject({ few: z.string().optional() }) },
  success: { status: 200, shape: "list", schema: Thing, description: "Many" },
  handle: async ({ query }) => ({
    data: Array.from({ length: query.few === undefined ? 200 : 1 }, (_, index) => ({ id: index.toString(), name: "a thing" })),
    limit: 200,
    next_cursor: null,
  }),
});

test("a long list comes compressed to those who take that, with all that its headers say", async () => {
  const { port, ask } = await startApp({ routes: [many] });
  const plain = await ask({ path: "/many" });
  expect(plain.headers["content-encoding"]).toBeUndefined();
  const response = await fetch(`http://127.0.0.1:${port.toString()}/many`, { headers: { Authorization: "Bearer key-all" } });
  expect(response.headers.get("content-encoding")).toBe("gzip");
  expect(response.headers.get("vary")).toBe("Accept-Encoding");
  expect(response.headers.get("ratelimit")).toMatch(/^"read";r=/);
  expect(response.headers.get("x-request-id")).not.toBe(plain.headers["x-request-id"]);
  expect(((await response.json()) as { data: unknown[] }).data).toEqual(plain.json["data"]);
});

test("a short list, a single record and a refusal come as they are", async () => {
  const { ask } = await startApp();
  for (const path of ["/things?limit=1", "/things/80351110224678912", "/nowhere"]) {
    const answer = await ask({ path, headers: { "Accept-Encoding": "gzip" } });
    expect(answer.headers["content-encoding"]).toBeUndefined();
    expect(Number(answer.headers["content-length"])).toBe(Buffer.byteLength(answer.text));
  }
});

test("HEAD of a long list says nothing of a body that is not there", async () => {
  const { ask } = await startApp({ routes: [many] });
  const answer = await ask({ method: "HEAD", path: "/many", headers: { "Accept-Encoding": "gzip" } });
  expect([answer.status, answer.text]).toEqual([200, ""]);
});

test("app.request() asks without a socket", async () => {
  const { app } = await startApp({ routes: [many] });
  const response = await app.request("/many", { headers: { Authorization: "Bearer key-all", "Accept-Encoding": "gzip" } });
  const body = JSON.parse(gunzipSync(Buffer.from(await response.arrayBuffer())).toString()) as { data: unknown[] };
  expect(body.data).toHaveLength(200);
});
