// @module-tag slow
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createFolderStore } from "../../src/features/evidence/stores/folder.ts";
import { createWorld } from "../support/world.ts";
import { download, fileRequest } from "./evidence-ground.ts";

const megabyte = 1024 * 1024;
const size = 100 * megabyte;

test("a file of a hundred megabytes comes and goes without being held in memory", async () => {
  const world = await createWorld({ env: { EVIDENCE_MAX_BYTES: size.toString() } });
  const moderator = await world.staff("moderator");
  const path = await fileRequest(world, moderator);
  const piece = randomBytes(megabyte);
  const sha256 = createHash("sha256");
  for (let count = 0; count < size / megabyte; count += 1) sha256.update(piece);
  const beginning = '--XX\r\nContent-Disposition: form-data; name="file"; filename="film.bin"\r\n\r\n';
  const ending = "\r\n--XX--\r\n";
  const head = [
    `POST ${path}/evidence HTTP/1.1`,
    "Host: localhost",
    `Authorization: Bearer ${world.key}`,
    `X-Acting-User: ${moderator.id}`,
    "Content-Type: multipart/form-data; boundary=XX",
    `Content-Length: ${(beginning.length + size + ending.length).toString()}`,
    "Connection: close",
  ].join("\r\n");

  const before = process.memoryUsage().rss;
  let peak = before;
  const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 5);
  // The same bytes again and again: what grows is the service.
  const socket = connect(Number(new URL(world.url).port), "127.0.0.1");
  socket.write(`${head}\r\n\r\n${beginning}`);
  for (let count = 0; count < size / megabyte; count += 1) if (!socket.write(piece)) await once(socket, "drain");
  socket.write(ending);
  const answer = Buffer.concat((await socket.toArray()) as Buffer[]).toString();
  clearInterval(watch);
  expect(answer).toMatch(/^HTTP\/1\.1 201 /);
  const { data } = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n"))) as {
    data: { id: string; sha256: string; file: { bytes: number } };
  };
  expect([data.file.bytes, data.sha256]).toEqual([size, sha256.digest("hex")]);
  expect(peak - before).toBeLessThan(80 * megabyte);
  const back = await download(world, data.id, 0, moderator);
  expect(createHash("sha256").update(back.bytes).digest("hex")).toBe(data.sha256);
  expect(await readdir(world.app.evidence.arriving)).toEqual([]);
});

test("a folder of evidence that cannot be written is named at the start", async () => {
  const folder = await mkdtemp(join(tmpdir(), "provost-evidence-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const taken = join(folder, "evidence");
  await writeFile(taken, "a file, not a folder");
  await expect(createFolderStore(folder).prepare()).rejects.toThrow(`\`DATA_DIR\`: ${taken} is a file, or lies below one. Name a folder.`);
});
