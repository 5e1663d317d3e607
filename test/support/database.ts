import { randomUUID } from "node:crypto";
import { chmod, copyFile, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { inject } from "vitest";
import { openDatabase, type Database, type DatabaseOptions } from "../../src/database/database.ts";
import { sqliteFile } from "../../src/database/dialect.ts";

export interface TestDatabase {
  url: string;
  database: Database;
  /** Close and delete it. */
  drop(): Promise<void>;
}

/** A fresh migrated database on the server or in the folder of this test run. */
export async function createTestDatabase(options: Omit<DatabaseOptions, "url"> = {}): Promise<TestDatabase> {
  const { url, remove } = await createEmptyCopy();
  const database = await openDatabase({ synchronous: "normal", ...options, url });
  return {
    url,
    database,
    async drop() {
      await database.close();
      await remove();
    },
  };
}

/** A database that nobody has opened. */
export interface ClosedDatabase {
  url: string;
  remove(): Promise<void>;
}

/** A copy of the migrated template that nobody has opened. */
export async function createEmptyCopy(): Promise<ClosedDatabase> {
  if (inject("dialect") === "postgres") return createPostgres("template1");
  const { url, remove } = await placeSqlite();
  await copyFile(sqliteFile(inject("template")), sqliteFile(url));
  await chmod(sqliteFile(url), 0o600);
  return { url, remove };
}

/** A database without any tables; on SQLite the file does not exist yet. */
export async function createUnmigrated(): Promise<ClosedDatabase> {
  return inject("dialect") === "postgres" ? createPostgres("template0") : placeSqlite();
}

async function placeSqlite(): Promise<ClosedDatabase> {
  const folder = await mkdtemp(join(inject("directory"), "db-"));
  return { url: `file:${join(folder, "provost.db")}`, remove: () => rm(folder, { recursive: true, force: true, maxRetries: 5 }) };
}

async function createPostgres(template: "template0" | "template1"): Promise<ClosedDatabase> {
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  await administer(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
  const url = new URL(inject("template"));
  url.pathname = `/${name}`;
  return { url: url.href, remove: () => administer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

/** End every connection to a PostgreSQL database, as a restart of the server does. */
export async function endConnections(url: string): Promise<void> {
  await administer(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${new URL(url).pathname.slice(1)}'`);
}

let administration: pg.Pool | undefined;

/** Run a statement that needs a database other than the one it is about. One connection is kept: the first CREATE DATABASE of each is slow. */
async function administer(sql: string): Promise<void> {
  const url = new URL(inject("template"));
  url.pathname = "/postgres";
  administration ??= new pg.Pool({ connectionString: url.href, max: 1, allowExitOnIdle: true, idleTimeoutMillis: 0 });
  await administration.query(sql);
}
