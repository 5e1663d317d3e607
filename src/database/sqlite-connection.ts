import { randomInt } from "node:crypto";
import { PrismaBetterSqlite3 } from "@prisma/adapter-better-sqlite3";
import type { SqlQuery, SqlQueryable, SqlResultSet } from "@prisma/driver-adapter-utils";
import BetterSqlite3 from "better-sqlite3";
import { LRUCache } from "lru-cache";
import { DatabaseError } from "./errors.ts";
import { keepAlive } from "./keep-alive.ts";
import type { Logger } from "./write.ts";

export interface SqliteOptions {
  file: string;
  /** `full` survives a power loss; `normal` may lose the last commits then, never their consistency. */
  synchronous: "full" | "normal";
  /** Hears when another program takes the files away. */
  logger?: Logger | undefined;
}

/** One connection with kept statements. All of it works synchronously; errors are DriverAdapterErrors, as Prisma expects them. */
export interface SqliteConnection {
  queryRaw(query: SqlQuery): Promise<SqlResultSet>;
  executeRaw(query: SqlQuery): Promise<number>;
  /** Whether SQLite itself says that the statement changes nothing. `INSERT … RETURNING` does change something. */
  isReadOnly(sql: string): boolean;
  exec(sql: string): void;
  /**
   * Move what the write-ahead log has into the database file; `TRUNCATE` empties the log as well.
   * @returns whether all of it was moved: another process that reads can prevent it
   */
  checkpoint(mode: "PASSIVE" | "TRUNCATE"): boolean;
  isInTransaction(): boolean;
  /** The number that tells this database from others; 0 for a reader that has not seen it yet. */
  applicationId(): number;
  isOpen(): boolean;
  close(): void;
}

interface Prepared {
  statement: BetterSqlite3.Statement<unknown[]>;
  columns: BetterSqlite3.ColumnDefinition[];
}

/** A foreign process that holds the lock stops the event loop for this long at most, for each try. */
const busyTimeoutMs = 5;
const keptStatements = 500;
/** Pages of the log at which a commit moves it itself: 64 MB. */
const lastPages = 16_000;
const walLimitBytes = 64 * 1024 * 1024;

/**
 * Open the file in WAL mode, which the isolation of readers rests on.
 * @throws DatabaseError no_wal when the file system does not offer it
 */
export async function openSqliteConnection(options: SqliteOptions, mode: "writer" | "reader"): Promise<SqliteConnection> {
  const isReader = mode === "reader";
  const stock = await new PrismaBetterSqlite3({
    url: options.file,
    timeout: busyTimeoutMs,
    readonly: isReader,
    // The file was made when the schema was brought up to date: one that is gone is not made anew, empty.
    fileMustExist: true,
  }).connect();
  const converter = stock as SqlQueryable & { client?: unknown };
  const db = converter.client;
  if (!(db instanceof BetterSqlite3)) throw new Error("this version of @prisma/adapter-better-sqlite3 keeps its connection elsewhere");
  keepAlive(db);
  try {
    configure(db, options, isReader);
  } catch (error) {
    db.close();
    throw error;
  }
  const prepare = createStatements(db);
  // The stock adapter prepares and describes a statement anew for each query; it is handed kept ones instead.
  converter.client = { prepare: (sql: string) => ({ bind: (args: unknown[]) => bound(prepare(sql), args) }) };
  return {
    queryRaw: (query) => converter.queryRaw(query),
    executeRaw: (query) => converter.executeRaw(query),
    isReadOnly: (sql) => prepare(sql).statement.readonly,
    exec: (sql) => void db.exec(sql),
    checkpoint(mode) {
      const [row] = db.pragma(`wal_checkpoint(${mode})`) as {
        busy: number | bigint;
        log: number | bigint;
        checkpointed: number | bigint;
      }[];
      return row !== undefined && Number(row.busy) === 0 && Number(row.log) === Number(row.checkpointed);
    },
    isInTransaction: () => db.open && db.inTransaction,
    applicationId: () => Number(db.pragma("application_id", { simple: true })),
    isOpen: () => db.open,
    close: () => void db.close(),
  };
}

function configure(db: BetterSqlite3.Database, { file }: SqliteOptions, isReader: boolean): void {
  if (!isReader) {
    db.pragma("journal_mode = WAL");
    // `full` is seen to by the writer, who flushes the log beside the event loop, and for many commits at once.
    db.pragma("synchronous = NORMAL");
    db.pragma("foreign_keys = ON");
    // Long before, the log is moved beside the event loop. This is for the case that it cannot be.
    db.pragma(`wal_autocheckpoint = ${lastPages.toString()}`);
    // What is deleted is overwritten: erased data is not left readable in pages that are free for now.
    db.pragma("secure_delete = ON");
    db.pragma(`journal_size_limit = ${walLimitBytes.toString()}`);
    if (Number(db.pragma("application_id", { simple: true })) === 0) {
      db.pragma(`application_id = ${randomInt(1, 2 ** 31).toString()}`);
      db.pragma("wal_checkpoint(PASSIVE)");
    }
  }
  const journal = db.pragma("journal_mode", { simple: true });
  if (journal !== "wal")
    throw new DatabaseError(
      "no_wal",
      `The database ${file} cannot be put into WAL mode (it is in ${String(journal)} mode). Put it on a local disk.`,
    );
}

/** Kept statements, thrown away when the schema has changed, by whomever: their columns are described only once. */
function createStatements(db: BetterSqlite3.Database): (sql: string) => Prepared {
  const kept = new LRUCache<string, Prepared>({ max: keptStatements });
  const schemaVersion = db.prepare<[], bigint>("PRAGMA schema_version").pluck();
  // Reading the number does not make SQLite read a changed schema; touching the schema's table does.
  const readSchema = db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1");
  let version: bigint | undefined;
  return (sql) => {
    const present = schemaVersion.get();
    if (present !== version) {
      readSchema.get();
      kept.clear();
      version = present;
    }
    const found = kept.get(sql);
    if (found !== undefined) return found;
    const statement = db.prepare<unknown[]>(sql);
    const prepared = { statement, columns: statement.reader ? statement.raw().columns() : [] };
    kept.set(sql, prepared);
    return prepared;
  };
}

/** What the stock adapter does with a bound statement, without binding: a bound statement could not be used again. */
function bound({ statement, columns }: Prepared, args: unknown[]) {
  const rows = { all: () => statement.all(...args) };
  return { reader: statement.reader, columns: () => columns, run: () => statement.run(...args), raw: () => rows };
}
