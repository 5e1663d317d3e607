// @module-tag sqlite
import { execFile, spawnSync } from "node:child_process";
import { existsSync, linkSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { openDatabase } from "../../src/database/database.ts";
import { addOwner, ownerIds, sampleCall } from "./samples.ts";
import { createSqliteDatabase } from "./sqlite-file.ts";

const run = promisify(execFile);
const hasShell = spawnSync("sqlite3", ["-version"]).status === 0;

/** Another process opens the file, counts the owners, and closes it. One that believes itself the last to close it deletes the log. */
async function countElsewhere(file: string): Promise<number> {
  const query = "SELECT count(*) FROM owners";
  const script = `const db = new (require("better-sqlite3"))(process.argv[1]); console.log(db.prepare("${query}").pluck().get()); db.close()`;
  const { stdout } = await (hasShell ? run("sqlite3", [file, query]) : run(process.execPath, ["-e", script, file]));
  return Number(stdout);
}

/** The locks that this process holds on a file, as the kernel lists them: `1: POSIX ADVISORY READ 4242 fe:01:131 1073741826 1073742335`. */
function locksOn(file: string): string[] {
  const inode = statSync(file).ino.toString();
  return readFileSync("/proc/locks", "utf8")
    .split("\n")
    .filter((line) => line.includes(` ${process.pid.toString()} `) && line.split(" ").some((word) => word.endsWith(`:${inode}`)));
}

test("an open database keeps its log and takes writes that others see while another process opens and closes it", async () => {
  const { file, database } = await createSqliteDatabase();
  const log = () => statSync(`${file}-wal`).ino;
  await database.write(sampleCall(), (tx) => addOwner(tx, "0"));
  const before = log();
  for (let count = 1; count <= 5; count += 1) {
    expect(await countElsewhere(file)).toBe(count);
    expect(existsSync(`${file}-wal`) && log()).toBe(before);
    await database.write(sampleCall(), (tx) => addOwner(tx, count.toString()));
  }
  expect(await countElsewhere(file)).toBe(6);
  expect(await ownerIds(database.read)).toHaveLength(6);
});

test.runIf(existsSync("/proc/locks"))(
  "an open database holds SQLite's locks on its file and on its index of the log after each write",
  async () => {
    const { file, database } = await createSqliteDatabase();
    for (let count = 0; count < 3; count += 1) {
      await database.write(sampleCall(), (tx) => addOwner(tx, count.toString()));
      await database.check();
      expect(locksOn(file), "of the database").not.toEqual([]);
      expect(locksOn(`${file}-shm`), "of the index").not.toEqual([]);
    }
  },
);

test.runIf(existsSync("/proc/locks"))("a database that is closed is let go of, also when nobody has asked it anything", async () => {
  const { file, database } = await createSqliteDatabase();
  expect(locksOn(file)).not.toEqual([]);
  await database.close();
  expect(locksOn(file)).toEqual([]);
  expect(readdirSync(dirname(file))).toEqual(["provost.db"]);
});

test.runIf(existsSync("/proc/self/fd"))("a process keeps one descriptor of a database, for as long as the file has a name", async () => {
  const descriptorsOf = (file: string): number =>
    readdirSync("/proc/self/fd").filter((fd) => {
      const stats = statSync(`/proc/self/fd/${fd}`, { throwIfNoEntry: false });
      return stats?.ino === statSync(file, { throwIfNoEntry: false })?.ino;
    }).length;
  const { file, database } = await createSqliteDatabase();
  await database.close();
  expect(descriptorsOf(file)).toBe(1);
  for (let count = 0; count < 3; count += 1) await (await openDatabase({ url: `file:${file}` })).close();
  expect(descriptorsOf(file)).toBe(1);
  const held = `${file}.held`;
  linkSync(file, held);
  rmSync(file);
  await createSqliteDatabase();
  expect(descriptorsOf(held), "it still has a name").toBe(1);
  const { ino } = statSync(held);
  rmSync(held);
  await createSqliteDatabase();
  const isOpen = readdirSync("/proc/self/fd").some((fd) => statSync(`/proc/self/fd/${fd}`, { throwIfNoEntry: false })?.ino === ino);
  expect(isOpen, "nobody can open it any more").toBe(false);
});
