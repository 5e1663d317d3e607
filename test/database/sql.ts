import BetterSqlite3 from "better-sqlite3";
import pg from "pg";
import { inject } from "vitest";
import { sqliteFile } from "../../src/database/dialect.ts";

/** Run statements on the database of a test, past the service. */
export async function execute(url: string, sql: string): Promise<void> {
  if (inject("dialect") === "sqlite") {
    const file = new BetterSqlite3(sqliteFile(url));
    file.exec(sql);
    file.close();
    return;
  }
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql);
  await client.end();
}
