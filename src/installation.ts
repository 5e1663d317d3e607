import { existsSync, readdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "./config/config.ts";
import type { Logger } from "pino";
import type { Database } from "./database/database.ts";
import { DatabaseError } from "./database/errors.ts";
import { dialectOf, sqliteFile } from "./database/dialect.ts";
import { ensureFolder, findLoose, keepPrivate } from "./database/folder.ts";
import { placeOf } from "./database/refusals.ts";
import { evidenceFolder } from "./features/evidence/stores/folder.ts";

export const acceptFlag = "--accept-empty-database";

interface Installed {
  database: Database;
  config: Config;
  /** Whether the operator means to go on with a database that does not belong to the data folder. */
  acceptsOtherDatabase: boolean;
}

/**
 * Make sure that the database is the one the data folder belongs to: the folder keeps the id of the database that it was first used with.
 * Without this, a lost database would be followed by a start with an empty one, as if all were well.
 * @returns the id of the installation
 * @throws DatabaseError foreign_database, with what to do
 */
export async function checkInstallation({ database, config, acceptsOtherDatabase }: Installed): Promise<string> {
  const expected = await markedId(config);
  const refusal = otherInstallation(config, expected, await database.instance.find());
  if (refusal !== undefined && !acceptsOtherDatabase) throw new DatabaseError("foreign_database", refusal);
  const id = await database.instance.id();
  if (id !== expected) {
    await ensureFolder(config.dataDir);
    await writeFile(markerIn(config), `${id}\n`);
  }
  return id;
}

const markerIn = ({ dataDir }: Config): string => join(dataDir, "instance_id");

/** The id of the database that the data folder was first used with; undefined for a new folder. */
export async function markedId(config: Config): Promise<string | undefined> {
  return existsSync(markerIn(config)) ? (await readFile(markerIn(config), "utf8")).trim() : undefined;
}

/**
 * Why a database is not the one of a data folder, in words for the operator; undefined when it is.
 * @param expected the id that the folder is marked with
 * @param found the id that the database has; undefined for an empty one
 */
export function otherInstallation(config: Config, expected: string | undefined, found: string | undefined): string | undefined {
  const isForeign = expected === undefined ? found === undefined && leftovers(config).length > 0 : found !== expected;
  if (!isForeign) return undefined;
  const [what, left] =
    found === undefined
      ? ["is empty", expected === undefined ? ` (${leftovers(config).join(", ")})` : ""]
      : ["is that of another installation", ""];
  return `The database ${placeOf(config.database.url)} ${what}, but \`DATA_DIR\` (${config.dataDir}) has the files of an installation${left}: put its database back, or start with \`${acceptFlag}\` to go on with this one.`;
}

/**
 * Close what the installation has written, and the `.env` of the working directory, to other accounts of the machine. Readable
 * ones would let any account read records and keys, or hold the lock.
 */
export async function closeToOthers(config: Config, logger: Logger): Promise<void> {
  const loose = await keepPrivate(config.dataDir, filesBeside(config));
  const [mended, left] = [true, false].map((is) => loose.filter(({ isMended }) => isMended === is).map(({ path }) => path));
  if (mended?.length) logger.warn({ paths: mended }, "other accounts of this machine could open these files; now only this account can");
  if (left?.length)
    logger.warn(
      { paths: left, command: `chmod go= ${left.join(" ")}` },
      "other accounts of this machine can open these files: run the command as their owner",
    );
}

/** What of an installation other accounts of the machine can open. Nothing is changed. */
export async function openToOthers(config: Config): Promise<string[]> {
  return findLoose(config.dataDir, filesBeside(config));
}

/** What may lie outside the data folder, and is for the operator alone. */
function filesBeside({ database: { url } }: Config): string[] {
  const file = dialectOf(url) === "sqlite" ? sqliteFile(url) : undefined;
  return file === undefined ? [".env"] : [".env", file, `${file}-wal`, `${file}-shm`];
}

/** What only an installation that has been used leaves behind. */
function leftovers({ dataDir, auditCheckpoints, erasureJournal, erasureJournalCopy }: Config): string[] {
  const evidence = join(dataDir, evidenceFolder);
  const files = [auditCheckpoints, erasureJournal, erasureJournalCopy].filter((path) => path !== null && existsSync(path)) as string[];
  return existsSync(evidence) && readdirSync(evidence).length > 0 ? [evidence, ...files] : files;
}
