import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Dialect } from "./dialect.ts";
import { DatabaseError } from "./errors.ts";

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

/** The folder is found from the sources and from the build alike: both lie one level below the package. */
export function migrationsFolder(dialect: Dialect): string {
  return fileURLToPath(new URL(`../../prisma/migrations/${dialect}`, import.meta.url));
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
 * @throws DatabaseError newer_schema, changed_migration or failed_migration
 */
export function pendingMigrations(known: readonly Migration[], applied: readonly AppliedMigration[]): Migration[] {
  const byName = new Map(known.map((migration) => [migration.name, migration]));
  for (const { name, checksum, isFinished } of applied) {
    const migration = byName.get(name);
    if (migration === undefined) {
      throw new DatabaseError(
        "newer_schema",
        `The database has the migration ${name}, which this version does not know. Run the version that wrote it, or a newer one.`,
      );
    }
    if (!isFinished) {
      throw new DatabaseError(
        "failed_migration",
        `The migration ${name} was begun by another tool and did not finish. Restore the backup taken before it.`,
      );
    }
    if (migration.checksum !== checksum) {
      throw new DatabaseError("changed_migration", `The migration ${name} was applied with other content than this version has.`);
    }
  }
  const done = new Set(applied.map(({ name }) => name));
  return known.filter(({ name }) => !done.has(name));
}

/** Refuse to put tables into a database that is somebody else's. */
export function foreignDatabase(table: string): DatabaseError {
  return new DatabaseError("foreign_database", `The database holds the table ${table} but no migrations; it belongs to something else.`);
}
