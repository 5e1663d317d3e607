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
export function createCheckpoints({ file, logger, logReaches, assertSame, holdWriters }: Ground) {
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
