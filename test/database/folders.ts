import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inject, onTestFinished } from "vitest";
import type { Dialect } from "../../src/database/dialect.ts";
import { migrate } from "../../src/database/database.ts";
import { migrationsFolder } from "../../src/database/migrate-sqlite.ts";
import { createUnmigrated } from "../support/database.ts";

type OnEnd = (end: () => Promise<void>) => void;

/** A folder for one test, or for as long as `onEnd` says. */
export async function createFolder(onEnd: OnEnd = onTestFinished): Promise<string> {
  const folder = await mkdtemp(join(inject("directory"), "folder-"));
  onEnd(() => rm(folder, { recursive: true, force: true }));
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

/**
 * A database as the version before a migration left it, closed.
 * @param migration how the name of its folder ends, such as `_leave_reasons`
 * @returns its address
 */
export async function databaseBefore(migration: string, onEnd: OnEnd = onTestFinished): Promise<string> {
  return await databaseOf((names) => names.slice(0, placeOf(migration, names)), onEnd);
}

/**
 * A database as the version left it of which a migration was the last, closed.
 * @param migration how the name of its folder ends
 * @returns its address
 */
export async function databaseAfter(migration: string, onEnd: OnEnd = onTestFinished): Promise<string> {
  return await databaseOf((names) => names.slice(0, placeOf(migration, names) + 1), onEnd);
}

function placeOf(migration: string, names: readonly string[]): number {
  const place = names.findIndex((name) => name.endsWith(migration));
  if (place === -1) throw new Error(`there is no migration ${migration}`);
  return place;
}

async function databaseOf(kept: (names: readonly string[]) => readonly string[], onEnd: OnEnd): Promise<string> {
  const { url, remove } = await createUnmigrated();
  onEnd(remove);
  const folder = await createFolder(onEnd);
  await cp(migrationsFolder(inject("dialect")), folder, { recursive: true });
  const names = (await readdir(folder)).filter((name) => /^\d/.test(name)).toSorted();
  const left = new Set(kept(names));
  for (const name of names) if (!left.has(name)) await rm(join(folder, name), { recursive: true });
  await migrate(url, folder);
  return url;
}
