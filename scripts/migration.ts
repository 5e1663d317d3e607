import { mkdir, writeFile } from "node:fs/promises";
import type { SqlMigrationAwareDriverAdapterFactory } from "@prisma/driver-adapter-utils";
import type { Dialect } from "../src/database/dialect.ts";
import { migrationsFolder } from "../src/database/migrate-sqlite.ts";
import { startPostgresServer } from "../test/support/postgres-server.ts";
import { postgresForEngine, schemaDifference, sqliteForEngine } from "./schema-engine.ts";

/**
 * Writes the migration from the present migrations to `prisma/schema.prisma`, for both databases, without the network:
 * `npm run migration -- add_something`. Read the result before it is committed; triggers and data are added by hand.
 */
async function main(name: string | undefined): Promise<void> {
  if (name === undefined || !/^[a-z][a-z0-9_]{2,60}$/.test(name))
    throw new Error("Name the migration in lower snake case: npm run migration -- add_something");
  const folder = `${new Date().toISOString().replaceAll(/\D/g, "").slice(0, 14)}_${name}`;
  const server = await startPostgresServer();
  try {
    const wrote = [
      await author("sqlite", folder, sqliteForEngine(":memory:")),
      await author("postgres", folder, postgresForEngine(server.url("template1"), server.url("postgres"))),
    ];
    if (!wrote.includes(true)) console.log("migration: the schema has not changed");
  } finally {
    await server.stop();
  }
}

async function author(dialect: Dialect, folder: string, adapter: SqlMigrationAwareDriverAdapterFactory): Promise<boolean> {
  const sql = await schemaDifference(dialect, adapter);
  if (sql === "") return false;
  await mkdir(`${migrationsFolder(dialect)}/${folder}`, { recursive: true });
  await writeFile(`${migrationsFolder(dialect)}/${folder}/migration.sql`, sql);
  console.log(`migration: wrote prisma/migrations/${dialect}/${folder}/migration.sql`);
  return true;
}

await main(process.argv[2]);
