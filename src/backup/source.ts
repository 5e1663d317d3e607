import { existsSync } from "node:fs";
import BetterSqlite3 from "better-sqlite3";
import { sqliteFile, dialectOf, type Dialect } from "../database/dialect.ts";
import { keepAlive } from "../database/keep-alive.ts";
import { databaseRefusal } from "../database/refusals.ts";
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

export type Facts = Pick<Manifest, "migration" | "instance" | "secret_key" | "audit">;

/** What a database says of itself. @throws Error of the database, when it has no tables of ours */
export async function factsOf({ query }: Source): Promise<Facts> {
  const [migration] = await query(
    "SELECT migration_name AS name FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY migration_name DESC LIMIT 1",
  );
  const setting = async (key: string): Promise<string | null> => {
    const [row] = await query("SELECT CAST(value AS TEXT) AS value FROM settings WHERE key = $1", [key]);
    return row === undefined ? null : String(JSON.parse(String(row["value"])));
  };
  const [head] = await query("SELECT seq, hash FROM audit_entries ORDER BY seq DESC LIMIT 1");
  return {
    migration: String(migration?.["name"] ?? ""),
    instance: (await setting("instance_id")) ?? "",
    secret_key: await setting(fingerprintSetting),
    audit: head === undefined ? null : { seq: Number(head["seq"]), hash: String(head["hash"]) },
  };
}

/** The hashes of the files of evidence that rows name, in their order. */
export async function evidenceNamed({ query }: Source): Promise<string[]> {
  const rows = await query("SELECT DISTINCT sha256 FROM evidence_files WHERE status = 'stored' AND sha256 IS NOT NULL ORDER BY sha256");
  return rows.map(({ sha256 }) => String(sha256));
}

/** Whether a row names this file of evidence. */
export async function isEvidenceNamed({ query }: Source, sha256: string): Promise<boolean> {
  return (await query("SELECT 1 AS one FROM evidence_files WHERE status = 'stored' AND sha256 = $1 LIMIT 1", [sha256])).length > 0;
}
