// @module-tag sqlite
// @module-tag slow
import { execFile, spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { sqliteFile } from "../../src/database/dialect.ts";
import { installation } from "../cli/installation.ts";
import { operatorEnv } from "../cli/run.ts";
import { freshId } from "../features/workflows-ground.ts";
import { createWorldForProcess, spawnService } from "../support/service-process.ts";
import { sizeOf } from "../support/size.ts";

const rounds = sizeOf({ quick: 3, all: 6, long: 100 });
/** In each round, of each program that looks at the database. */
const looksEach = 2;
/** An online backup begins anew at each write of another process. One that does not end is ended, without a word to the database. */
const lookMs = 2000;

const execute = promisify(execFile);
const run = (program: string, argv: readonly string[]) =>
  execute(program, argv, { maxBuffer: 1 << 26, timeout: lookMs, killSignal: "SIGKILL" });
const driver = createRequire(import.meta.url).resolve("better-sqlite3");

/** Each opens the database of the running server, reads it in its own way, closes it, and prints the subjects that it has seen. */
type Look = (file: string, copy: string) => Promise<string>;

const query = "SELECT subject_id FROM blacklist_records";

/** A process that runs `work` with the database as `db`. */
async function withDriver(file: string, copy: string, work: string): Promise<string> {
  const script = `const [, driver, file, copy] = process.argv; const Database = require(driver); const query = "${query}";
    const print = (db) => console.log(db.prepare(query).pluck().all().join("\\n"));
    (async () => { const db = new Database(file, { timeout: 5000 }); ${work} db.close(); })()`;
  return (await run(process.execPath, ["-e", script, driver, file, copy])).stdout;
}
const copied = "const other = new Database(copy); print(other); other.close();";

const withShell = async (file: string, ...commands: string[]): Promise<string> =>
  (await run("sqlite3", ["-cmd", ".timeout 5000", file, ...commands])).stdout;

const looks: Readonly<Record<string, Look>> = {
  "better-sqlite3 reads": (file, copy) => withDriver(file, copy, "print(db);"),
  "better-sqlite3 runs VACUUM INTO": (file, copy) => withDriver(file, copy, `db.prepare("VACUUM INTO ?").run(copy); ${copied}`),
  "better-sqlite3 makes an online backup": (file, copy) =>
    withDriver(file, copy, `await db.backup(copy, { progress: () => 1_000_000 }); ${copied}`),
};
const hasShell = spawnSync("sqlite3", ["-version"]).status === 0;
const shellLooks: Readonly<Record<string, Look>> = {
  "sqlite3 reads": (file) => withShell(file, query),
  "sqlite3 runs VACUUM INTO": async (file, copy) => {
    await withShell(file, `VACUUM INTO '${copy}'`);
    return withShell(copy, query);
  },
  "sqlite3 runs .backup": async (file, copy) => {
    await withShell(file, `.backup '${copy}'`);
    return withShell(copy, query);
  },
};

/** Where SQLite locks a database that is open, and the index of its log: https://sqlite.org/src/file/src/os_unix.c. */
const [sharedByte, indexByte] = ["1073741826", "128"];

/** Whether a process holds the locks of an open database, as the kernel lists them. */
function holdsLocks(pid: number, file: string): boolean {
  const lines = readFileSync("/proc/locks", "utf8").split("\n");
  const holds = (path: string, byte: string): boolean => {
    const stats = statSync(path, { throwIfNoEntry: false });
    const inode = `:${stats?.ino.toString() ?? ""} ${byte} `;
    return lines.some((line) => line.includes(` ${pid.toString()} `) && line.includes(inode));
  };
  return holds(file, sharedByte) && holds(`${file}-shm`, indexByte);
}

test(`other programs open and close the database of a server under load, which is killed ${rounds.toString()} times: it holds its locks, and every confirmed write is there and seen by them`, async () => {
  if (!hasShell) process.stdout.write("There is no sqlite3 here: only better-sqlite3 looks at the database.\n");
  const { world, env: usual, headers } = await createWorldForProcess("admin");
  const env = { ...usual, RATE_LIMITS: "write=1000000/1" };
  const file = sqliteFile(world.databaseUrl);
  const provost = async (...argv: string[]): Promise<string> =>
    (await execute(process.execPath, [(await installation()).program, ...argv], { cwd: dirname(world.dataDir), env: operatorEnv(env) }))
      .stdout;

  const confirmed = new Set<string>();
  const problems: string[] = [];
  const counts = { looks: 0, unfinished: 0, locks: 0, keys: 0 };

  async function write(url: string, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const subject_id = freshId();
      const body = JSON.stringify({ kind: "user", subject_id, category: "raid", severity: "high" });
      const answer = await fetch(`${url}/blacklist`, { method: "POST", headers, body }).catch(() => undefined);
      if (answer?.status === 201) confirmed.add(subject_id);
      else if (!isOver()) problems.push(`a write was answered ${answer?.status.toString() ?? "not at all"}`);
      await answer?.body?.cancel().catch(() => undefined);
      await delay(Math.random() * 20);
    }
  }

  async function look(name: string, way: Look): Promise<void> {
    const before = [...confirmed];
    const copy = join(dirname(file), `copy-${(counts.looks += 1).toString()}.db`);
    const text = await way(file, copy).catch((error: unknown) => {
      if ((error as { killed?: boolean }).killed !== true) throw error;
      counts.unfinished += 1;
    });
    for (const path of [copy, `${copy}-journal`]) await rm(path, { force: true });
    if (text === undefined) return;
    const seen = new Set(text.split("\n"));
    const missing = before.filter((subject) => !seen.has(subject)).length;
    if (missing > 0) problems.push(`${name}: ${missing.toString()} of ${before.length.toString()} confirmed writes are not there`);
  }

  for (let round = 0; round < rounds; round += 1) {
    const server = await spawnService(env, { cwd: dirname(world.dataDir) });
    let isOver = false;
    const writing = Array.from({ length: 4 }, () => write(server.url, () => isOver));
    const watch = setInterval(() => {
      counts.locks += 1;
      if (!holdsLocks(server.pid, file)) problems.push("the server does not hold its locks");
    }, 10);
    const makingKey = provost("keys", "create", "--name", `round ${round.toString()}`, "--scopes", "staff.read").then(
      () => void (counts.keys += 1),
      (error: unknown) => void problems.push(String(error)),
    );
    for (let time = 0; time < looksEach; time += 1)
      for (const [name, way] of Object.entries({ ...looks, ...(hasShell && shellLooks) })) await look(name, way);
    await makingKey;
    clearInterval(watch);
    isOver = true;
    await server.kill();
    await Promise.all(writing);
    expect(server.printed(), "nothing is wrong").toBe("");
    await look("after the kill", looks["better-sqlite3 reads"]!);
  }

  const server = await spawnService(env, { cwd: dirname(world.dataDir) });
  await look("after all", looks["better-sqlite3 reads"]!);
  expect(await server.stop()).toBe(0);
  process.stdout.write(
    `${rounds.toString()} kills, ${counts.looks.toString()} looks (${counts.unfinished.toString()} ended in the middle), ${counts.keys.toString()} keys by the command line, ${counts.locks.toString()} looks at the locks, ${confirmed.size.toString()} confirmed writes\n`,
  );
  expect([...new Set(problems)]).toEqual([]);
  expect(counts.keys).toBe(rounds);
  expect(confirmed.size).toBeGreaterThan(rounds * 20);
  expect(await provost("audit", "verify")).toContain("chain ok");
  expect(await withDriver(file, "", 'console.log(db.pragma("integrity_check", { simple: true }));')).toBe("ok\n");
  expect(existsSync(`${file}-wal`), "the last one to close folds the log in").toBe(false);
}, 1_800_000);
