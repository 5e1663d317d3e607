import { execFile, execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { chmod, chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { inject } from "vitest";
import { createUnmigrated, type ClosedDatabase } from "../support/database.ts";
import { freePort } from "../support/free-port.ts";
import { accountOfServer } from "../support/postgres-account.ts";

/**
 * `pg_dump` refuses a server that is newer than itself, and the PostgreSQL that the tests bring along has no `pg_dump`. So backups of PostgreSQL are
 * tried on the server of the tests where the installed `pg_dump` is as new, and otherwise on the server that was installed together with it.
 */
const installed = majorOf("pg_dump");
const ownMajor = 18;
const binaries = serverBinaries();

/** Why backups of PostgreSQL cannot be tried on this machine; undefined where they can. */
export const whyNot =
  inject("dialect") === "sqlite" || (installed ?? 0) >= ownMajor || binaries !== undefined
    ? undefined
    : "no pg_dump is installed, or no server as old as it (Debian: apt-get install postgresql)";

function majorOf(tool: string): number | undefined {
  try {
    return Number(/(\d+)/.exec(execFileSync(tool, ["--version"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }))?.[1]);
  } catch {
    return undefined;
  }
}

function serverBinaries(): string | undefined {
  const base = "/usr/lib/postgresql";
  const versions = existsSync(base) ? readdirSync(base) : [];
  return versions
    .map((version) => join(base, version, "bin"))
    .find((folder) => existsSync(join(folder, "initdb")) && folder.includes(`/${String(installed)}/`));
}

let started: Promise<{ url: (database: string) => string; stop: () => Promise<void> }> | undefined;

/** A database without tables that `pg_dump` can read. */
export async function createDumpable(): Promise<ClosedDatabase> {
  if (inject("dialect") === "sqlite" || (installed ?? 0) >= ownMajor) return await createUnmigrated();
  const { url } = await (started ??= startInstalled());
  const name = `backup_${randomUUID().replaceAll("-", "")}`;
  await administer(url("postgres"), `CREATE DATABASE ${name}`);
  return { url: url(name), remove: () => administer(url("postgres"), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

/** Stop the installed server, if it was started. */
export async function stopInstalled(): Promise<void> {
  await (await started)?.stop();
  started = undefined;
}

async function administer(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

/** Why there is no server here that brings `pg_basebackup` along; undefined where there is one. */
export const whyNoInstalled =
  binaries === undefined ? "no server of PostgreSQL is installed beside its clients (Debian: apt-get install postgresql)" : undefined;

/** @param from the server whose copy it is, following what is written there, until it is promoted; its own empty one unless told */
export async function startInstalled({ from, settings = [] }: { from?: { port: string }; settings?: readonly string[] } = {}) {
  const directory = await mkdtemp(join(tmpdir(), "provost-installed-"));
  const data = join(directory, "data");
  const port = (await freePort()).toString();
  const account = accountOfServer();
  await chmod(directory, 0o755);
  if (account.uid !== undefined) await chown(directory, account.uid, account.gid ?? account.uid);
  const run = (tool: string, argv: readonly string[]) =>
    promisify(execFile)(join(binaries ?? "", tool), argv, { ...account, cwd: directory });
  if (from === undefined)
    await run("initdb", ["--pgdata", data, "--username=postgres", "--no-sync", "--encoding=UTF8", "--locale=C", "--auth=trust"]);
  else
    await run(
      "pg_basebackup",
      `--pgdata ${data} --host=127.0.0.1 --port ${from.port} --username=postgres --write-recovery-conf --checkpoint=fast --no-sync`.split(
        " ",
      ),
    );
  const own = ["fsync=off", "listen_addresses=127.0.0.1", `port=${port}`, "unix_socket_directories=''", ...settings];
  const flags = own.map((setting) => `-c ${setting}`).join(" ");
  const control = (...argv: string[]) => run("pg_ctl", ["--pgdata", data, "--wait", "--log", join(directory, "log"), ...argv]);
  const begin = () => control("-o", flags, "start");
  await begin();
  return {
    port,
    url: (database: string) => `postgresql://postgres@127.0.0.1:${port}/${database}`,
    /** End it at once, as a loss of power does; what it has stays. */
    crash: () => control("--mode=immediate", "stop"),
    begin,
    promote: () => control("promote"),
    async stop() {
      await control("--mode=immediate", "stop").catch(() => undefined);
      await rm(directory, { recursive: true, force: true });
    },
  };
}
