import { copyFile, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import BetterSqlite3 from "better-sqlite3";
import { expect, inject, test } from "vitest";
import { sqliteFile } from "../../src/database/dialect.ts";
import { validEnvironment } from "../config/environment.ts";
import { createEmptyCopy } from "../support/database.ts";
import { createWorkplace, dotEnv } from "./run.ts";

/** An installation with a few entries, whose stops have signed the head. */
async function createInstallation() {
  const database = await createEmptyCopy();
  const work = await createWorkplace(dotEnv({ ...validEnvironment(), DATABASE_URL: database.url, SQLITE_SYNCHRONOUS: "normal" }));
  await work.here(["bootstrap", "--offline"]);
  return {
    ...work,
    url: database.url,
    async [Symbol.asyncDispose]() {
      await work[Symbol.asyncDispose]();
      await database.remove();
    },
  };
}

test("the chain is verified in the database, in an export and by an outsider with the public key alone", async () => {
  await using work = await createInstallation();
  const verified = await work.provost(["audit", "verify"]);
  expect(verified).toEqual({ code: 0, stdout: expect.stringMatching(/^\d+ entr\w+, 1 checkpoint, chain ok\n$/), stderr: "" });
  const signed = JSON.parse((await work.here(["audit", "checkpoint"])).stdout);
  const exported = await work.here(["audit", "export", "--out", "audit.ndjson"]);
  expect(exported).toMatchObject({ code: 0, stdout: "" });

  await using outside = await createWorkplace();
  for (const name of ["audit.ndjson", "data/checkpoints.log"])
    await copyFile(join(work.directory, name), join(outside.directory, name.replace("data/", "")));
  const argv = ["audit", "verify", "--file", "audit.ndjson", "--checkpoints", "checkpoints.log", "--json"];
  const proved = await outside.here([...argv, "--public-key", signed.key.public_key]);
  expect({ code: proved.code, stderr: proved.stderr }).toEqual({ code: 0, stderr: "" });
  expect(JSON.parse(proved.stdout)).toMatchObject({ ok: true, checkpoints: 1 });
  const unproved = await outside.here(argv);
  expect(JSON.parse(unproved.stdout)).toMatchObject({ ok: true, checkpoints: 0 });
  expect(JSON.parse(unproved.stdout).checkpoint_warnings).toContainEqual({ kind: "other_key", count: 1 });

  const lines = await readFile(join(outside.directory, "audit.ndjson"), "utf8");
  await writeFile(join(outside.directory, "audit.ndjson"), lines.replace('"action":"', '"action":"x'));
  const broken = await outside.here(["audit", "verify", "--file", "audit.ndjson"]);
  expect(broken).toMatchObject({ code: 1, stdout: "chain broken at entry 1: entry_changed\n" });
  expect(await outside.here(["audit", "verify", "--file", "nothing.ndjson"])).toMatchObject({ code: 2, stdout: "" });
  expect(await outside.here([...argv, "--public-key", "short"])).toMatchObject({ code: 2, stdout: "" });
});

test.runIf(inject("dialect") === "sqlite")("a backup is told apart from a chain whose end was cut off", async () => {
  await using work = await createInstallation();
  const backup = join(work.directory, "backup.db");
  await copyFile(sqliteFile(work.url), backup);
  await work.here(["keys", "create", "--name", "more", "--scopes", "staff.read"]);
  const check = (...more: string[]) => work.here(["audit", "verify", "--database", "backup.db", ...more]);
  expect(await check()).toMatchObject({ code: 1, stdout: expect.stringMatching(/^chain broken at entry \d+: tail_missing\n$/) });
  expect(await check("--backup")).toMatchObject({ code: 0, stdout: expect.stringContaining("1 checkpoint, chain ok") });

  for (const part of ["-wal", "-shm"]) await rm(`${sqliteFile(work.url)}${part}`, { force: true });
  await copyFile(backup, sqliteFile(work.url));
  const accept = (...more: string[]) => work.here(["audit", "checkpoint", "--after-restore", "--reason", "The disk was lost.", ...more]);
  expect(await accept()).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(/does not have: 1, from 20.*add `--yes`/s) });
  expect(await accept("--yes")).toMatchObject({ code: 0, stdout: expect.stringContaining('"checkpoint":{') });
  expect(await work.here(["audit", "verify"])).toEqual({
    code: 0,
    stdout: expect.stringContaining("2 entries, 2 checkpoints, chain ok"),
    stderr: "1 of the signed positions were left behind when a backup was put back\n",
  });

  const db = new BetterSqlite3(backup);
  db.exec("DROP TRIGGER audit_entries_refuse_update");
  db.exec("UPDATE audit_entries SET action = 'x' WHERE seq = 1");
  db.close();
  expect(await check("--backup")).toMatchObject({ code: 1, stdout: "chain broken at entry 1: entry_changed\n" });
});
