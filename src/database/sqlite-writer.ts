import type { Transaction } from "@prisma/driver-adapter-utils";
import { ProblemError } from "../kernel/errors.ts";
import { createFlush } from "./flush.ts";
import type { createPace } from "./pace.ts";
import { retryWhileBusy, withProblems } from "./problems.ts";
import { createSemaphore } from "../kernel/semaphore.ts";
import { openSqliteConnection, type SqliteConnection, type SqliteOptions } from "./sqlite-connection.ts";
import { closeSync, openSync, readSync, statSync } from "node:fs";

type Pace = ReturnType<typeof createPace>;

export const sqliteIdentity = { provider: "sqlite", adapterName: "@prisma/adapter-better-sqlite3" } as const;

/** The connection that may write, and the queue in front of it. */
export async function createWriter(options: SqliteOptions, pace: Pace) {
  const queue = createSemaphore({ waiting: 2000, timeoutMs: 15_000, refusal: "storage_busy" });
  let connection = await openSqliteConnection(options, "writer");
  const assertSameFile = holdFile(options.file, connection.applicationId());
  const flush = options.synchronous === "full" ? createFlush(`${options.file}-wal`) : () => Promise.resolve();

  /** Leave no transaction behind: a connection that cannot roll back is closed, which rolls back, and is opened anew at its next use. */
  function clean(): void {
    if (!connection.isInTransaction()) return;
    try {
      connection.exec("ROLLBACK");
    } catch {
      connection.close();
    }
  }

  async function usable(): Promise<SqliteConnection> {
    assertSameFile();
    if (connection.isInTransaction()) clean();
    if (!connection.isOpen()) connection = await openSqliteConnection(options, "writer");
    return connection;
  }

  return {
    /** Run one statement outside a transaction, in its turn. */
    async alone<T>(since: number, run: (connection: SqliteConnection) => Promise<T>): Promise<T> {
      const release = await queue.acquire();
      let answer: T;
      try {
        await pace();
        answer = await retryWhileBusy(since, async () => run(await usable()));
      } finally {
        clean();
        release();
      }
      await flush();
      return answer;
    },

    async begin(): Promise<Transaction> {
      const since = performance.now();
      const release = await queue.acquire();
      try {
        await pace();
        await retryWhileBusy(since, async () => (await usable()).exec("BEGIN IMMEDIATE"));
      } catch (error) {
        clean();
        release();
        throw error;
      }
      return transaction(connection, { pace, assertSameFile, flush }, () => {
        clean();
        release();
      });
    },

    async close(): Promise<void> {
      const release = await queue.acquire();
      try {
        if (connection.isOpen()) connection.checkpoint();
      } catch {
        // Another process is reading; what is in the write-ahead log is just as safe there.
      } finally {
        connection.close();
        release();
      }
    },
  };
}

/** @param end rolls back what is still open and lets the next one in */
function transaction(
  connection: SqliteConnection,
  { pace, assertSameFile, flush }: { pace: Pace; assertSameFile: () => void; flush: () => Promise<void> },
  end: () => void,
): Transaction {
  let isEnded = false;

  /** SQLite ends a transaction by itself after a full disk or an I/O error; without this, what follows would be committed alone. */
  function inside<T>(run: () => Promise<T>): Promise<T> {
    return withProblems(async () => {
      await pace();
      if (isEnded || !connection.isInTransaction()) {
        throw new ProblemError("storage_busy", { retryAfter: 1, cause: new Error("SQLite has rolled the transaction back") });
      }
      return await run();
    });
  }
  const exec = (sql: string) => inside(async () => connection.exec(sql));

  /** Once only: afterwards the connection belongs to the next one. */
  function endOnce(): void {
    if (isEnded) return;
    isEnded = true;
    end();
  }

  return {
    ...sqliteIdentity,
    options: { usePhantomQuery: true },
    queryRaw: (query) => inside(() => connection.queryRaw(query)),
    executeRaw: (query) => inside(() => connection.executeRaw(query)),
    createSavepoint: (name) => exec(`SAVEPOINT ${name}`),
    rollbackToSavepoint: (name) => exec(`ROLLBACK TO ${name}`),
    releaseSavepoint: (name) => exec(`RELEASE ${name}`),
    async commit() {
      try {
        assertSameFile();
        await exec("COMMIT");
      } finally {
        endOnce();
      }
      // The next transaction goes on meanwhile.
      await withProblems(flush);
    },
    async rollback() {
      endOnce();
    },
  };
}

/** How often the content is looked at, beside the name. */
const lookMs = 1000;
/** Where SQLite keeps the number that `PRAGMA application_id` sets, in the file itself. Source: sqlite.org/fileformat2.html §1.3. */
const stampOffset = 68;

/**
 * Holds on to what the name of a database file stood for when it was opened. SQLite goes on writing into a file that was deleted or replaced,
 * and everything acknowledged from then on is lost.
 * @param stamp the application id of the database
 * @returns call it before what is acknowledged: it throws ProblemError storage_readonly once the name stands for another file, or the file has another content
 */
export function holdFile(file: string, stamp: number): () => void {
  const { dev, ino } = statSync(file, { bigint: true });
  let lookedAt = -Infinity;
  /** While others read, a new database has its stamp in the write-ahead log only. */
  let isStamped = false;

  function isSame(): boolean {
    const now = statSync(file, { bigint: true, throwIfNoEntry: false });
    if (now === undefined || now.dev !== dev || now.ino !== ino) return false;
    if (performance.now() - lookedAt < lookMs) return true;
    lookedAt = performance.now();
    const found = readStamp(file);
    if (found === stamp) isStamped = true;
    return found === stamp || (found === 0 && !isStamped);
  }

  return () => {
    if (isSame()) return;
    lookedAt = -Infinity;
    const detail =
      "The database file was removed or replaced while the service runs, so nothing is written. Put it back, or restart the service.";
    throw new ProblemError("storage_readonly", { retryAfter: 5, detail });
  };
}

/** Undefined for a file too short to be a database. */
function readStamp(file: string): number | undefined {
  const handle = openSync(file, "r");
  try {
    const bytes = Buffer.alloc(4);
    return readSync(handle, bytes, 0, 4, stampOffset) === 4 ? bytes.readInt32BE() : undefined;
  } finally {
    closeSync(handle);
  }
}
