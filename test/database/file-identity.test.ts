// @module-tag sqlite
// @module-tag slow
import { execFile } from "node:child_process";
import { copyFile, rename, rm, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import BetterSqlite3 from "better-sqlite3";
import { expect, onTestFinished, test, vi } from "vitest";
import { openDatabase } from "../../src/database/database.ts";
import { keepAlive } from "../../src/database/keep-alive.ts";
import { until } from "../discord/support.ts";
import { addOwner, ownerIds, sampleCall } from "./samples.ts";
import { createSqliteDatabase } from "./sqlite-file.ts";
import { copyElsewhere } from "../support/elsewhere.ts";

const refusal = { code: "storage_readonly", message: expect.stringContaining("removed or replaced") };

const logRefusal = { code: "storage_readonly", message: expect.stringContaining("write-ahead log") };

/** Two databases, the first of which has been used. */
async function createTwo() {
  const logger = { info: vi.fn(), warn: vi.fn(), error: vi.fn() };
  const [first, second] = [await createSqliteDatabase({ logger }), await createSqliteDatabase()];
  const add = (id: string) => first.database.write(sampleCall(), (tx) => addOwner(tx, id));
  await add("a");
  return { ...first, add, other: second.file, logger };
}

/** The owners that somebody sees who opens what is on the disk now, as after a crash. */
async function ownersOnDisk(file: string): Promise<string[]> {
  await copyElsewhere(file, `${file}.crashed`);
  await copyElsewhere(`${file}-wal`, `${file}.crashed-wal`).catch(() => undefined);
  const crashed = await openDatabase({ url: `file:${file}.crashed` });
  onTestFinished(() => crashed.close());
  return ownerIds(crashed.read);
}

test("a database file that is deleted takes no further write, and takes them again when it is back", async () => {
  const { file, database, add } = await createTwo();
  await rename(file, `${file}.away`);
  await expect(add("b")).rejects.toMatchObject(refusal);
  await expect(database.check()).rejects.toMatchObject(refusal);
  await rename(`${file}.away`, file);
  await add("c");
  expect(await ownerIds(database.read)).toEqual(["a", "c"]);
});

test("a database file that is replaced by another takes no further write", async () => {
  const { file, database, add, other } = await createTwo();
  await copyElsewhere(other, `${file}.new`);
  await rename(`${file}.new`, file);
  await expect(add("b")).rejects.toMatchObject(refusal);
  await expect(database.check()).rejects.toMatchObject(refusal);
});

test("a database file that another is written over takes no further write within a second", async () => {
  const { file, add, other } = await createTwo();
  await copyElsewhere(other, file);
  let count = 0;
  const refused = await until(() =>
    add(`b${(count += 1).toString()}`).then(
      () => undefined,
      (error: unknown) => error,
    ),
  );
  expect(refused).toMatchObject({ code: "storage_readonly" });
});

test("a transaction in whose course the file is deleted is not acknowledged", async () => {
  const { file, database } = await createTwo();
  const write = database.write(sampleCall(), async (tx) => {
    await addOwner(tx, "b");
    await rename(file, `${file}.away`);
  });
  await expect(write).rejects.toMatchObject(refusal);
  await rename(`${file}.away`, file);
  expect(await ownerIds(database.read)).toEqual(["a"]);
});

test("a database file that is gone is not made anew", async () => {
  const { file, database, add } = await createTwo();
  await rm(file);
  await expect(add("b")).rejects.toMatchObject(refusal);
  await database.close();
  await expect(copyFile(file, `${file}.copy`)).rejects.toMatchObject({ code: "ENOENT" });
});

/** What other programs do to the two files beside an open database. */
const losses: Record<string, (file: string) => Promise<unknown>> = {
  "the log is deleted": (file) => rm(`${file}-wal`),
  "the log and its index are deleted": (file) => Promise.all([rm(`${file}-wal`), rm(`${file}-shm`)]),
  "the log is moved away": (file) => rename(`${file}-wal`, `${file}-wal.away`),
  "the log is replaced by an empty file": async (file) => {
    await rm(`${file}-wal`);
    await writeFile(`${file}-wal`, "");
  },
  "the log is replaced by another one": async (file) => {
    await copyElsewhere(`${file}-wal`, `${file}-wal.new`);
    await rename(`${file}-wal.new`, `${file}-wal`);
  },
  "the index of the log is deleted": (file) => rm(`${file}-shm`),
  "the index of the log is replaced by another one": async (file) => {
    await copyElsewhere(`${file}-shm`, `${file}-shm.new`);
    await rename(`${file}-shm.new`, `${file}-shm`);
  },
};

test.each(Object.entries(losses))(
  "when %s, no further write is confirmed, the log says so once, and a crash loses none of the confirmed ones",
  async (_, lose) => {
    const { file, database, add, logger } = await createTwo();
    await lose(file);
    await expect(add("b")).rejects.toMatchObject(logRefusal);
    await expect(add("c")).rejects.toMatchObject(logRefusal);
    await expect(database.check()).rejects.toMatchObject(logRefusal);
    const said = logger.error.mock.calls.filter(([, text]) => String(text).includes("removed or replaced"));
    expect(said).toEqual([[{ file: expect.stringMatching(/-(wal|shm)$/) }, expect.stringContaining("write-ahead log")]]);
    expect(await ownersOnDisk(file)).toEqual(["a"]);
    expect(await ownerIds(database.read)).toEqual(["a"]);
  },
);

test("a log that was away stays lost when it is put back, as others may have written meanwhile", async () => {
  const { file, add } = await createTwo();
  await rename(`${file}-wal`, `${file}-wal.away`);
  await expect(add("b")).rejects.toMatchObject(logRefusal);
  await rename(`${file}-wal.away`, `${file}-wal`);
  await expect(add("c")).rejects.toMatchObject(logRefusal);
});

test("a write whose log is deleted before its commit is answered is not confirmed, and one before its commit is rolled back", async () => {
  const { file, database } = await createTwo();
  const write = database.write(sampleCall(), async (tx) => {
    await addOwner(tx, "b");
    await rm(`${file}-wal`);
  });
  await expect(write).rejects.toMatchObject(logRefusal);
  expect(await ownerIds(database.read)).toEqual(["a"]);
  expect(await ownersOnDisk(file)).toEqual(["a"]);
});

test("after a restart a database whose log was deleted takes writes again, and has every confirmed one", async () => {
  const { file, database, add } = await createTwo();
  await rm(`${file}-wal`);
  await expect(add("b")).rejects.toMatchObject(logRefusal);
  await database.close();
  const again = await openDatabase({ url: `file:${file}` });
  onTestFinished(() => again.close());
  await again.write(sampleCall(), (tx) => addOwner(tx, "c"));
  expect(await ownerIds(again.read)).toEqual(["a", "c"]);
});

test("what only a deleted log has is moved into the database as soon as the program that prevents it has ended", async () => {
  const { file, database, add, logger } = await createTwo();
  const reader = keepAlive(new BetterSqlite3(file));
  onTestFinished(() => void reader.close());
  reader.exec("BEGIN");
  expect(reader.prepare("SELECT count(*) FROM owners").pluck().get()).toBe(1);
  await add("b");
  await rm(`${file}-wal`);
  await expect(add("c")).rejects.toMatchObject(logRefusal);
  expect(logger.error).toHaveBeenLastCalledWith(expect.anything(), expect.stringContaining("only in the lost log"));
  expect(logger.warn).not.toHaveBeenCalled();
  reader.exec("COMMIT");
  await expect(database.check()).rejects.toMatchObject(logRefusal);
  expect(logger.warn).toHaveBeenCalledExactlyOnceWith({}, expect.stringContaining("were moved"));
  expect(await ownersOnDisk(file)).toEqual(["a", "b"]);
});

/** A process that opens what has the names now, adds an owner, and closes it. */
async function addElsewhere(file: string, id: string): Promise<void> {
  const script = `const db = new (require("better-sqlite3"))(process.argv[1]);
    db.prepare("INSERT INTO owners (user_id, created_by, created_at) VALUES (?, 'test', 0)").run(process.argv[2]); db.close()`;
  await promisify(execFile)(process.execPath, ["-e", script, file, id]);
}

test("where another program has written to another log meanwhile, what was confirmed is saved in a copy, and the other program's writes stay", async () => {
  const { file, database, add, logger } = await createTwo();
  await Promise.all(["-wal", "-shm"].map((part) => rm(file + part)));
  await addElsewhere(file, "elsewhere");
  await expect(add("b")).rejects.toMatchObject(logRefusal);
  const [[{ file: copy }]] = logger.error.mock.calls.filter(([, text]) => String(text).includes("had confirmed")) as [[{ file: string }]];
  await database.close();
  const [saved, others] = [await openDatabase({ url: `file:${copy}` }), await openDatabase({ url: `file:${file}` })];
  onTestFinished(() => Promise.all([saved.close(), others.close()]).then(() => undefined));
  expect(await ownerIds(saved.read)).toEqual(["a"]);
  expect(await ownerIds(others.read)).toContain("elsewhere");
  const sound = await others.read.$queryRaw<{ integrity_check: string }[]>`PRAGMA integrity_check`;
  expect(sound).toEqual([{ integrity_check: "ok" }]);
});

test("what another program adds to the log by another index of it stays when the service ends", async () => {
  const { file, database, add } = await createTwo();
  await rm(`${file}-shm`);
  await addElsewhere(file, "elsewhere");
  await expect(add("b")).rejects.toMatchObject(logRefusal);
  await database.close();
  const again = await openDatabase({ url: `file:${file}` });
  onTestFinished(() => again.close());
  expect(await ownerIds(again.read)).toEqual(["a", "elsewhere"]);
});
