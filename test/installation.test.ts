import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import type { Config } from "../src/config/config.ts";
import { checkInstallation } from "../src/installation.ts";
import { requireSecretKey } from "../src/secret-key.ts";
import { inWords } from "../src/kit/say.ts";
import { sampleCall } from "./database/samples.ts";
import { until } from "./discord/support.ts";
import { createTestDatabase } from "./support/database.ts";
import { createWorld } from "./support/world.ts";

async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "provost-installation-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function openEmpty() {
  const { database, drop } = await createTestDatabase();
  onTestFinished(drop);
  return database;
}

async function createConfig(): Promise<Config> {
  const dataDir = await createFolder();
  return {
    dataDir,
    auditCheckpoints: join(dataDir, "checkpoints.log"),
    erasureJournal: join(dataDir, "erasures.jsonl"),
    erasureJournalCopy: null,
    database: { url: "file:the-database" },
  } as Config;
}

test("a data folder goes with the database it was first used with, and with no other", async () => {
  const config = await createConfig();
  const [database, empty, foreign] = [await openEmpty(), await openEmpty(), await openEmpty()];
  const settle = (which: typeof database, acceptsOtherDatabase = false) =>
    checkInstallation({ database: which, config, acceptsOtherDatabase });
  const id = await settle(database);
  expect(await settle(database)).toBe(id);
  await expect(settle(empty)).rejects.toMatchObject({
    reason: "foreign_database",
    message: expect.stringMatching(/is empty.*--accept-empty-database/),
  });
  expect(await empty.instance.find()).toBeUndefined();
  const other = await foreign.instance.id();
  await expect(settle(foreign)).rejects.toThrow(/is that of another installation/);
  expect((await readFile(join(config.dataDir, "instance_id"), "utf8")).trim()).toBe(id);
  expect(await settle(foreign, true)).toBe(other);
  expect(await settle(foreign)).toBe(other);
  await expect(settle(database)).rejects.toThrow(/is that of another installation/);
});

test.each(["checkpoints.log", "erasures.jsonl", "evidence/ab12"])(
  "an empty database beside %s of an older version is refused",
  async (left) => {
    const config = await createConfig();
    const path = join(config.dataDir, left);
    await mkdir(join(path, ".."), { recursive: true });
    await writeFile(path, "");
    const database = await openEmpty();
    await expect(checkInstallation({ database, config, acceptsOtherDatabase: false })).rejects.toThrow(/is empty.*put its database back/);
    await expect(checkInstallation({ database, config, acceptsOtherDatabase: true })).resolves.toMatch(/^[\w-]{22}$/);
  },
);

test("a database that becomes that of another installation takes no further write, and takes them when it is right again", async () => {
  const database = await openEmpty();
  const id = await database.instance.id();
  const key = "instance_id";
  const set = (value: string) => database.write(sampleCall(), (tx) => tx.db.setting.update({ where: { key }, data: { value } }));
  await set("somebody-else");
  const refused = await until(() =>
    set("somebody-else").then(
      () => undefined,
      (error: unknown) => error,
    ),
  );
  expect(inWords(refused)).toMatchObject({ code: "storage_readonly", detail: expect.stringContaining("another installation") });
  await expect(database.check()).rejects.toMatchObject({ code: "storage_readonly" });
  expect(await database.instance.id()).toBe(id);
});

test.runIf(inject("dialect") === "sqlite")(
  "while the database file is away the service says so, and does not begin anew without it",
  async () => {
    const folder = await createFolder();
    const file = join(folder, "own.db");
    const world = await createWorld({ env: { DATABASE_URL: `file:${file}`, DATA_DIR: join(folder, "data") } });
    const actor = await world.staff("owner");
    let count = 0;
    const make = () => {
      const key = `pool${(count += 1).toString()}`;
      return world.post("/callsigns/pools", { key, name: key, template: "{n:03}", ranges: [[1, 900]] }, { actor });
    };
    expect((await make()).status).toBe(201);
    for (const end of ["", "-wal", "-shm"]) await rm(file + end, { force: true });
    const answer = await make();
    expect([answer.status, answer.body.code, answer.headers.get("retry-after")]).toEqual([503, "storage_readonly", "5"]);
    const health = await world.get("/health");
    expect([health.status, health.body.checks.storage.status]).toEqual([503, "fail"]);
    expect(health.body.checks.storage.reason).toMatch(/removed or replaced/);
    await expect(world.restart()).rejects.toThrow(/is empty.*--accept-empty-database/);
    await expect(world.restart()).rejects.toThrow(/is empty/);
    await world.restart({ acceptsOtherDatabase: true });
    expect((await world.get("/health", { key: null })).status).toBe(200);
  },
);

test("another secret key than the database was used with is refused, until it is accepted once; the first key is then the other one", async () => {
  const database = await openEmpty();
  const [first, second] = [randomBytes(32), randomBytes(32)];
  await requireSecretKey({ database, secretKey: first });
  await requireSecretKey({ database, secretKey: first });
  await expect(requireSecretKey({ database, secretKey: second })).rejects.toMatchObject({
    reason: "other_secret_key",
    message: expect.stringMatching(/^`SECRET_KEY` is another one .*--accept-new-secret-key/),
  });
  await requireSecretKey({ database, secretKey: second, acceptsNewKey: true });
  await requireSecretKey({ database, secretKey: second });
  await expect(requireSecretKey({ database, secretKey: first })).rejects.toThrow(/is another one/);
  const rows = JSON.stringify(await database.read.setting.findMany());
  for (const key of [first, second])
    for (const form of ["base64", "base64url", "hex"] as const) expect(rows).not.toContain(key.toString(form));
});

test("of two processes that use an empty database first with different keys, one is refused", async () => {
  const database = await openEmpty();
  const starts = await Promise.allSettled([randomBytes(32), randomBytes(32)].map((secretKey) => requireSecretKey({ database, secretKey })));
  expect(starts.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
});
