import { dialectOf, sqliteFile } from "./dialect.ts";
import {
  migrateSqlite,
  readMigrations,
  failedMigration,
  foreignDatabase,
  pendingMigrations,
  type AppliedMigration,
  type Migration,
} from "./migrate-sqlite.ts";
import { withProblems } from "./problems.ts";
import { placeOf } from "./refusals.ts";
import { randomUUID } from "node:crypto";
import type pg from "pg";

/**
 * Bring a database to the newest schema, safely beside other processes that do the same.
 * @param folder where the migrations lie, if not in this package
 * @returns the names of the migrations that were applied
 * @throws DatabaseError when the database is not one this version may touch
 */
export async function migrate(url: string, folder?: string): Promise<string[]> {
  const dialect = dialectOf(url);
  const migrations = await readMigrations(dialect, folder);
  return withProblems(() => (dialect === "sqlite" ? migrateSqlite(sqliteFile(url), migrations) : migratePostgres(url, migrations)));
}

const migrationTable = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id                      VARCHAR(36) PRIMARY KEY NOT NULL,
    checksum                VARCHAR(64) NOT NULL,
    finished_at             TIMESTAMPTZ,
    migration_name          VARCHAR(255) NOT NULL,
    logs                    TEXT,
    rolled_back_at          TIMESTAMPTZ,
    started_at              TIMESTAMPTZ NOT NULL DEFAULT now(),
    applied_steps_count     INTEGER NOT NULL DEFAULT 0
)`;

/** The key Prisma's own tools lock while they migrate. */
const migrationLock = 72_707_369;

/**
 * Bring a PostgreSQL database to the newest schema, each migration in a transaction of its own, one process at a time.
 * @returns the names of the applied migrations
 * @throws DatabaseError when the database is foreign or of a newer version
 */
export async function migratePostgres(url: string, migrations: readonly Migration[]): Promise<string[]> {
  const { Client } = await import("pg");
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000, lock_timeout: 60_000 });
  // A broken connection also rejects the running query; without a listener it would end the process.
  client.on("error", () => undefined);
  await client.connect();
  try {
    await client.query("SELECT pg_advisory_lock($1)", [migrationLock]);
    const place = placeOf(url);
    const pending = pendingMigrations(place, migrations, await readApplied(client, place));
    for (const migration of pending) await apply(client, url, migration);
    return pending.map(({ name }) => name);
  } finally {
    // The lock is the session's and ends with it.
    await client.end();
  }
}

async function readApplied(client: pg.Client, place: string): Promise<AppliedMigration[]> {
  const { rows: tables } = await client.query<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()",
  );
  const [table] = tables;
  if (table === undefined) return [];
  if (!tables.some(({ name }) => name === "_prisma_migrations")) throw foreignDatabase(place, table.name);
  const { rows } = await client.query<AppliedMigration>(
    `SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS "isFinished" FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY started_at`,
  );
  return rows;
}

async function apply(client: pg.Client, url: string, migration: Migration): Promise<void> {
  const { name, checksum, sql } = migration;
  await client.query("BEGIN");
  try {
    await client.query(migrationTable);
    await client.query(sql);
    await client.query(
      `INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name, started_at, applied_steps_count) VALUES ($1, $2, clock_timestamp(), $3, now(), 1)`,
      [randomUUID(), checksum, name],
    );
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    throw failedMigration(url, migration, error);
  }
}
