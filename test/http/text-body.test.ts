// @module-tag sqlite
import { hash } from "node:crypto";
import { expect, test } from "vitest";
import { z } from "zod";
import type { Authenticate } from "../../src/operations/caller.ts";
import { type Route, routesFor } from "../../src/operations/route.ts";
import { authenticate, startApp } from "./support.ts";

const routes = routesFor("things");

const limit = 400_000;

/** A route that takes CSV or JSON and tells what it got. */
function importRoute(seen: unknown[]): Route {
  return routes.post("/things/import", "importThings", {
    summary: "Import things",
    access: { permission: "cases.create" },
    request: {
      body: z.strictObject({ csv: z.string().min(3).optional(), names: z.array(z.string()).optional() }),
      bodyLimit: limit,
      textBody: { type: "text/csv", field: "csv" },
    },
    success: { status: 200, shape: "single", schema: z.object({ length: z.int() }), description: "What arrived" },
    handle: async ({ body }) => {
      seen.push(body);
      return { length: body.csv?.length ?? -1 };
    },
  });
}

async function start(check?: (sha256: string) => void) {
  const seen: unknown[] = [];
  const bound: Authenticate = async (credentials) => {
    const caller = await authenticate(credentials);
    return check === undefined ? caller : { ...caller, checkBody: check };
  };
  const { ask, app } = await startApp({ routes: [importRoute(seen)], authenticate: bound });
  const send = (type: string, body: unknown) => ask({ method: "POST", path: "/things/import", headers: { "Content-Type": type }, body });
  return { seen, send, app };
}

test.each(["text/csv", "text/csv; charset=utf-8", 'TEXT/CSV;charset="UTF-8"'])("a body of %s arrives as one text", async (type) => {
  const { seen, send } = await start();
  const answer = await send(type, "user,reason\n1,grüße\n");
  expect(answer.status).toBe(200);
  expect(seen).toEqual([{ csv: "user,reason\n1,grüße\n" }]);
});

test("the same route still takes JSON, and its larger limit holds for both", async () => {
  const { seen, send } = await start();
  expect((await send("application/json", { names: ["a"] })).status).toBe(200);
  expect(seen).toEqual([{ names: ["a"] }]);
  expect((await send("text/csv", "x".repeat(limit))).json).toMatchObject({ data: { length: limit } });
  const long = await send("text/csv", "x".repeat(limit + 1));
  expect([long.status, long.json["code"]]).toEqual([413, "body_too_large"]);
  expect(seen).toHaveLength(2);
});

test("the text is checked by the schema of the body, and only the route's media types are taken", async () => {
  const { seen, send } = await start();
  const short = await send("text/csv", "ab");
  expect([short.status, short.json["errors"]]).toEqual([
    422,
    [{ pointer: "/csv", in: "body", code: "too_short", detail: expect.any(String) }],
  ]);
  const broken = await send("text/csv", Buffer.from([0x61, 0xff, 0x62, 0x63]));
  expect([broken.status, broken.json["code"]]).toEqual([400, "malformed_request"]);
  for (const type of ["text/plain", "text/csv; charset=latin1", "text/csv2", "text/csvx, application/json", ""]) {
    const other = await send(type, "a,b,c");
    expect([type, other.status]).toEqual([type, 415]);
    expect(other.json["detail"]).toBe("Send the body as application/json or text/csv.");
  }
  expect(seen).toEqual([]);
});

test("a signed assertion is bound to the bytes of the text as they were sent", async () => {
  const digests: string[] = [];
  const { send } = await start((sha256) => void digests.push(sha256));
  await send("text/csv", "a,b\r\n1,2\r\n");
  expect(digests).toEqual([hash("sha256", "a,b\r\n1,2\r\n", "base64url")]);
});

test("the document shows both media types of the body", async () => {
  const { app } = await start();
  const { paths } = app.document() as { paths: Record<string, { post: { requestBody: { content: Record<string, { schema: object }> } } }> };
  const content = paths["/things/import"]?.post.requestBody.content ?? {};
  expect(Object.keys(content)).toEqual(["application/json", "text/csv"]);
  expect(content["text/csv"]?.schema).toEqual({ type: "string" });
});
