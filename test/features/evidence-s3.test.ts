// @module-tag slow
import { randomBytes } from "node:crypto";
import { createServer } from "node:net";
import { readdir, stat, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { createS3Store } from "../../src/features/evidence/stores/s3.ts";
import { shareWorld } from "../contract/world.ts";
import { slowDown, startS3Server } from "../support/s3-server.ts";
import { createWorld } from "../support/world.ts";
import { download, listSomebody, upload } from "./evidence-ground.ts";
import { evidenceScenes } from "./evidence-scenes.ts";

const server = await startS3Server();
afterAll(server.stop);
const fileOf = (sha256: string): string => server.fileOf(`evidence/${sha256.slice(0, 2)}/${sha256}`);

evidenceScenes({
  env: server.env(),
  isThere: async (_world, sha256) => (await stat(fileOf(sha256)).catch(() => undefined)) !== undefined,
  overwrite: (_world, sha256, bytes) => writeFile(fileOf(sha256), bytes),
});

describe("a bucket that fails", () => {
  const shared = shareWorld({ env: server.env("failing") });
  beforeEach(server.mend);

  /** Try to add a file. @returns what is answered, and how the bucket is seen by `/health` */
  async function add(bytes = randomBytes(100_000)) {
    const { world } = shared;
    const actor = await world.staff("admin");
    const path = await listSomebody(world, actor);
    const answer = await upload(world, `${path}/evidence`, { actor, bytes });
    return { answer, actor, listed: (await world.get(`${path}/evidence`, { actor })).body.data.length as number };
  }
  const arriving = () => readdir(shared.world.app.evidence.arriving);

  test("refuses for now, keeps nothing half, and goes on where the server comes back", async () => {
    await server.goAway();
    try {
      const { answer, listed } = await add();
      expect([answer.status, answer.body.code, answer.headers.get("retry-after"), listed]).toEqual([503, "storage_busy", "5", 0]);
      expect(await shared.world.app.evidence.trouble()).toBe(
        `\`EVIDENCE_STORE\`: s3://moderation/failing at ${server.endpoint} cannot be used: connection refused. See that the server runs, and that this machine reaches it.`,
      );
    } finally {
      await server.comeBack();
    }
    const { answer, actor } = await add();
    expect(answer.status).toBe(201);
    expect((await download(shared.world, answer.body.data.id, 0, actor)).status).toBe(200);
  });

  test("because it has too much to do is asked again, and refuses where that goes on", async () => {
    let left = 2;
    server.breakWith((request, response) => request.method === "PUT" && left-- > 0 && slowDown(request, response));
    expect((await add()).answer.status).toBe(201);
    server.breakWith(slowDown);
    const { answer, listed } = await add();
    expect([answer.status, answer.body.code, listed]).toEqual([503, "storage_busy", 0]);
  });

  test("in the middle of an upload leaves no row, and what arrived is deleted later", async () => {
    server.breakWith((request) => {
      if (request.method !== "PUT") return false;
      request.once("data", () => request.socket.destroy());
      return true;
    });
    const { answer, listed } = await add(randomBytes(2_000_000));
    expect([answer.status, answer.body.code, listed]).toEqual([503, "storage_busy", 0]);
    for (const name of await arriving()) expect(name).toMatch(/^upload-/);
  });

  test("in the middle of a download never ends it as if it were whole", async () => {
    const { answer, actor } = await add();
    server.breakWith((request, response) => {
      if (request.method !== "GET") return false;
      response.writeHead(200, { "content-length": "100000" });
      response.write(randomBytes(50_000), () => setTimeout(() => response.destroy(), 50));
      return true;
    });
    await expect(download(shared.world, answer.body.data.id, 0, actor)).rejects.toThrow();
    server.breakWith(slowDown);
    expect((await download(shared.world, answer.body.data.id, 0, actor)).status).toBe(503);
  });

  test("when a row goes keeps the file until the sweep", async () => {
    const { answer, actor } = await add();
    const { id, sha256 } = answer.body.data as { id: string; sha256: string };
    const kept = server.fileOf(`failing/${sha256.slice(0, 2)}/${sha256}`);
    server.breakWith(slowDown);
    expect((await shared.world.post(`/evidence/${id}/redact`, { reason: "Shows a home." }, { actor })).status).toBe(200);
    await shared.world.app.evidence.drained();
    expect((await stat(kept)).isFile()).toBe(true);
  });

  test("by never answering is waited for no longer than it takes", async () => {
    const silent = createServer(() => undefined).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as { port: number };
    const store = createS3Store({ ...placeOf(`http://127.0.0.1:${port.toString()}`), answerMs: 200 });
    expect(await store.prepare()).toMatch(/cannot be used: .*See that the server runs/);
    await expect(store.has("0".repeat(64), 1)).rejects.toMatchObject({ code: "storage_busy" });
    silent.close();
  });
});

const placeOf = (endpoint: string) => ({
  name: "s3://moderation/tried",
  bucket: "moderation",
  prefix: "tried",
  region: "us-east-1",
  pathStyle: true,
  instanceId: "one",
  keys: { accessKeyId: "S3RVER00", secretAccessKey: "S3RVER-secret" },
  endpoint,
});

test.each([
  [
    "another secret key",
    { keys: { accessKeyId: "S3RVER00", secretAccessKey: "another-one" } },
    "SignatureDoesNotMatch",
    "Check `EVIDENCE_S3_SECRET_KEY`.",
  ],
  [
    "an unknown access key",
    { keys: { accessKeyId: "nobody", secretAccessKey: "another-one" } },
    "InvalidAccessKeyId",
    "Check `EVIDENCE_S3_ACCESS_KEY`",
  ],
  ["a bucket that is not there", { bucket: "other" }, "NoSuchBucket", "Make it, or name another one in `EVIDENCE_STORE`."],
])("a start with %s is refused with what mends it", async (_what, change, code, mend) => {
  const refusal = await createS3Store({ ...placeOf(server.endpoint), ...change })
    .prepare()
    .catch((error: unknown) => error);
  expect(refusal).toMatchObject({ name: "OperatorError", message: expect.stringContaining(`cannot be used: ${code}`) });
  expect((refusal as Error).message).toContain(mend);
  expect(JSON.stringify(refusal) + String((refusal as Error).cause)).not.toMatch(/another-one|Signature=/);
});

test("a prefix with the files of another installation is refused", async () => {
  const place = { ...placeOf(server.endpoint), prefix: "claimed", name: "s3://moderation/claimed" };
  expect(await createS3Store(place).prepare()).toBeUndefined();
  await expect(createS3Store({ ...place, instanceId: "two" }).prepare()).rejects.toThrow(
    "`EVIDENCE_STORE`: s3://moderation/claimed has the files of another installation (one), and this one would delete them. Name another prefix.",
  );
});

test("what is deleted from a bucket that keeps versions is gone with all of them, however many there are", async () => {
  server.mend();
  const store = createS3Store({ ...placeOf(server.endpoint), prefix: "versions", name: "s3://moderation/versions" });
  const versions = server.keepVersions(3);
  try {
    const sha256 = "ab".repeat(32);
    const key = `versions/ab/${sha256}`;
    for (let count = 0; count < 7; count += 1) versions.add(key, count % 3 === 2);
    versions.add(`${key}-of-another`, false);
    await store.remove(sha256);
    expect(versions.of(key)).toEqual([]);
    expect(versions.of(`${key}-of-another`)).toHaveLength(1);
    expect(versions.pages).toEqual(["", `${key} version-5`, `${key} version-2`]);
  } finally {
    server.mend();
  }
});

test("a bucket that cannot be reached is told of at the start, which goes on", async () => {
  const lines: string[] = [];
  await server.goAway();
  try {
    const world = await createWorld({ env: server.env("away"), log: (line) => lines.push(line) });
    const { body } = await world.get("/health");
    expect(body.checks.evidence_store).toMatchObject({ status: "fail", reason: expect.stringContaining("connection refused") });
    expect((await world.get("/readyz")).status).toBe(200);
  } finally {
    await server.comeBack();
  }
  expect(lines.join()).toContain("s3://moderation/away");
  expect(lines.join()).not.toContain("S3RVER-secret");
});
