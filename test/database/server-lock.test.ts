// @module-tag both
// @module-tag slow
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { pino } from "pino";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { sqliteFile } from "../../src/database/dialect.ts";
import { acquireServerLock, type ServerLockOptions } from "../../src/database/server-lock.ts";
import { until } from "../discord/support.ts";
import { createWorkplace } from "../cli/run.ts";
import { validEnvironment } from "../config/environment.ts";
import { createEmptyCopy } from "../support/database.ts";
import { createFolder } from "./folders.ts";

const isPostgres = inject("dialect") === "postgres";

/** A database, and servers of it that have data folders of their own. */
async function createGround() {
  const { url, remove } = await createEmptyCopy();
  onTestFinished(remove);
  const lock = async (given: Partial<ServerLockOptions> = {}) => {
    const options = { url, dataDir: await createFolder(), logger: pino({ level: "silent" }), onLost: vi.fn(), ...given };
    const taken = await acquireServerLock(options);
    onTestFinished(() => taken.release());
    return taken;
  };
  return { url, lock };
}

/** End the connection of whoever serves the database, as its server does when it is restarted. */
async function cutHolder(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'provost %'",
  );
  await client.end();
}

test("a database has one server, and the next one may start after it", async () => {
  const { url, lock } = await createGround();
  const first = await lock();
  const refusal = await lock().catch((error: unknown) => error);
  expect(refusal).toMatchObject({ name: "DatabaseError", reason: "database_served" });
  const pid = process.pid.toString();
  const { message } = refusal as Error;
  if (isPostgres)
    expect(message).toMatch(
      new RegExp(
        `^The database test_\\w+ of PostgreSQL at \\S+ is served by process ${pid} on \\S+ since \\d{4}-\\d\\d-\\d\\dT\\S+Z\\. Stop that server, or give this one a database of its own\\.$`,
      ),
    );
  else
    expect(message).toBe(
      `The database ${sqliteFile(url)} is served by process ${pid}. Stop that server (\`kill ${pid}\`), or give this one a database of its own.`,
    );
  await first.release();
  await lock();
});

test("the second server ends with one line that names the first", async () => {
  const { url, lock } = await createGround();
  await lock();
  await using work = await createWorkplace();
  const env = { ...validEnvironment(), DISCORD_API_BASE: "http://127.0.0.1:9/api", PORT: "0", DATABASE_URL: url };
  const { code, stdout, stderr } = await work.provost(["serve"], env);
  expect(code).toBe(1);
  expect(stderr).toMatch(new RegExp(`^The database .+ is served by process ${process.pid.toString()}.*\\. Stop that server.+\\.\n$`));
  expect(stdout).not.toMatch(/"stack":"[^"]/);
  const { code: listed } = await work.provost(["owners", "list"], env);
  expect(listed).toBe(0);
});

test("a server that was killed leaves no lock", async () => {
  const { url, lock } = await createGround();
  const module = fileURLToPath(new URL("../../src/database/server-lock.ts", import.meta.url));
  const options = `{ url: ${JSON.stringify(url)}, dataDir: ${JSON.stringify(await createFolder())} }`;
  const code = `const { acquireServerLock } = await import(${JSON.stringify(module)}); await acquireServerLock(${options}); console.log("locked"); setInterval(() => {}, 1000);`;
  const other = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void other.kill("SIGKILL"));
  await once(other.stdout, "data");
  await expect(lock()).rejects.toThrow(`process ${String(other.pid)}`);
  other.kill("SIGKILL");
  await once(other, "exit");
  await lock();
});

test.runIf(!isPostgres)("a database in the data folder needs no lock of its own", async () => {
  const { url, lock } = await createGround();
  await lock({ dataDir: join(sqliteFile(url), "..") });
  await lock();
});

test.runIf(isPostgres)("a connection that was cut is made again, and goes on keeping others away", async () => {
  const { url, lock } = await createGround();
  const warn = vi.fn();
  const onLost = vi.fn();
  await lock({ beatMs: 50, onLost, logger: Object.assign(pino({ level: "silent" }), { warn }) });
  await cutHolder(url);
  await until(() => warn.mock.calls.length > 0);
  await expect(lock()).rejects.toMatchObject({ reason: "database_served" });
  expect(onLost).not.toHaveBeenCalled();
});

test.runIf(isPostgres)("a server that lost its connection is told that another one has the database, and takes it no more", async () => {
  const { url, lock } = await createGround();
  const onLost = vi.fn();
  await lock({ beatMs: 500, patienceMs: 1000, onLost });
  await cutHolder(url);
  const other = await lock();
  await until(() => onLost.mock.calls.length > 0, 30_000);
  expect(onLost.mock.calls).toEqual([[expect.objectContaining({ reason: "database_served" })]]);
  await other.release();
  await delay(1200);
  await lock();
});
