import { hash, randomBytes } from "node:crypto";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createWorld, type World } from "../support/world.ts";
import { listSomebody, upload } from "./evidence-ground.ts";
import { evidenceScenes } from "./evidence-scenes.ts";

const placeOf = ({ dataDir }: World, sha256: string): string => join(dataDir, "evidence", sha256.slice(0, 2), sha256);

evidenceScenes({
  env: {},
  isThere: async (world, sha256) => (await stat(placeOf(world, sha256)).catch(() => undefined)) !== undefined,
  overwrite: (world, sha256, bytes) => writeFile(placeOf(world, sha256), bytes),
});

test("a file in the folder is for the service's own account alone", async () => {
  const world = await createWorld();
  const admin = await world.staff("admin");
  const bytes = randomBytes(100);
  await upload(world, `${await listSomebody(world, admin)}/evidence`, { actor: admin, bytes });
  expect((await stat(placeOf(world, hash("sha256", bytes)))).mode & 0o777).toBe(0o600);
});
