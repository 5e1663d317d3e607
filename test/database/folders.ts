import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inject, onTestFinished } from "vitest";
import type { Dialect } from "../../src/database/dialect.ts";
import { migrationsFolder } from "../../src/database/migrate-sqlite.ts";

/** A folder for one test. */
export async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(inject("directory"), "folder-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** The migrations of this version and one more. */
export async function folderWith(dialect: Dialect, name: string, sql: string): Promise<string> {
  const folder = join(await createFolder(), "migrations");
  await cp(migrationsFolder(dialect), folder, { recursive: true });
  await mkdir(join(folder, name));
  await writeFile(join(folder, name, "migration.sql"), sql);
  return folder;
}
