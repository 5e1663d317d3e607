import { say } from "../kit/say.ts";
import type { Tx } from "./tx.ts";
import { createWrite, type Instance, type Logger, type Write, type WriteOptions } from "./write.ts";
import { dirname, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { processCall, type Call } from "../kernel/call.ts";
import { addSeconds, systemClock, type Clock } from "../kernel/clock.ts";
import { ProblemError } from "../kernel/errors.ts";
import { Prisma } from "../generated/sqlite/client.ts";
import { changesKeptSeconds, nodesKeptSeconds } from "../cluster/changes.ts";
import { openClient, type Opened } from "./client.ts";
import type { PrismaClient, ReadClient } from "./models.ts";
import { dialectOf, sqliteFile, type Dialect } from "./dialect.ts";
import { ensureFolder } from "./folder.ts";
import { createClaims, findStored, type Replay } from "./idempotency.ts";
import { createKnownEnds } from "./known-ends.ts";
import { databaseRefusal, placeOf } from "./refusals.ts";
import { concurrentTransactions } from "./transaction.ts";
import { unwrapped, withProblems } from "./problems.ts";
import { createSemaphore } from "../kernel/semaphore.ts";
import { uuid7 } from "../kernel/ids.ts";
import { randomToken } from "../kernel/secrets.ts";
import { fileError } from "../kernel/operator-errors.ts";
import {
  migrateSqlite,
  readMigrations,
  failedMigration,
  foreignDatabase,
  pendingMigrations,
  type AppliedMigration,
  type Migration,
} from "./migrate-sqlite.ts";
import { randomUUID } from "node:crypto";
import type pg from "pg";

/**
 * Bring a database to the newest schema, safely beside other processes that do the same.
 * @param folder where the migrations lie, if not in this package
 * @returns the names of the migrations that were applied
 * @throws DatabaseError when the database is not one this version may touch
 */
export async function migrate(url: string, folder?: string): Promise<string[]> {
  const dialect = dialectOf(url);
  const migrations = await readMigrations(dialect, folder);
  return withProblems(() => (dialect === "sqlite" ? migrateSqlite(sqliteFile(url), migrations) : migratePostgres(url, migrations)));
}

const migrationTable = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id                      VARCHAR(36) PRIMARY KEY NOT NULL,
    checksum                VARCHAR(64) NOT NULL,
    finished_at             TIMESTAMPTZ,
    migration_name          VARCHAR(255) NOT NULL,
    logs                    TEXT,
    rolled_back_at          TIMESTAMPTZ,
    started_at              TIMESTAMPTZ NOT NULL DEFAULT now(),
    applied_steps_count     INTEGER NOT NULL DEFAULT 0
)`;

/** The key Prisma's own tools lock while they migrate. */
const migrationLock = 72_707_369;

/**
 * Bring a PostgreSQL database to the newest schema, each migration in a transaction of its own, one process at a time.
 * @returns the names of the applied migrations
 * @throws DatabaseError when the database is foreign or of a newer version
 */
async function migratePostgres(url: string, migrations: readonly Migration[]): Promise<string[]> {
  const { Client } = await import("pg");
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000, lock_timeout: 60_000 });
  // A broken connection also rejects the running query; without a listener it would end the process.
  client.on("error", () => undefined);
  await client.connect();
  try {
    await client.query("SELECT pg_advisory_lock($1)", [migrationLock]);
    const place = placeOf(url);
    const pending = pendingMigrations(place, migrations, await readApplied(client, place));
    for (const migration of pending) await apply(client, url, migration);
    return pending.map(({ name }) => name);
  } finally {
    // The lock is the session's and ends with it.
    await client.end();
  }
}

async function readApplied(client: pg.Client, place: string): Promise<AppliedMigration[]> {
  const { rows: tables } = await client.query<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()",
  );
  const [table] = tables;
  if (table === undefined) return [];
  if (!tables.some(({ name }) => name === "_prisma_migrations")) throw foreignDatabase(place, table.name);
  const { rows } = await client.query<AppliedMigration>(
    `SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS "isFinished" FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY started_at`,
  );
  return rows;
}

async function apply(client: pg.Client, url: string, migration: Migration): Promise<void> {
  const { name, checksum, sql } = migration;
  await client.query("BEGIN");
  try {
    await client.query(migrationTable);
    await client.query(sql);
    await client.query(
      `INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name, started_at, applied_steps_count) VALUES ($1, $2, clock_timestamp(), $3, now(), 1)`,
      [randomUUID(), checksum, name],
    );
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    throw failedMigration(url, migration, error);
  }
}

export type { PrismaClient, ReadClient, TransactionClient } from "./models.ts";
export type { Tx } from "./tx.ts";
export type { Logger } from "./write.ts";

export interface Database {
  dialect: Dialect;
  instance: Pick<Instance, "find" | "id">;
  /** Reads outside transactions: they see what is committed and never wait for a writer. */
  read: ReadClient;
  /**
   * Do work in one transaction, the only way to write. With an idempotency key in the call the result is kept and an earlier
   * one is returned instead of doing the work again; dates in it come back as text. On PostgreSQL the work may run more than once.
   * @throws ProblemError storage_busy, storage_full, storage_readonly, idempotency_key_reused, shutting_down, and what the work throws
   */
  write<T>(call: Call, work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * The kept answer of this call's idempotency key, for verbs that do something outside before they write.
   * @throws ProblemError idempotency_key_reused, idempotency_in_progress when another process is at it
   */
  findReplay(call: Call): Promise<Replay | undefined>;
  /**
   * Delete kept answers past their time, changes that every process has heard of, and processes that ended without a word; answers how many
   * answers. A job calls it.
   */
  sweep(call: Call): Promise<number>;
  /**
   * Whether the storage takes a commit: one of the last second counts, and one that succeeds while this one waits for its turn.
   * @throws ProblemError when it does not
   */
  check(): Promise<void>;
  /** Refuse new writes, wait for the running ones, and disconnect. */
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** `file:…` or `postgresql://…` */
  url: string;
  clock?: Clock;
  /** How long answers to idempotency keys are kept; a day by default. */
  idempotencySeconds?: number;
  /** SQLite: whether a commit survives a power loss (`full`, the default). */
  synchronous?: "full" | "normal";
  logger?: Logger;
  /**
   * Whether a write inside a write, which waits for itself, is found out at once, as it is by default. What follows the asynchronous calls
   * of a process makes each of its promises dearer, so that a running service goes without.
   */
  watchNesting?: boolean;
  onTransaction?: WriteOptions["onTransaction"];
  /** For several processes on one database. */
  epoch?: WriteOptions["epoch"];
  memory?: WriteOptions["memory"];
  /** For tests: how many transactions there were, on PostgreSQL. */
  transactionsBefore?: number;
}

/**
 * Open a database and bring it to the newest schema.
 * @throws DatabaseError when it cannot be opened, or is not one this version may touch
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { url, clock = systemClock, idempotencySeconds = 86_400, logger, watchNesting = true, onTransaction, epoch, memory } = options;
  const dialect = dialectOf(url);
  const { client, read, transact, close } = await open(options);
  const claims = createClaims();
  const transactionSlots = createSemaphore({ places: concurrentTransactions, waiting: 2000, timeoutMs: 15_000, refusal: "storage_busy" });
  const instance = createInstance(read, () => write);
  const write: Write = createWrite({
    transact,
    dialect,
    clock,
    idempotencySeconds,
    claims,
    knownEnds: createKnownEnds(),
    logger,
    watchNesting,
    onTransaction,
    epoch,
    memory,
    instance,
    emptyLog: dialect === "sqlite" ? createEmptyLog(client, logger) : () => Promise.resolve(),
    ...(dialect === "postgres" && { transactionSlots }),
  });
  const commits = watchCommits(write);
  const ending = createEnding(close, commits.write);
  return { dialect, instance, read, ...ending, findReplay, sweep, check };

  function sweep(call: Call): Promise<number> {
    return ending.write(call, async ({ db, now }) => {
      if (dialect === "postgres") {
        await db.change.deleteMany({ where: { at: { lt: addSeconds(now, -changesKeptSeconds) } } });
        await db.node.deleteMany({ where: { heartbeatAt: { lt: addSeconds(now, -nodesKeptSeconds) } } });
      }
      return (await db.idempotencyRecord.deleteMany({ where: { expiresAt: { lte: now } } })).count;
    });
  }

  async function findReplay(call: Call): Promise<Replay | undefined> {
    if (call.idempotency === null || claims.isTaken(call)) return undefined;
    const stored = findStored.bind(undefined, read, call.idempotency);
    let replay = await stored(clock.now());
    if (replay === undefined && call.idempotency.alone !== undefined) {
      await call.idempotency.alone();
      replay = await stored(clock.now());
    }
    if (replay !== undefined) {
      call.replayed = true;
      await memory?.caughtUp();
    }
    return replay;
  }

  async function check(): Promise<void> {
    await instance.assertSame(read);
    if (commits.isRecent()) return;
    const { committed, forget } = commits.next();
    await Promise.race([commit(), committed]).finally(forget);
  }

  /** Both statements make the database write and flush a commit without changing a row. */
  async function commit(): Promise<void> {
    try {
      await (dialect === "sqlite" ? client.$executeRaw`PRAGMA user_version = 1` : client.$executeRaw`SELECT pg_current_xact_id()`);
    } catch (error) {
      throw unwrapped(error);
    }
  }
}

async function open({ url, synchronous = "full", logger, epoch, transactionsBefore = 0 }: DatabaseOptions): Promise<Opened> {
  const file = dialectOf(url) === "sqlite" ? sqliteFile(url) : undefined;
  try {
    if (file !== undefined) await ensureFolder(dirname(resolve(file)));
    for (const name of await migrate(url)) logger?.info({ migration: name }, "the tables were brought up to date");
    return await openClient({ url, synchronous, logger, isShared: epoch !== undefined, transactionsBefore });
  } catch (error) {
    throw databaseRefusal(url, fileError(error, { kind: "folder" }));
  }
}

/** How often another process that is reading is waited for, and how long each time. */
const [logTries, logPauseMs] = [20, 50];

/** What was erased would stay readable in the write-ahead log until that is written over. */
function createEmptyLog(client: PrismaClient, logger: DatabaseOptions["logger"]): () => Promise<void> {
  return async () => {
    let cause: unknown = "another process reads the database";
    for (let tries = 1; tries <= logTries; tries += 1) {
      try {
        const [row] = await client.$queryRaw<{ busy: bigint | number }[]>`PRAGMA wal_checkpoint(TRUNCATE)`;
        if (Number(row?.busy) === 0) return;
      } catch (error) {
        cause = error;
      }
      await delay(logPauseMs);
    }
    logger?.warn(
      { err: cause, command: "PRAGMA wal_checkpoint(TRUNCATE)" },
      "what was erased stays in the log of the database for now; it goes with the next erasure, or when the service stops",
    );
  };
}

/** How long a commit shows that the storage works. */
const recentMs = 1000;

function watchCommits(write: Write) {
  let lastAt = -Infinity;
  const waiting = new Set<() => void>();

  return {
    isRecent: () => performance.now() - lastAt < recentMs,
    /** Settles with the next commit. */
    next() {
      let told = (): void => undefined;
      const committed = new Promise<void>((resolve) => (told = resolve));
      waiting.add(told);
      return { committed, forget: () => void waiting.delete(told) };
    },
    write: async <T>(call: Call, work: (tx: Tx) => Promise<T>): Promise<T> => {
      try {
        const value = await write(call, work);
        if (!call.replayed) {
          lastAt = performance.now();
          for (const tell of waiting) tell();
        }
        return value;
      } catch (error) {
        if (error instanceof ProblemError && error.status === 503) lastAt = -Infinity;
        throw error;
      }
    },
  };
}

/** Writes are counted so that closing can wait for them. */
function createEnding(disconnect: () => Promise<void>, write: Write): Pick<Database, "write" | "close"> {
  const writes = new Set<Promise<unknown>>();
  let closing: Promise<void> | undefined;

  async function end(): Promise<void> {
    await Promise.allSettled(writes);
    await disconnect();
  }

  return {
    async write(call, work) {
      if (closing !== undefined) throw new ProblemError("shutting_down", { retryAfter: 5 });
      const running = write(call, work);
      writes.add(running);
      try {
        return await running;
      } finally {
        writes.delete(running);
      }
    },
    close: () => (closing ??= end()),
  };
}

const key = "instance_id";
/** How often it is made sure of. */
const lookMs = 1000;

export function createInstance(read: ReadClient, write: () => Write): Instance {
  let known: string | undefined;
  let lookedAt = -Infinity;

  async function find(db: Pick<ReadClient, "$select"> = read): Promise<string | undefined> {
    const [row] = await db.$select("Setting", Prisma.sql`WHERE t.key = ${key}`);
    return row === undefined ? undefined : String(row.value);
  }

  async function make(): Promise<string> {
    return write()(processCall(uuid7()), async (tx) => {
      await tx.lock("settings");
      const made = await tx.db.setting.upsert({ where: { key }, create: { key, value: randomToken().slice(0, 22) }, update: {} });
      return String(made.value);
    });
  }

  return {
    find: () => find(),
    id: async () => (known ??= (await find()) ?? (await make())),
    async assertSame(db) {
      if (known === undefined || performance.now() - lookedAt < lookMs) return;
      if ((await find(db)) !== known) {
        const detail = say("database.the-database-is-that-of-another-installation");
        throw new ProblemError("storage_readonly", { retryAfter: 5, detail });
      }
      lookedAt = performance.now();
    },
  };
}
