import { ProblemError } from "../kernel/errors.ts";
import { holdFiles, type HeldFiles } from "./held-files.ts";
import type { createPace } from "./pace.ts";
import { retryWhileBusy, withProblems } from "./problems.ts";
import { createSemaphore } from "../kernel/semaphore.ts";
import { openSqliteConnection, type SqliteConnection, type SqliteOptions } from "./sqlite-connection.ts";
import type { TicketedTransaction } from "./transaction.ts";
import { once } from "node:events";
import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import type { Logger } from "./write.ts";

/** Pages that the log has when they are moved into the database file: 16 MB. */
const duePages = 4000;
/** How long the next time waits: after all was moved, where somebody still reads what the log had, and after a failure, such as a full disk. */
const restsMs = { moved: 1000, read: 10_000, failed: 60_000 };

/** A connection of its own, on which the log is moved for each `move`. */
const program = `
const { parentPort, workerData } = require("node:worker_threads");
const Database = require(workerData.library);
let db;
parentPort.on("message", (task) => {
  if (task === "end") {
    db?.close();
    parentPort.close();
    return;
  }
  try {
    db ??= new Database(workerData.file, { fileMustExist: true, timeout: 0 });
    db.pragma("synchronous = NORMAL");
    const [{ log, checkpointed }] = db.pragma("wal_checkpoint(PASSIVE)");
    parentPort.postMessage({ isWhole: log === checkpointed });
  } catch (error) {
    parentPort.postMessage({ problem: String(error) });
  }
});
`;

interface Ground {
  file: string;
  logger: Logger | undefined;
  /** Whether the write-ahead log has so many pages. */
  logReaches: (pages: number) => boolean;
  /** @throws Error where the files are no longer those that the service has open */
  assertSame: () => void;
  /** Wait until nobody writes, and keep it so. @returns lets others write again */
  holdWriters: () => Promise<() => void> | (() => void);
}

/**
 * Moves the write-ahead log into the database file, in a thread that lives only meanwhile: SQLite itself does it within a commit, and keeps
 * the event loop waiting for the disk.
 */
function createCheckpoints({ file, logger, logReaches, assertSame, holdWriters }: Ground) {
  let moving: Promise<void> | undefined;
  let restUntil = -Infinity;

  /** Most of it while others write. The rest, which is little, while nobody does: only so the log begins anew, and does not grow for ever. */
  async function move(): Promise<void> {
    const thread = startThread(file);
    try {
      assertSame();
      await thread.move();
      const release = await holdWriters();
      try {
        assertSame();
        restUntil = performance.now() + ((await thread.move()) ? restsMs.moved : restsMs.read);
      } finally {
        release();
      }
    } catch (error) {
      restUntil = performance.now() + restsMs.failed;
      logger?.warn({ err: error }, "the write-ahead log could not be moved into the database file; it is tried again");
    } finally {
      await thread.end();
    }
  }

  return {
    /** Begin to move the log where it has grown enough. Call it after a commit. */
    consider(): void {
      if (moving !== undefined || performance.now() < restUntil || !logReaches(duePages)) return;
      moving = move().finally(() => (moving = undefined));
    },
    /** Wait for what is being moved. */
    ended: async (): Promise<void> => await moving,
  };
}

function startThread(file: string) {
  const library = createRequire(import.meta.url).resolve("better-sqlite3");
  const worker = new Worker(program, { eval: true, workerData: { file, library }, execArgv: [] });
  const ended = once(worker, "exit").catch(() => undefined);
  return {
    /** @returns whether all of the log is in the file now @throws Error what SQLite, or the thread, died of */
    async move(): Promise<boolean> {
      worker.postMessage("move");
      const [{ isWhole, problem }] = (await once(worker, "message")) as [{ isWhole?: boolean; problem?: string }];
      if (isWhole === undefined) throw new Error(problem);
      return isWhole;
    },
    /** Its connection is closed then. */
    async end(): Promise<void> {
      worker.postMessage("end");
      await ended;
    },
  };
}

type Pace = ReturnType<typeof createPace>;

export const sqliteIdentity = { provider: "sqlite", adapterName: "@prisma/adapter-better-sqlite3" } as const;

/** The connection that may write, and the queue in front of it. */
export async function createWriter(options: SqliteOptions, pace: Pace) {
  const queue = createSemaphore({ waiting: 2000, timeoutMs: 15_000, refusal: "storage_busy" });
  const files = holdFiles({ file: options.file, isFlushed: options.synchronous === "full", logger: options.logger });
  let connection = await open();
  const checkpoints = createCheckpoints({
    file: options.file,
    logger: options.logger,
    logReaches: files.logReaches,
    assertSame: files.assertSame,
    holdWriters: () => queue.acquire(),
  });
  let isRescued = false;
  let isRescueTold = false;

  async function open(): Promise<SqliteConnection> {
    let opened: SqliteConnection | undefined;
    try {
      opened = await openSqliteConnection(options, "writer");
      await files.opened(opened.applicationId());
      return opened;
    } catch (error) {
      opened?.close();
      await files.release();
      throw error;
    }
  }

  /** Before a write is confirmed: it is on the disk, in a log that others see. */
  async function keep(): Promise<void> {
    if (options.synchronous === "full") await files.flush();
    try {
      files.assertSame();
    } finally {
      rescueLog();
    }
    checkpoints.consider();
  }

  /**
   * A log that has lost its name ends with its last connection. What it has is moved into the database where nobody else has changed that since,
   * and otherwise into a copy. Somebody who reads can prevent it; then it is tried again with the next refused write.
   */
  function rescueLog(): void {
    const lost = files.lostLog();
    if (lost === undefined || isRescued || !connection.isOpen() || connection.isInTransaction()) return;
    try {
      isRescued = true;
      if (lost === "deleted") {
        if (!connection.checkpoint("PASSIVE")) throw new Error("another program reads the database");
        options.logger?.warn({}, "all confirmed writes were moved from the deleted log into the database file");
      }
      if (lost === "replaced") {
        const copy = `${options.file}.confirmed-${Date.now().toString()}`;
        connection.exec(`VACUUM INTO '${copy.replaceAll("'", "''")}'`);
        options.logger?.error(
          { file: copy },
          "another program has written to the database meanwhile; this file has what the service had confirmed",
        );
      }
    } catch (error) {
      isRescued = false;
      if (!isRescueTold)
        options.logger?.error(
          { err: error },
          "the latest writes are only in the lost log: do not kill this process before they could be saved, which is tried again",
        );
      isRescueTold = true;
    }
  }

  /** Leave no transaction behind: a connection that cannot roll back is closed, which rolls back, and is opened anew at its next use. */
  function clean(): void {
    try {
      if (connection.isInTransaction()) connection.exec("ROLLBACK");
    } catch {
      connection.close();
    }
    rescueLog();
  }

  async function usable(): Promise<SqliteConnection> {
    files.assertSame();
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
        await pace("write");
        answer = await retryWhileBusy(since, async () => run(await usable()));
      } finally {
        clean();
        release();
      }
      await keep();
      return answer;
    },

    async begin(): Promise<TicketedTransaction> {
      const since = performance.now();
      const release = await queue.acquire();
      try {
        await pace("write");
        await retryWhileBusy(since, async () => (await usable()).exec("BEGIN IMMEDIATE"));
      } catch (error) {
        clean();
        release();
        throw error;
      }
      return transaction(connection, { pace, files, keep }, () => {
        clean();
        release();
      });
    },

    /** @param reader the connection that reads beside it */
    async close(reader: Pick<SqliteConnection, "close">): Promise<void> {
      await checkpoints.ended();
      const release = await queue.acquire();
      try {
        if (files.lostLog() !== undefined) return rescueLog();
        // The last connection to close folds the log in and removes it; a read-only one cannot.
        reader.close();
        if (connection.isOpen()) connection.checkpoint("TRUNCATE");
      } catch {
        // Another process is reading; what is in the write-ahead log is just as safe there.
      } finally {
        connection.close();
        // Where the log was lost, it closes last: what has the name of the log now belongs to others, and stays.
        reader.close();
        await files.release();
        release();
      }
    },
  };
}

/** @param end rolls back what is still open and lets the next one in */
function transaction(
  connection: SqliteConnection,
  { pace, files, keep }: { pace: Pace; files: Pick<HeldFiles, "assertSame">; keep: () => Promise<void> },
  end: () => void,
): TicketedTransaction {
  let isEnded = false;
  let isCommitting = false;

  /** SQLite ends a transaction by itself after a full disk or an I/O error; without this, what follows would be committed alone. */
  function inside<T>(run: () => Promise<T>): Promise<T> {
    return withProblems(async () => {
      await pace("write");
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
        files.assertSame();
        isCommitting = true;
        await exec("COMMIT");
      } finally {
        endOnce();
      }
      // The next transaction goes on meanwhile.
      await withProblems(keep);
    },
    async rollback() {
      endOnce();
    },
    // What fails after it may have failed to make sure of what is committed. It is decided when the next transaction begins.
    undecided: () => (isCommitting ? () => Promise.resolve() : undefined),
  };
}
