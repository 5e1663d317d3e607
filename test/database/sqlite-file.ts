import { join } from "node:path";
import { onTestFinished } from "vitest";
import { openDatabase, type Database, type DatabaseOptions } from "../../src/database/database.ts";
import { createFolder } from "./folders.ts";

/** A migrated SQLite database, whichever database the run is about. */
export async function createSqliteDatabase(options: Pick<DatabaseOptions, "logger"> = {}): Promise<{ file: string; database: Database }> {
  const file = join(await createFolder(), "provost.db");
  const database = await openDatabase({ url: `file:${file}`, synchronous: "normal", ...options });
  onTestFinished(() => database.close());
  return { file, database };
}
