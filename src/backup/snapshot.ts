import { rm } from "node:fs/promises";
import { dialectOf, sqliteFile } from "../database/dialect.ts";
import { databaseRefusal } from "../database/refusals.ts";
import { syncToDisk } from "../kernel/files.ts";
import { requireTool, runTool } from "./postgres-tools.ts";
import {
  evidenceNamed,
  evidenceNotInside,
  factsOf,
  openSource,
  readSqlite,
  type Facts,
  type NamedEvidence,
  type Source,
} from "./source.ts";

/** What one moment of the database was. */
export interface Snapshot extends Facts {
  /** The files of evidence that its rows name, and that are not in it. */
  evidence: NamedEvidence[];
  /** Where they are to be in it, and are not: the hashes of files. */
  missing: string[];
}

async function snapshotOf(source: Source): Promise<Snapshot> {
  const facts = await factsOf(source);
  const isInside = facts.evidence_store === "database";
  return { ...facts, evidence: isInside ? [] : await evidenceNamed(source), missing: isInside ? await evidenceNotInside(source) : [] };
}

/**
 * Copy a database as it is in one moment, beside everything that writes it.
 * @param file where the copy goes: a SQLite database, or an archive of `pg_dump`
 * @throws Error in words for the operator
 */
export async function copyDatabase(url: string, file: string): Promise<Snapshot> {
  try {
    return await (dialectOf(url) === "sqlite" ? copySqlite(sqliteFile(url), file) : copyPostgres(url, file));
  } catch (error) {
    throw databaseRefusal(url, error);
  }
}

/**
 * `VACUUM INTO` reads in one transaction, so that writers go on and the copy is of one moment. The online backup of SQLite begins anew whenever
 * another process writes, and with 200 writes a second it never ends. The copy also leaves out free pages, and with them what was deleted.
 */
async function copySqlite(from: string, file: string): Promise<Snapshot> {
  const db = readSqlite(from);
  try {
    db.prepare("VACUUM INTO ?").run(file);
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  } finally {
    db.close();
  }
  await syncToDisk(file);
  const copy = await openSource(`file:${file}`);
  try {
    return await snapshotOf(copy);
  } finally {
    await copy.close();
  }
}

/** The transaction that reads the facts hands its moment on to `pg_dump`. */
async function copyPostgres(url: string, file: string): Promise<Snapshot> {
  const source = await openSource(url);
  try {
    const [server] = await source.query("SELECT current_setting('server_version_num') AS version");
    await requireTool("pg_dump", url, Number(server?.["version"]));
    await source.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const [exported] = await source.query("SELECT pg_export_snapshot() AS id");
    const snapshot = await snapshotOf(source);
    const argv = ["--format=custom", "--no-owner", "--no-privileges", `--snapshot=${String(exported?.["id"])}`, `--file=${file}`];
    await runTool("pg_dump", argv, url);
    await source.query("COMMIT");
    return snapshot;
  } finally {
    await source.close();
  }
}
