import { existsSync } from "node:fs";
import BetterSqlite3 from "better-sqlite3";
import { sqliteFile, dialectOf, type Dialect } from "../database/dialect.ts";
import { keepAlive } from "../database/keep-alive.ts";
import { databaseRefusal } from "../database/refusals.ts";
import { placeSetting, readHeldPlace, type HeldPlace } from "../features/evidence/place.ts";
import { OperatorError } from "../kernel/operator-errors.ts";
import { fingerprintSetting } from "../secret-key.ts";
import type { Manifest } from "./manifest.ts";

type Row = Readonly<Record<string, string | number | null>>;

/** A database behind plain SQL that both dialects understand; one of SQLite is only read. */
export interface Source {
  dialect: Dialect;
  query(sql: string, values?: readonly string[]): Promise<Row[]>;
  close(): Promise<void>;
}

/** @throws DatabaseError in words for the operator */
export async function openSource(url: string): Promise<Source> {
  try {
    return dialectOf(url) === "sqlite" ? openSqlite(sqliteFile(url)) : await openPostgres(url);
  } catch (error) {
    throw databaseRefusal(url, error);
  }
}

/** Open a SQLite file for reading. @throws OperatorError when it is not there */
export function readSqlite(file: string): BetterSqlite3.Database {
  if (!existsSync(file)) throw new OperatorError(`There is no database file ${file}. Check \`DATABASE_URL\` and \`DATA_DIR\`.`);
  return keepAlive(new BetterSqlite3(file, { readonly: true, fileMustExist: true, timeout: 10_000 }));
}

function openSqlite(file: string): Source {
  const db = readSqlite(file);
  return {
    dialect: "sqlite",
    query: async (sql, values = []) => db.prepare<string[], Row>(sql.replaceAll(/\$\d/g, "?")).all(...values),
    close: () => Promise.resolve(void db.close()),
  };
}

async function openPostgres(url: string): Promise<Source> {
  const { Client } = await import("pg");
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  // A broken connection also rejects the running query; without a listener it would end the process.
  client.on("error", () => undefined);
  await client.connect();
  return {
    dialect: "postgres",
    query: async (sql, values = []) => (await client.query<Row>(sql, [...values])).rows,
    close: () => client.end(),
  };
}

export type Facts = Pick<Manifest, "migration" | "instance" | "secret_key" | "evidence_store" | "audit">;

async function settingOf({ query }: Source, key: string): Promise<unknown> {
  const [row] = await query("SELECT CAST(value AS TEXT) AS value FROM settings WHERE key = $1", [key]);
  return row === undefined ? null : JSON.parse(String(row["value"]));
}

/** A setting that is a text; null where there is none. */
export async function textSetting(source: Source, key: string): Promise<string | null> {
  const value = await settingOf(source, key);
  return typeof value === "string" ? value : null;
}

/** Where the files of evidence are. */
export const heldPlaceOf = async (source: Source): Promise<HeldPlace> => readHeldPlace(await settingOf(source, placeSetting));

/** What a database says of itself. @throws Error of the database, when it has no tables of ours */
export async function factsOf(source: Source): Promise<Facts> {
  const [migration] = await source.query(
    "SELECT migration_name AS name FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY migration_name DESC LIMIT 1",
  );
  const [head] = await source.query("SELECT seq, hash FROM audit_entries ORDER BY seq DESC LIMIT 1");
  return {
    migration: String(migration?.["name"] ?? ""),
    instance: (await textSetting(source, "instance_id")) ?? "",
    secret_key: await textSetting(source, fingerprintSetting),
    evidence_store: (await heldPlaceOf(source)).name,
    audit: head === undefined ? null : { seq: Number(head["seq"]), hash: String(head["hash"]) },
  };
}

/** A file of evidence that rows name. */
export interface NamedEvidence {
  sha256: string;
  bytes: number;
}

/** The files of evidence that rows name, in the order of their hashes. */
export async function evidenceNamed({ query }: Source): Promise<NamedEvidence[]> {
  const rows = await query(
    "SELECT sha256, MAX(bytes) AS bytes FROM evidence_files WHERE status = 'stored' AND sha256 IS NOT NULL GROUP BY sha256 ORDER BY sha256",
  );
  return rows.map(({ sha256, bytes }) => ({ sha256: String(sha256), bytes: Number(bytes) }));
}

/** Of the files that rows name, those whose bytes are not all in the database. */
export async function evidenceNotInside({ query }: Source): Promise<string[]> {
  const rows = await query(`SELECT DISTINCT sha256 FROM evidence_files f WHERE status = 'stored' AND sha256 IS NOT NULL AND NOT EXISTS
    (SELECT 1 FROM evidence_chunks c WHERE c.sha256 = f.sha256 GROUP BY c.sha256 HAVING SUM(LENGTH(c.bytes)) = f.bytes)`);
  return rows.map(({ sha256 }) => String(sha256));
}

/** Whether a row names this file of evidence. */
export async function isEvidenceNamed({ query }: Source, sha256: string): Promise<boolean> {
  return (await query("SELECT 1 AS one FROM evidence_files WHERE status = 'stored' AND sha256 = $1 LIMIT 1", [sha256])).length > 0;
}
