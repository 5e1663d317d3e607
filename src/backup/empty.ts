import { readdir } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Config } from "../config/config.ts";
import { dialectOf, sqliteFile } from "../database/dialect.ts";
import { databaseRefusal, placeOf } from "../database/refusals.ts";
import { ifMissing } from "../kernel/files.ts";
import { OperatorError } from "../kernel/operator-errors.ts";
import { isThere } from "./disk.ts";
import { openSource } from "./source.ts";

/**
 * Make sure that nothing is overwritten.
 * @throws OperatorError when the database has a table, or its file is there
 */
export async function requireEmpty(url: string): Promise<void> {
  const advice = "A backup is only put into an empty database";
  if (dialectOf(url) === "sqlite") {
    const file = sqliteFile(url);
    if (!(await isThere(file))) return;
    throw new OperatorError(
      `The database ${file} is there already. ${advice}: move the file aside with its \`-wal\` and \`-shm\`, or name another one in \`DATABASE_URL\`.`,
    );
  }
  const source = await openSource(url);
  try {
    const [table] = await source.query("SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() LIMIT 1");
    if (table === undefined) return;
    throw new OperatorError(
      `The database ${placeOf(url)} has the table ${String(table["name"])}. ${advice}: make a new one with \`createdb\`, and name it.`,
    );
  } finally {
    await source.close();
  }
}

/** What may be in a data folder that is empty otherwise: what the lock leaves, what a new disk has, and the journal that an operator put there. */
const harmless = ["server.lock", "server.pid", "lost+found"];

/** @throws OperatorError when the data folder has files of an installation */
export async function requireEmptyFolder({ dataDir, erasureJournal }: Pick<Config, "dataDir" | "erasureJournal">): Promise<void> {
  const names = await readdir(dataDir).catch(ifMissing<string[]>([]));
  const journal = dirname(resolve(erasureJournal)) === resolve(dataDir) ? [basename(erasureJournal)] : [];
  const found = names.find((name) => ![...harmless, ...journal].includes(name));
  if (found === undefined) return;
  throw new OperatorError(
    `\`DATA_DIR\`: ${dataDir} is not empty (${found}). A backup is only put into an empty folder: move this one aside, or name another one.`,
  );
}

/** What the migrations make; what belongs to extensions stays. */
const drop = `DO $$
DECLARE one record;
BEGIN
  FOR one IN SELECT format('DROP TABLE IF EXISTS %I.%I CASCADE', schemaname, tablename) AS command FROM pg_tables WHERE schemaname = current_schema()
  LOOP EXECUTE one.command; END LOOP;
  FOR one IN SELECT format('DROP ROUTINE IF EXISTS %s CASCADE', p.oid::regprocedure) AS command FROM pg_proc p
    WHERE p.pronamespace = current_schema()::regnamespace AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
  LOOP EXECUTE one.command; END LOOP;
END $$`;

/** `pg_restore` outlives a restore that is killed, and would commit between the rows of the next one. */
const endLeftOver = `SELECT pg_terminate_backend(pid) AS told FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'pg_restore' AND pid <> pg_backend_pid()`;

/** Empty a PostgreSQL database that a restore has begun to fill, once nothing fills it any more. */
export async function dropEverything(url: string): Promise<void> {
  const source = await openSource(url);
  try {
    while ((await source.query(endLeftOver)).length > 0) await delay(100);
    await source.query(drop);
  } catch (error) {
    throw databaseRefusal(url, error);
  } finally {
    await source.close();
  }
}
