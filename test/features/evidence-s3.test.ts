// @module-tag slow
import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { startS3Server } from "../support/s3-server.ts";
import { createWorld } from "../support/world.ts";
import { evidenceScenes } from "./evidence-scenes.ts";

const server = await startS3Server();
afterAll(server.stop);
const fileOf = (sha256: string): string => server.fileOf(`evidence/${sha256.slice(0, 2)}/${sha256}`);

evidenceScenes({
  env: server.env(),
  isThere: async (_world, sha256) => (await stat(fileOf(sha256)).catch(() => undefined)) !== undefined,
  overwrite: (_world, sha256, bytes) => writeFile(fileOf(sha256), bytes),
});
