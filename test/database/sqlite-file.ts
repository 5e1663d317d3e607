import { join } from "node:path";
import { onTestFinished } from "vitest";
import { openDatabase, type Database } from "../../src/database/database.ts";
import { createFolder } from "./folders.ts";

/** A migrated SQLite database, whichever database the run is about. */
export async function createSqliteDatabase(): Promise<{ file: string; database: Database }> {
  const file = join(await createFolder(), "provost.db");
  const database = await openDatabase({ url: `file:${file}`, synchronous: "normal" });
  onTestFinished(() => database.close());
  return { file, database };
}
