// @module-tag both
// @module-tag slow
import { appendFile, copyFile, cp, lstat, mkdir, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { gzipSync, gunzipSync } from "node:zlib";
import { afterAll, describe, expect, inject, test } from "vitest";
import BetterSqlite3 from "better-sqlite3";
import pg from "pg";
import { writeMarker } from "../../src/backup/marker.ts";
import { placeOf } from "../../src/database/refusals.ts";
import { makeBackup } from "../../src/backup/make.ts";
import { readConfig } from "../../src/config/config.ts";
import { sqliteFile } from "../../src/database/dialect.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { tier } from "../support/size.ts";
import { addEvidence, contentOf, createEmptyPlace, createOperator, createSource, startLoad } from "./ground.ts";
import { stopInstalled, whyNot } from "./installed-postgres.ts";

afterAll(stopInstalled);

const isPostgres = inject("dialect") === "postgres";
const limit = { timeout: 180_000 };

async function backupOf(operator: Awaited<ReturnType<typeof createOperator>>, env: Record<string, string>, ...more: string[]) {
  const made = await operator.provost(["backup", "--to", operator.backups, "--json", ...more], env);
  expect(made.code, made.stderr).toBe(0);
  return JSON.parse(made.stdout) as { path: string; point: string; removed: string[]; evidence: { deleted: string[]; files: number } };
}

describe.skipIf(whyNot !== undefined)("a backup", limit, () => {
  test("made under load has every write acknowledged before its point, and a restore loses again what was deleted later", async () => {
    const operator = await createOperator();
    const { world, admin, place } = await createSource(operator);
    const person = world.member("somebody");
    await world.post("/blacklist", { kind: "user", subject_id: person.id, subject_name: "somebody" }, { actor: admin });
    const began = Date.now();
    const load = startLoad(world, admin);
    await expect.poll(() => load.records.length, { timeout: 60_000 }).toBeGreaterThan(20);
    const made = await backupOf(operator, operator.envOf(place));
    await load.stop();
    const seconds = (Date.now() - began) / 1000;
    const writes = load.records.length + 2 * load.files.length;
    if (tier === "long") process.stdout.write(`${writes.toString()} writes in ${seconds.toString()} s\n`);
    await world.app.privacy.redact(systemCall("cli", uuid7()), person.id, { reason: "They asked for it in writing." });

    const whole = await operator.provost(["backup", "verify", made.path], operator.envOf(place));
    expect(whole, whole.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining("is whole: everything up to") });
    const target = await createEmptyPlace();
    // As the running service leaves it in the middle of the next line.
    const journal = join(place.dataDir, "erasures.jsonl");
    await appendFile(journal, '{"v":1,"id":"');
    const lines = await readFile(journal, "utf8");
    const restored = await operator.provost(["restore", made.path, "--journal", journal, "--json"], operator.envOf(target));
    expect(restored.code, restored.stderr).toBe(0);
    expect(restored.stderr).toContain(`${journal} ends with half a line, which was left out; all others count.`);
    expect(await readFile(journal, "utf8")).toBe(lines);
    // Nobody is to be asked again who was erased: two lines for one deletion.
    expect(JSON.parse(restored.stdout)).toMatchObject({ deletions_applied: 2, point: made.point });

    const { numbers, evidence, broken, actions, erasures, names } = await contentOf(target);
    const point = Date.parse(made.point);
    const acknowledged = (all: typeof load.records) => all.filter(({ at }) => at < point).map(({ what }) => what);
    expect(acknowledged(load.records).filter((number) => !numbers.includes(number))).toEqual([]);
    expect(acknowledged(load.files).filter((sha256) => !evidence.includes(sha256))).toEqual([]);
    expect(broken).toEqual([]);
    expect(names).toEqual([]);
    expect(actions).toContain("user.erase_again");
    expect(erasures).toHaveLength(2);
    const chain = await operator.provost(["audit", "verify"], operator.envOf(target));
    expect(chain).toMatchObject({ code: 0, stdout: expect.stringContaining("chain ok") });
    expect((await operator.provost(["keys", "list", "--json"], operator.envOf(target))).stdout).toContain('"world"');
  });

  test("is readable by its owner alone, is kept in the number asked for, and names evidence that was deleted meanwhile", async () => {
    const operator = await createOperator();
    const { world, admin, place } = await createSource(operator);
    const { sha256 } = await addEvidence(world, admin);
    const first = await backupOf(operator, operator.envOf(place));
    expect((await lstat(first.path)).mode & 0o777).toBe(0o600);
    const plain = await backupOf(operator, operator.envOf(place), "--plain");
    expect((await lstat(plain.path)).mode & 0o777).toBe(0o700);
    expect((await operator.provost(["backup", "verify", plain.path], operator.envOf(place))).code).toBe(0);
    await rm(join(place.dataDir, "evidence", sha256.slice(0, 2), sha256));
    // A backup is named after its second.
    await expect.poll(() => new Date().toISOString().slice(0, 19) > plain.point.slice(0, 19)).toBe(true);
    const later = await operator.provost(["backup", "--to", operator.backups, "--keep", "2"], operator.envOf(place));
    expect(later).toMatchObject({ code: 1, stdout: expect.stringContaining(`Deleted the older ${first.path}.`) });
    expect(later.stderr).toContain(`The evidence ${sha256} was already missing from \`DATA_DIR\` when the backup was made.`);
    const left = (await readdir(operator.backups)).filter((name) => name !== "erasures.jsonl");
    expect(left).toHaveLength(2);
    expect(left.filter((name) => name.includes("partial"))).toEqual([]);
  });

  test.runIf(!isPostgres)("that is looked at when it is made names what is wrong with it, and then no older one goes", async () => {
    const operator = await createOperator();
    const { place } = await createSource(operator);
    const verified = ["--verify", "--keep", "1"];
    const good = await backupOf(operator, operator.envOf(place), ...verified);
    expect(await readdir(operator.backups)).not.toContainEqual(expect.stringContaining("partial"));
    const db = new BetterSqlite3(sqliteFile(place.url), { timeout: 5000 });
    db.pragma("foreign_keys = OFF");
    db.exec("INSERT INTO case_labels (case_id, label) VALUES ('gone', 'late')");
    db.close();
    // A backup is named after its second.
    await expect.poll(() => new Date().toISOString().slice(0, 19) > good.point.slice(0, 19)).toBe(true);
    const later = await operator.provost(["backup", "--to", operator.backups, "--json", ...verified], operator.envOf(place));
    const orphan = "The database has references to rows that are not there (1).";
    expect([later.code, later.stderr]).toEqual([1, expect.stringContaining(orphan)]);
    expect(JSON.parse(later.stdout)).toMatchObject({ problems: [orphan], removed: [] });
    expect((await readdir(operator.backups)).filter((name) => name.endsWith(".tar.gz"))).toHaveLength(2);
  });

  test.runIf(!isPostgres)("names the evidence that was deleted after its point, and is whole without it", async () => {
    const operator = await createOperator();
    const { world, admin, place } = await createSource(operator);
    const { sha256 } = await addEvidence(world, admin);
    const env = operator.envOf(place);
    const reading = readConfig(env);
    if (!reading.ok) throw new Error(reading.lines.join());
    /** As a redaction does it: the row first, then the file. */
    const deleteNow = (): void => {
      const db = new BetterSqlite3(sqliteFile(place.url), { timeout: 5000 });
      db.exec("UPDATE evidence_files SET status = 'redacted', sha256 = NULL");
      db.close();
      rmSync(join(place.dataDir, "evidence", sha256.slice(0, 2), sha256));
    };
    const onProgress = (text: string): void => void (text.startsWith("database:") && deleteNow());
    const { path, manifest } = await makeBackup({ config: reading.config, evidenceKeys: null, to: operator.backups, onProgress });
    expect(manifest.evidence).toEqual({ deleted: [sha256], missing: [], changed: [] });
    expect(await operator.provost(["backup", "verify", path], env)).toMatchObject({ code: 0 });
  });

  test.each([
    ["a changed file", (folder: string) => appendFile(join(folder, "instance_id"), "x"), "instance_id is not as it was written"],
    ["a lost file", (folder: string) => rm(join(folder, "checkpoints.log"), { force: true }), "The file checkpoints.log is missing"],
    ["an added file", (folder: string) => writeFile(join(folder, "keys.txt"), "x"), "The file keys.txt is not in the manifest"],
    ["no manifest", (folder: string) => rm(join(folder, "manifest.json")), "has no manifest, so it is no whole backup"],
    [
      "lost evidence that the manifest no longer names",
      async (folder: string) => {
        const path = join(folder, "manifest.json");
        const manifest = JSON.parse(await readFile(path, "utf8"));
        manifest.files = manifest.files.filter(({ name }: { name: string }) => !name.startsWith("evidence/"));
        await writeFile(path, JSON.stringify(manifest));
        await rm(join(folder, "evidence"), { recursive: true });
      },
      "which the database names, is not in the backup",
    ],
  ] as const)("with %s is not whole, and is not put back", async (_, damage, text) => {
    const operator = await createOperator();
    const { world, admin, place } = await createSource(operator);
    await addEvidence(world, admin);
    await world.app.audit.signHead(systemCall("cli", uuid7()));
    const { path } = await backupOf(operator, operator.envOf(place), "--plain");
    const copy = join(operator.directory, "copy");
    await cp(path, copy, { recursive: true });
    await damage(copy);
    const scratch = await createEmptyPlace();
    const checked = await operator.provost(
      ["backup", "verify", copy, ...(isPostgres ? ["--database-url", scratch.url] : [])],
      operator.envOf(place),
    );
    expect(checked.stderr).toContain(text);
    expect(checked.code).toBe(1);
    const target = await createEmptyPlace();
    const refused = await operator.provost(["restore", copy], operator.envOf(target));
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(text)]);
  });

  test("that was cut off, or changed inside the archive, is told in a sentence", async () => {
    const operator = await createOperator();
    const { place } = await createSource(operator);
    const { path } = await backupOf(operator, operator.envOf(place));
    const cut = join(operator.directory, "cut.tar.gz");
    await copyFile(path, cut);
    await truncate(cut, 9000);
    expect((await operator.provost(["backup", "verify", cut])).stderr).toMatch(
      /cut\.tar\.gz is damaged or was cut off \(.*\)\. Take another backup\.\n$/,
    );
    const bytes = gunzipSync(await readFile(path));
    bytes[2000] = (bytes[2000] ?? 0) ^ 1;
    await writeFile(cut, gzipSync(bytes));
    expect((await operator.provost(["backup", "verify", cut])).stderr).toMatch(/The file database\.\w+ is not as it was written/);
  });
});

describe.skipIf(whyNot !== undefined)("a restore", limit, () => {
  test("goes only into an empty folder and an empty database, and with the key of the backup", async () => {
    const operator = await createOperator();
    const { place } = await createSource(operator);
    const { path } = await backupOf(operator, operator.envOf(place));
    const overFull = await operator.provost(["restore", path], operator.envOf(place));
    expect([overFull.code, overFull.stderr]).toEqual([
      1,
      expect.stringMatching(/is not empty \(.+\)\. A backup is only put into an empty folder/),
    ]);
    const target = await createEmptyPlace();
    const overDatabase = await operator.provost(["restore", path], operator.envOf({ ...target, url: place.url }));
    expect([overDatabase.code, overDatabase.stderr]).toEqual([1, expect.stringContaining("A backup is only put into an empty database")]);
    expect(await readdir(target.dataDir)).toEqual([]);
    const noJournal = await operator.provost(["restore", path, "--journal", "gone.jsonl"], operator.envOf(target));
    expect([noJournal.code, noJournal.stderr]).toEqual([1, "gone.jsonl does not exist. Check the path.\n"]);
    const other = { ...operator.envOf(target), SECRET_KEY: Buffer.alloc(32, 7).toString("base64") };
    const otherKey = await operator.provost(["restore", path], other);
    expect([otherKey.code, otherKey.stderr]).toEqual([
      1,
      expect.stringContaining("`SECRET_KEY` is another one than the backup was made with. Put the one of that installation into `.env`"),
    ]);
    expect(await readdir(target.dataDir)).toEqual([]);
  });

  test("that was cut off keeps the server and the commands away, and is begun anew by the same command", async () => {
    const operator = await createOperator();
    const { place } = await createSource(operator);
    const { path } = await backupOf(operator, operator.envOf(place));
    const target = await createEmptyPlace();
    // The journals are read when everything else is in its place.
    await writeFile(join(operator.directory, "notes"), "no journal\n");
    const failed = await operator.provost(["restore", path, "--journal", join(operator.directory, "notes")], operator.envOf(target));
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining(join(operator.directory, "notes"))]);
    const refused = await operator.provost(["serve"], operator.envOf(target));
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`Run \`provost restore ${path}\` again`)]);
    expect((await operator.provost(["keys", "list"], operator.envOf(target))).stderr).toContain("did not finish");
    const again = await operator.provost(["restore", path], operator.envOf(target));
    expect(again.code, again.stderr).toBe(0);
    expect((await operator.provost(["keys", "list", "--json"], operator.envOf(target))).stdout).toContain('"world"');
  });

  test.runIf(isPostgres)("ends what a killed restore left running, which would put its rows between the new ones", async () => {
    const operator = await createOperator();
    const { place } = await createSource(operator);
    const { path } = await backupOf(operator, operator.envOf(place));
    const target = await createEmptyPlace();
    await writeMarker(target.dataDir, { from: path, backup: "", database: placeOf(target.url) });
    const left = new pg.Client({ connectionString: target.url, application_name: "pg_restore" });
    left.on("error", () => undefined);
    await left.connect();
    await left.query("BEGIN; CREATE TABLE owners (id int)");
    const timer = setTimeout(() => void left.query("COMMIT").catch(() => undefined), 10_000);
    const again = await operator.provost(["restore", path], operator.envOf(target));
    clearTimeout(timer);
    await left.end().catch(() => undefined);
    expect(again.code, again.stderr).toBe(0);
  });

  test("keeps signed positions that outlived the data folder in a place of their own", async () => {
    const operator = await createOperator();
    const { place } = await createSource(operator);
    const { path } = await backupOf(operator, operator.envOf(place));
    const apart = join(operator.directory, "apart", "checkpoints.log");
    await mkdir(join(operator.directory, "apart"));
    await writeFile(apart, "newer\n");
    const target = await createEmptyPlace();
    const restored = await operator.provost(["restore", path], { ...operator.envOf(target), AUDIT_CHECKPOINTS: apart });
    expect(restored.code, restored.stderr).toBe(0);
    expect(await readFile(apart, "utf8")).toMatch(/^newer\n/);
  });
});

test.runIf(isPostgres)("without `pg_dump`, or with an older one, the operator is told what to install", limit, async () => {
  const operator = await createOperator();
  const { place } = await createSource(operator);
  const tools = join(operator.directory, "tools");
  await mkdir(tools);
  const backup = () => operator.provost(["backup", "--to", operator.backups], { ...operator.envOf(place), PATH: tools });
  expect(await backup()).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/`pg_dump`.* is not installed or not in `PATH`\. Install the client of PostgreSQL \d+ or newer/),
  });
  await writeFile(join(tools, "pg_dump"), "#!/bin/sh\necho 'pg_dump (PostgreSQL) 9.6'\n", { mode: 0o755 });
  expect(await backup()).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/is of PostgreSQL 9 and cannot work with .*, which is PostgreSQL \d+\. Install/),
  });
  expect(await readdir(operator.backups)).toEqual([]);
});
