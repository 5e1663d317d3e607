import BetterSqlite3 from "better-sqlite3";
import { dialectOf, sqliteFile, type Dialect } from "../../database/dialect.ts";
import { databaseRefusal } from "../../database/refusals.ts";
import { createCheckpointFile } from "./checkpoint-file.ts";
import { createEntryReader, entryOfColumns, type StoredEntry } from "./entries.ts";
import type { AuditVerification } from "./audit.schema.ts";
import type { PublicKey } from "./sign.ts";
import { databaseSource } from "./verification.ts";
import { createTimeSlices } from "../../kernel/time-slices.ts";
import { verifyChain, type ChainSource } from "./verify.ts";
import { readCheckpoints } from "./verify-checkpoints.ts";
import { open } from "node:fs/promises";
import type { ExportHead } from "./restore.ts";

/** What is verified from outside the service, and against what. */
export interface OutsideOptions {
  /** The address of a database, which is only read, or an export. */
  from: { database: string } | { file: string };
  /** The file of signed positions; none are compared without. */
  checkpoints?: string;
  keys: readonly PublicKey[];
  /** The copy may be older than the newest signed position. */
  isBackup?: boolean;
  first?: number;
  last?: number;
  onProgress?: (entries: number) => void;
}

interface Opened {
  source: ChainSource;
  origin: string | undefined;
  /** When a copy was made, if it says so. */
  madeAt?: string;
  /** Whether the copy turned out to be cut off; known after the walk. */
  wasCut(): boolean;
  close(): Promise<void>;
}

/**
 * Verify a chain without the service: beside a running one, in a backup, or in an export.
 * @throws Error when it cannot be read
 */
export async function verifyOutside(options: OutsideOptions): Promise<AuditVerification> {
  const { from, checkpoints, keys, isBackup = false, first, last, onProgress } = options;
  const slices = createTimeSlices(50);
  const opened = "file" in from ? await openExport(from.file) : await openDatabase(from.database);
  try {
    const lines = checkpoints === undefined ? [] : createCheckpointFile(checkpoints).read();
    const until = opened.madeAt === undefined ? {} : { until: opened.madeAt };
    const held = await readCheckpoints({ lines, keys, origin: opened.origin, ...until }, slices);
    const answer = await verifyChain({
      source: opened.source,
      checkpoints: held,
      slices,
      mayEndEarly: isBackup,
      from: first,
      to: last,
      ...(onProgress !== undefined && { onProgress }),
    });
    // What says that details were erased may have been in the part that is gone.
    const isCut = (answer.ok || answer.kind === "details_missing") && opened.wasCut();
    return isCut ? { ...answer, ok: false, first_bad_seq: (first ?? 1) + answer.entries, kind: "tail_missing" } : answer;
  } finally {
    await opened.close();
  }
}

async function openDatabase(url: string): Promise<Opened> {
  const dialect = dialectOf(url);
  const { query, close } = await connect(url, dialect);
  try {
    const hasErased = (await query(columnQuery[dialect])).length > 0;
    const [said] = await query(`SELECT CAST(value AS TEXT) AS line FROM settings WHERE key = 'instance_id'`);
    const source = databaseSource(createEntryReader(dialect, query, hasErased));
    return { source, origin: said === undefined ? undefined : String(JSON.parse(said)), wasCut: () => false, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** @throws DatabaseError in words for the operator */
async function connect(url: string, dialect: Dialect) {
  try {
    return dialect === "sqlite" ? openSqlite(sqliteFile(url)) : await openPostgres(url);
  } catch (error) {
    throw databaseRefusal(url, error);
  }
}

const columnQuery = {
  sqlite: "SELECT name AS line FROM pragma_table_info('audit_entries') WHERE name = 'erased'",
  postgres: "SELECT column_name AS line FROM information_schema.columns WHERE table_name = 'audit_entries' AND column_name = 'erased'",
};

function openSqlite(file: string) {
  const db = new BetterSqlite3(file, { readonly: true, fileMustExist: true, timeout: 5000 });
  return {
    query: (sql: string) => Promise.resolve(db.prepare<[], string>(sql).pluck().all()),
    close: () => Promise.resolve(void db.close()),
  };
}

async function openPostgres(url: string) {
  const { Client } = await import("pg");
  const client = new Client({ connectionString: url, options: "-c default_transaction_read_only=on" });
  await client.connect();
  return {
    query: async (sql: string) => (await client.query<{ line: string }>(sql)).rows.map(({ line }) => line),
    close: () => client.end(),
  };
}

const slice = 200;

type Line = Readonly<Record<string, unknown>>;

/** An export as a chain to verify. @throws Error in plain words when the file is none */
async function openExport(path: string): Promise<Opened> {
  const file = await open(path, "r");
  const texts = file.readLines()[Symbol.asyncIterator]();
  const first = await texts.next();
  const head = (first.done === true ? undefined : parsed(first.value)) as ExportHead | undefined;
  if (head?.v !== 1 || typeof head.origin !== "string") {
    await file.close();
    throw new Error(`${path} is no export of the audit. Make one with \`provost audit export --out <file>\`.`);
  }
  const erasing: StoredEntry[] = [];
  let count = 0;
  let isWhole = false;

  async function* entries(): AsyncGenerator<StoredEntry, void, void> {
    for (let next = await texts.next(); next.done !== true; next = await texts.next()) {
      const said = parsed(next.value);
      if (said === undefined) return;
      if (said["end"] === true) {
        isWhole = said["entries"] === count;
        return;
      }
      count += 1;
      yield entryOfColumns(said);
    }
  }

  return {
    origin: head.origin,
    madeAt: head.made_at,
    wasCut: () => !isWhole,
    close: () => file.close(),
    source: {
      isPartial: !head.complete,
      knows: () => Promise.resolve(false),
      stray: () => Promise.resolve(undefined),
      async *slices(from, to) {
        let part: StoredEntry[] = [];
        for await (const one of entries()) {
          if (one.entry.seq > to && one.entry.erased !== null) erasing.push(one);
          if (one.entry.seq < from || one.entry.seq > to) continue;
          part.push(one);
          if (part.length === slice) {
            yield part;
            part = [];
          }
        }
        yield part;
      },
      async *erasingAfter() {
        yield erasing;
      },
    },
  };
}

function parsed(text: string): Line | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Line) : undefined;
  } catch {
    return undefined;
  }
}
