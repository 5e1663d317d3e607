import { dialectOf, sqliteFile } from "./dialect.ts";
import { migratePostgres } from "./migrate-postgres.ts";
import { migrateSqlite } from "./migrate-sqlite.ts";
import { readMigrations } from "./migrations.ts";
import { withProblems } from "./problems.ts";

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
