// @module-tag sqlite
import { hash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import type { Authenticate } from "../../src/operations/caller.ts";
import { type Route, routesFor, type UploadedFile } from "../../src/operations/route.ts";
import type { ServerTimeouts } from "../../src/http/listen.ts";
import { authenticate, startApp } from "./support.ts";

const routes = routesFor("things");

const maxBytes = 3 * 1024 * 1024;
const Flag = z.enum(["true", "false"]).transform((text) => text === "true");

interface Seen {
  body: unknown;
  file: UploadedFile | undefined;
  bytes: Buffer | undefined;
  mode: number | undefined;
}

function uploadRoute(folder: string, seen: Seen[]): Route {
  return routes.post("/things/file", "sendFile", {
    summary: "Send a file",
    access: { permission: "cases.create" },
    request: {
      body: z.strictObject({ title: z.string().min(2).optional(), secret: z.boolean().optional() }),
      upload: {
        field: "file",
        fields: z.strictObject({ title: z.string().optional(), secret: Flag.optional() }),
        maxBytes: () => maxBytes,
        folder: () => folder,
      },
    },
    success: { status: 201, shape: "single", schema: z.object({ sha256: z.string() }), description: "What arrived" },
    handle: async ({ body, file }) => {
      const bytes = file === undefined ? undefined : await readFile(file.path);
      seen.push({ body, file, bytes, mode: file === undefined ? undefined : (await stat(file.path)).mode & 0o777 });
      return { sha256: file?.sha256 ?? "" };
    },
  });
}

async function start({ timeouts, check }: { timeouts?: Partial<ServerTimeouts>; check?: (sha256: string) => void } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "provost-uploads-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const seen: Seen[] = [];
  const bound: Authenticate = async (credentials) => {
    const caller = await authenticate(credentials);
    return check === undefined ? caller : { ...caller, checkBody: check };
  };
  const { port, app, ask, raw } = await startApp({ routes: [uploadRoute(folder, seen)], authenticate: bound }, timeouts);
  const send = async (body: FormData | ReadableStream | Buffer, headers: Record<string, string> = {}) => {
    const response = await fetch(`http://127.0.0.1:${port.toString()}/things/file`, {
      method: "POST",
      headers: { Authorization: "Bearer key-all", ...headers },
      body: body as unknown as FormData,
      ...(body instanceof ReadableStream && { duplex: "half" }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, any> };
  };
  /** Nothing is left on the disk once the answer has gone. */
  const isEmpty = async (): Promise<void> => {
    const until = performance.now() + 10_000;
    while ((await readdir(folder)).length > 0 && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await readdir(folder)).toEqual([]);
  };
  return { folder, seen, port, app, ask, raw, send, isEmpty };
}

function form(bytes: Buffer, fields: Record<string, string> = {}, name = "proof.png"): FormData {
  const data = new FormData();
  for (const [field, value] of Object.entries(fields)) data.append(field, value);
  data.append("file", new Blob([new Uint8Array(bytes)]), name);
  return data;
}

const multipart = { "Content-Type": "multipart/form-data; boundary=XX" };
const part = (disposition: string, body: string): string => `--XX\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${body}\r\n`;
const ending = "--XX--\r\n";

test("a file arrives with its fields, its bytes and its hash, readable by the service alone, and is gone after the answer", async () => {
  const { seen, send, isEmpty } = await start();
  const bytes = randomBytes(100_000);
  const answer = await send(form(bytes, { title: "The raid", secret: "true" }, "été.png"));
  expect(answer.status).toBe(201);
  expect(answer.body["data"]).toEqual({ sha256: hash("sha256", bytes) });
  expect(seen).toHaveLength(1);
  expect(seen[0]?.body).toEqual({ title: "The raid", secret: true });
  expect(seen[0]?.file).toMatchObject({ name: "été.png", bytes: bytes.length, sha256: hash("sha256", bytes) });
  expect(seen[0]?.bytes?.equals(bytes)).toBe(true);
  expect(seen[0]?.mode).toBe(0o600);
  await isEmpty();
});

test("the same route still takes JSON, and refuses other types", async () => {
  const { seen, ask } = await start();
  expect((await ask({ method: "POST", path: "/things/file", body: { title: "none" } })).status).toBe(201);
  expect(seen).toEqual([{ body: { title: "none" }, file: undefined, bytes: undefined, mode: undefined }]);
  const other = await ask({ method: "POST", path: "/things/file", headers: { "Content-Type": "text/csv" }, body: "a,b" });
  expect([other.status, other.json["detail"]]).toEqual([415, "Send the body as application/json or multipart/form-data."]);
});

test("a file of exactly the limit passes; one byte more is refused while it arrives, with an answer the client can read", async () => {
  const { seen, send, isEmpty } = await start();
  expect((await send(form(randomBytes(maxBytes)))).status).toBe(201);
  const over = await send(form(randomBytes(maxBytes + 1)));
  expect([over.status, over.body["code"]]).toEqual([413, "body_too_large"]);
  expect(seen).toHaveLength(1);
  await isEmpty();
});

test("a body that never says how long it is stops being read at the limit", async () => {
  const { seen, send, isEmpty } = await start();
  let sent = 0;
  const endless = new ReadableStream({
    pull(controller) {
      const chunk =
        sent === 0 ? Buffer.from(`--XX\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n`) : Buffer.alloc(65_536);
      sent += chunk.length;
      if (sent > 500_000_000) controller.close();
      else controller.enqueue(new Uint8Array(chunk));
    },
  });
  const answer = await send(endless, multipart);
  expect([answer.status, answer.body["code"]]).toEqual([413, "body_too_large"]);
  expect(sent).toBeLessThan(200_000_000);
  expect(seen).toEqual([]);
  await isEmpty();
});

test.each([
  ["no file", part('name="title"', "a title"), [{ pointer: "/file", code: "required" }]],
  [
    "two files",
    part('name="file"; filename="a"', "one") + part('name="file"; filename="b"', "two"),
    [{ pointer: "/file", code: "too_many" }],
  ],
  [
    "a file of another name",
    part('name="file"; filename="a"', "one") + part('name="other"; filename="b"', "two"),
    [{ pointer: "/other", code: "unknown_field" }],
  ],
  [
    "a field nobody knows, and a value that is none",
    part('name="file"; filename="a"', "one") + part('name="status"', "x") + part('name="secret"', "maybe"),
    [
      { pointer: "/secret", code: "invalid_value" },
      { pointer: "/status", code: "unknown_field" },
    ],
  ],
  [
    "a field twice",
    part('name="title"', "one") + part('name="title"', "two") + part('name="file"; filename="a"', "x"),
    [{ pointer: "/title", code: "too_many" }],
  ],
  [
    "a field that is too long",
    part('name="title"', "x".repeat(20_000)) + part('name="file"; filename="a"', "x"),
    [{ pointer: "/title", code: "too_long" }],
  ],
  [
    "a field the body refuses",
    part('name="title"', "x") + part('name="file"; filename="a"', "x"),
    [{ pointer: "/title", code: "too_short" }],
  ],
  [
    "a field named like a part of every object",
    part('name="__proto__"', "x") + part('name="file"; filename="a"', "x"),
    [{ pointer: "/__proto__", code: "unknown_field" }],
  ],
])("%s: 422 with a pointer, and nothing is kept", async (_name, parts, errors) => {
  const { seen, send, isEmpty } = await start();
  const answer = await send(Buffer.from(parts + ending), multipart);
  expect(answer.status).toBe(422);
  const found = (answer.body["errors"] as { pointer: string; code: string }[]).map(({ pointer, code }) => ({ pointer, code }));
  expect(found.toSorted((a, b) => a.pointer.localeCompare(b.pointer))).toEqual(errors);
  expect(seen).toEqual([]);
  await isEmpty();
});

test.each([
  ["no boundary", "multipart/form-data; charset=utf-8", "--XX--\r\n"],
  ["a body that is no multipart", multipart["Content-Type"], "hello"],
  ["a file that ends in the middle", multipart["Content-Type"], part('name="file"; filename="a"', "one").slice(0, -4)],
  [
    "a field that ends in the middle",
    multipart["Content-Type"],
    `${part('name="file"; filename="a"', "one")}--XX\r\nContent-Disposition: form-`,
  ],
])("%s: 400, and nothing is kept", async (_name, type, body) => {
  const { seen, send, isEmpty } = await start();
  const answer = await send(Buffer.from(body), { "Content-Type": type });
  expect([answer.status, answer.body["code"]]).toEqual([400, "malformed_request"]);
  expect(seen).toEqual([]);
  await isEmpty();
});

const head = (length: number): string =>
  `POST /things/file HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer key-all\r\nContent-Type: ${multipart["Content-Type"]}\r\nContent-Length: ${length.toString()}\r\n\r\n`;
const beginning = '--XX\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';

test("an upload that breaks off leaves nothing behind and reaches no handler", async () => {
  const { folder, seen, port, isEmpty } = await start();
  const socket = connect(port, "127.0.0.1", () => socket.write(`${head(500_000)}${beginning}${"x".repeat(100_000)}`));
  socket.on("error", () => undefined);
  while ((await readdir(folder)).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  socket.destroy();
  await isEmpty();
  expect(seen).toEqual([]);
});

test("an upload that stalls is given up in time, one that moves may take longer than a body otherwise may", async () => {
  const { seen, raw, port, isEmpty } = await start({ timeouts: { request: 1000, check: 50 } });
  const stalled = await raw(`${head(500_000)}${beginning}${"x".repeat(1000)}`);
  expect(stalled).toMatch(/^HTTP\/1\.1 408 /);
  expect(stalled).toContain('"request_timeout"');
  expect(stalled.toLowerCase()).toContain("connection: close");
  await isEmpty();

  // A chunk every 50 ms: half as long again as the time a body otherwise has.
  const chunks = 30;
  const size = 10_000;
  const tail = "\r\n--XX--\r\n";
  const answer = await new Promise<string>((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let received = "";
    socket.on("data", (data) => {
      received += data.toString("latin1");
      if (received.includes("sha256")) socket.destroy();
    });
    socket.on("close", () => resolve(received));
    socket.on("error", reject);
    socket.write(head(beginning.length + chunks * size + tail.length) + beginning);
    let count = 0;
    const timer = setInterval(() => {
      count += 1;
      socket.write("x".repeat(size));
      if (count < chunks) return;
      clearInterval(timer);
      socket.write(tail);
    }, 50);
  });
  expect(answer).toMatch(/^HTTP\/1\.1 201 /);
  expect(seen).toHaveLength(1);
  expect(seen[0]?.file?.bytes).toBe(chunks * size);
  await isEmpty();
});

test("a stranger's file is refused before a byte of it is kept", async () => {
  const { folder, seen, send } = await start();
  const answer = await send(form(randomBytes(200_000)), { Authorization: "Bearer nobody" });
  expect(answer.status).toBe(401);
  expect(await readdir(folder)).toEqual([]);
  expect(seen).toEqual([]);
});

test("a signed assertion is bound to the bytes of the body as they were sent", async () => {
  const digests: string[] = [];
  const { send } = await start({ check: (sha256) => void digests.push(sha256) });
  const body = Buffer.from(part('name="file"; filename="a"', "one") + ending);
  expect((await send(body, multipart)).status).toBe(201);
  expect(digests).toEqual([hash("sha256", body, "base64url")]);
});

test("many small uploads at once all arrive whole", async () => {
  const { seen, send, isEmpty } = await start();
  const files = Array.from({ length: 12 }, (_, index) => randomBytes(50_000 + index));
  const answers = await Promise.all(files.map((bytes) => send(form(bytes))));
  expect(answers.map(({ body }) => body["data"].sha256)).toEqual(files.map((bytes) => hash("sha256", bytes)));
  expect(seen).toHaveLength(12);
  await isEmpty();
});

test("the document shows the file and its fields beside the JSON body", async () => {
  const { app } = await start();
  const { paths } = app.document() as { paths: Record<string, { post: { requestBody: { content: Record<string, { schema: any }> } } }> };
  const content = paths["/things/file"]?.post.requestBody.content ?? {};
  expect(Object.keys(content)).toEqual(["application/json", "multipart/form-data"]);
  expect(content["multipart/form-data"]?.schema).toMatchObject({
    type: "object",
    required: ["file"],
    properties: { file: { type: "string", format: "binary" }, title: { type: "string" }, secret: { enum: ["true", "false"] } },
  });
});
