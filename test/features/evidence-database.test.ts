// @module-tag slow
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createWorld } from "../support/world.ts";
import { download, listSomebody, upload } from "./evidence-ground.ts";
import { evidenceScenes } from "./evidence-scenes.ts";

const env = { EVIDENCE_STORE: "database" };

evidenceScenes({
  env,
  isThere: async ({ app: { database } }, sha256) => (await database.read.evidenceChunk.count({ where: { sha256 } })) > 0,
  overwrite: ({ app: { database } }, sha256, bytes) =>
    database.write(systemCall("cli", uuid7()), async ({ db }) => {
      await db.evidenceChunk.updateMany({ where: { sha256, position: 0 }, data: { bytes: new Uint8Array(bytes) } });
    }),
});

test("a file of several chunks comes back whole, also where a writer of the same bytes was cut off", async () => {
  const world = await createWorld({ env });
  const admin = await world.staff("admin");
  const path = await listSomebody(world, admin);
  const bytes = randomBytes(3_500_000);
  const { database } = world.app;
  const one = (await upload(world, `${path}/evidence`, { actor: admin, bytes })).body.data;
  await database.write(systemCall("cli", uuid7()), ({ db }) =>
    db.evidenceChunk.deleteMany({ where: { sha256: one.sha256, position: { gt: 1 } } }),
  );
  expect((await download(world, one.id, 0, admin)).status).toBe(500);
  const two = (await upload(world, `${path}/evidence`, { actor: admin, bytes })).body.data;
  expect(await database.read.evidenceChunk.count({ where: { sha256: one.sha256 } })).toBe(4);
  for (const { id } of [one, two]) expect((await download(world, id, 0, admin)).bytes.equals(bytes)).toBe(true);
  expect(await readdir(join(world.dataDir, "evidence"))).toEqual(["arriving"]);
});
