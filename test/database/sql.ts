import { setTimeout as delay } from "node:timers/promises";
import BetterSqlite3 from "better-sqlite3";
import pg from "pg";
import { inject } from "vitest";
import { sqliteFile } from "../../src/database/dialect.ts";

/** Run statements on the database of a test, past the service. */
export async function execute(url: string, sql: string): Promise<void> {
  if (inject("dialect") === "sqlite") {
    const file = new BetterSqlite3(sqliteFile(url), { timeout: 0 });
    try {
      while (!isFree(file)) await delay(20);
      file.exec(sql);
    } finally {
      file.close();
    }
    return;
  }
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql);
  await client.end();
}

/** Whoever holds the lock in this process cannot give it back while somebody waits for it without letting others have their turn. */
function isFree(file: BetterSqlite3.Database): boolean {
  try {
    file.exec("BEGIN IMMEDIATE; ROLLBACK");
    return true;
  } catch (error) {
    if (error instanceof BetterSqlite3.SqliteError && error.code.startsWith("SQLITE_BUSY")) return false;
    throw error;
  }
}
