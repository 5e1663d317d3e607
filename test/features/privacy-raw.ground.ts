import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import BetterSqlite3 from "better-sqlite3";
import pg from "pg";
import { expect } from "vitest";
import { sqliteFile } from "../../src/database/dialect.ts";
import { readElsewhere } from "../support/elsewhere.ts";
import type { Answer, World } from "../support/world.ts";

/** Every byte that the service has written: by where it stands. */
export async function everythingStored({ databaseUrl, dataDir }: World): Promise<Map<string, string>> {
  const places = new Map<string, string>();
  const roots = [dirname(dataDir)];
  if (databaseUrl.startsWith("file:")) roots.push(dirname(sqliteFile(databaseUrl)));
  else places.set("rows", await rowsAsText(databaseUrl));
  for (const root of roots)
    for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile()) places.set(path, (await readElsewhere(path)).toString("latin1"));
    }
  return places;
}

/** A fresh backup: a copy by SQLite itself, or a dump of every row. */
export async function backupOf({ databaseUrl, dataDir }: World): Promise<string> {
  if (!databaseUrl.startsWith("file:")) return await rowsAsText(databaseUrl);
  const copy = join(dirname(dataDir), "backup.db");
  const file = new BetterSqlite3(sqliteFile(databaseUrl), { readonly: true });
  await file.backup(copy);
  file.close();
  return (await readFile(copy)).toString("latin1");
}

async function rowsAsText(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const tables = await client.query<{ name: string }>("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'");
  const texts: string[] = [];
  for (const { name } of tables.rows) {
    const { rows } = await client.query<{ line: string }>(`SELECT to_jsonb(one)::text AS line FROM "${name}" AS one`);
    texts.push(...rows.map(({ line }) => line));
  }
  await client.end();
  return texts.join("\n");
}

/** Which of these words stand in a text, letter case aside. */
export function wordsIn(text: string, words: readonly string[]): string[] {
  const lower = text.toLowerCase();
  return words.filter((word) => lower.includes(word.toLowerCase()));
}

/** @returns what an answer that has to be a success holds */
export function ok(answer: Answer): any {
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body.data ?? answer.body;
}
