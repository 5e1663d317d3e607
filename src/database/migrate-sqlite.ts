import { randomUUID, createHash } from "node:crypto";
import { rename, rm, readdir, readFile } from "node:fs/promises";
import BetterSqlite3 from "better-sqlite3";
import { keepAlive } from "./keep-alive.ts";
import { DatabaseError } from "./errors.ts";
import { fileURLToPath } from "node:url";
import { toProblem } from "./problems.ts";
import { damagedText, databaseRefusal, placeOf } from "./refusals.ts";
import { packageFolder } from "../package-folder.ts";
import type { Dialect } from "./dialect.ts";

const migrationTable = `CREATE TABLE IF NOT EXISTS "_prisma_migrations" (
    "id"                    TEXT PRIMARY KEY NOT NULL,
    "checksum"              TEXT NOT NULL,
    "finished_at"           DATETIME,
    "migration_name"        TEXT NOT NULL,
    "logs"                  TEXT,
    "rolled_back_at"        DATETIME,
    "started_at"            DATETIME NOT NULL DEFAULT current_timestamp,
    "applied_steps_count"   INTEGER UNSIGNED NOT NULL DEFAULT 0
)`;

/** A boot waits this long for another process that is migrating the same file. */
const bootTimeoutMs = 10_000;

/**
 * Bring a SQLite file to the newest schema, each migration in a transaction of its own. A file that already holds data is
 * copied to `<file>.before-<first pending migration>` first.
 * @returns the names of the applied migrations
 * @throws DatabaseError when the file is corrupt, foreign, or of a newer version
 */
export async function migrateSqlite(file: string, migrations: readonly Migration[]): Promise<string[]> {
  const db = keepAlive(new BetterSqlite3(file, { timeout: bootTimeoutMs }));
  try {
    assertIntact(db, file);
    const pending = pendingMigrations(file, migrations, readApplied(db, file));
    const [first] = pending;
    if (first === undefined) return [];
    if (pending.length < migrations.length) await backUp(db, `${file}.before-${first.name}`);
    // A table is changed by building it anew, and dropping the old one must not delete the rows that refer to it.
    db.pragma("foreign_keys = OFF");
    // What a migration erases is overwritten, as everywhere else.
    db.pragma("secure_delete = ON");
    return pending.filter((migration) => apply(db, file, migrations, migration)).map(({ name }) => name);
  } finally {
    db.close();
  }
}

function assertIntact(db: BetterSqlite3.Database, file: string): void {
  let verdict: unknown;
  try {
    verdict = db.pragma("quick_check(1)", { simple: true });
  } catch (cause) {
    const { code } = cause as { code?: string };
    if (code !== "SQLITE_NOTADB" && code?.startsWith("SQLITE_CORRUPT") !== true) throw cause;
    verdict = (cause as Error).message;
  }
  if (verdict !== "ok") throw new DatabaseError("corrupt", damagedText(file, String(verdict)));
}

function readApplied(db: BetterSqlite3.Database, place: string): AppliedMigration[] {
  const tables = db.prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").pluck().all();
  const [table] = tables;
  if (table === undefined) return [];
  if (!tables.includes("_prisma_migrations")) throw foreignDatabase(place, table);
  const rows = db
    .prepare<[], { name: string; checksum: string; finished: number }>(
      `SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS finished FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY started_at`,
    )
    .all();
  return rows.map(({ name, checksum, finished }) => ({ name, checksum, isFinished: finished === 1 }));
}

/** The copy gets its name only when it is complete. */
async function backUp(db: BetterSqlite3.Database, target: string): Promise<void> {
  const partial = `${target}.partial`;
  await rm(partial, { force: true });
  await db.backup(partial);
  await rename(partial, target);
}

/** @returns false when another process has applied it in the meantime */
function apply(db: BetterSqlite3.Database, file: string, migrations: readonly Migration[], migration: Migration): boolean {
  db.exec("BEGIN IMMEDIATE");
  try {
    const isPending = pendingMigrations(file, migrations, readApplied(db, file)).some(({ name }) => name === migration.name);
    if (isPending) {
      const startedAt = Date.now();
      db.exec(migrationTable);
      db.exec(migration.sql);
      const broken = db.pragma("foreign_key_check") as unknown[];
      if (broken.length > 0) throw new Error(`it would leave ${broken.length.toString()} references to rows that are not there`);
      db.prepare(
        `INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name, started_at, applied_steps_count) VALUES (?, ?, ?, ?, ?, 1)`,
      ).run(randomUUID(), migration.checksum, Date.now(), migration.name, startedAt);
    }
    db.exec("COMMIT");
    return isPending;
  } catch (error) {
    if (db.inTransaction) db.exec("ROLLBACK");
    throw failedMigration(`file:${file}`, migration, error);
  }
}

/** One migration folder; `checksum` is SHA-256 of its SQL, the same as Prisma records. */
export interface Migration {
  name: string;
  sql: string;
  checksum: string;
}

/** A row of Prisma's own table. */
export interface AppliedMigration {
  name: string;
  checksum: string;
  isFinished: boolean;
}

export function migrationsFolder(dialect: Dialect): string {
  return fileURLToPath(new URL(`prisma/migrations/${dialect}`, packageFolder));
}

/** All migrations of a dialect, oldest first. */
export async function readMigrations(dialect: Dialect, folder = migrationsFolder(dialect)): Promise<Migration[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(names.toSorted().map((name) => readMigration(folder, name)));
}

async function readMigration(folder: string, name: string): Promise<Migration> {
  const text = await readFile(`${folder}/${name}/migration.sql`, "utf8");
  const sql = text.replaceAll("\r\n", "\n");
  return { name, sql, checksum: createHash("sha256").update(sql).digest("hex") };
}

/**
 * Which migrations are still to be applied.
 * @param place the database, in words for the operator
 * @throws DatabaseError newer_schema, changed_migration or failed_migration
 */
export function pendingMigrations(place: string, known: readonly Migration[], applied: readonly AppliedMigration[]): Migration[] {
  const byName = new Map(known.map((migration) => [migration.name, migration]));
  for (const { name, checksum, isFinished } of applied) {
    const migration = byName.get(name);
    if (migration === undefined) {
      throw new DatabaseError(
        "newer_schema",
        `The database ${place} has the migration ${name}, which this version does not know. Run the version that wrote it, or a newer one.`,
      );
    }
    if (!isFinished) {
      throw new DatabaseError(
        "failed_migration",
        `The migration ${name} of the database ${place} was begun by another tool and did not finish. Restore the backup taken before it.`,
      );
    }
    if (migration.checksum !== checksum) {
      throw new DatabaseError(
        "changed_migration",
        `The migration ${name} was applied to the database ${place} with other content than this version has. Run the version that applied it, or restore a backup.`,
      );
    }
  }
  const done = new Set(applied.map(({ name }) => name));
  return known.filter(({ name }) => !done.has(name));
}

/** What stopped a migration; an error that is about the storage, or worded already, as it is. */
export function failedMigration(url: string, { name }: Migration, error: unknown): unknown {
  if (error instanceof DatabaseError || toProblem(error) !== error) return error;
  const refusal = databaseRefusal(url, error);
  if (refusal !== error) return refusal;
  const why = error instanceof Error ? error.message : String(error);
  return new DatabaseError(
    "failed_migration",
    `The migration ${name} of the database ${placeOf(url)} failed (${why}), and nothing of it is kept. Run the version before this one, and report it.`,
    { cause: error },
  );
}

/** Refuse to put tables into a database that is somebody else's. */
export function foreignDatabase(place: string, table: string): DatabaseError {
  return new DatabaseError(
    "foreign_database",
    `The database ${place} has the table ${table} but no migrations, so it belongs to another program. Name an empty one in \`DATABASE_URL\`.`,
  );
}
