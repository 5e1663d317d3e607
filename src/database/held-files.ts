import { say } from "../kit/say.ts";
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { ProblemError } from "../kernel/errors.ts";
import { syncToDisk } from "../kernel/files.ts";
import type { Logger } from "./write.ts";

/**
 * Let many callers share a flush to the disk. Callers that arrive during one share the next.
 * @param sync flushes what is written by now @returns resolves when what was written before the call survives a power loss; rejects as `sync` does
 */
function createFlush(sync: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  function start(): Promise<void> {
    next = undefined;
    running = sync().finally(() => (running = undefined));
    return running;
  }

  return () => {
    if (running === undefined) return start();
    return (next ??= running.then(start, start));
  };
}

/** Device and inode: the file itself, whatever its name. */
type FileId = string;

const idOf = ({ dev, ino }: { dev: bigint; ino: bigint }): FileId => `${dev.toString()}:${ino.toString()}`;

function idAt(path: string): FileId | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? undefined : idOf(stats);
}

interface Descriptor {
  fd: number;
  id: FileId;
  users: number;
}

/**
 * Descriptors of database files, which stay open. When a process closes any descriptor of a file, the kernel drops all POSIX locks that the
 * process holds on that file, SQLite's included; other processes then delete the write-ahead log as if nobody used it.
 * Source: https://sqlite.org/howtocorrupt.html §2.2.
 */
const descriptors = new Set<Descriptor>();

/** Open a database file for reading, before SQLite opens it. A process has one descriptor of each file. */
function openForGood(file: string): Descriptor {
  closeDeleted();
  const known = idAt(file);
  for (const descriptor of descriptors)
    if (descriptor.id === known) {
      descriptor.users += 1;
      return descriptor;
    }
  const fd = openSync(file, "r");
  const opened = { fd, id: idOf(fstatSync(fd, { bigint: true })), users: 1 };
  descriptors.add(opened);
  return opened;
}

/** No other process can open a file that has no name any more, so its locks protect nothing. */
function closeDeleted(): void {
  for (const descriptor of descriptors) {
    if (descriptor.users > 0 || fstatSync(descriptor.fd).nlink > 0) continue;
    descriptors.delete(descriptor);
    closeSync(descriptor.fd);
  }
}

/** How often the content is compared, besides the name. */
const lookMs = 1000;
/** Where SQLite stores the number that `PRAGMA application_id` sets, in the file itself. Source: sqlite.org/fileformat2.html §1.3. */
const stampOffset = 68;

/**
 * Whether a log has so many pages: only then the frame of the last of them has the salt of the log's header. What an earlier round has left
 * has another one. Source: sqlite.org/fileformat2.html §4.1.
 */
function reaches(fd: number, pages: number): boolean {
  const header = readBytes(fd, 0, 24);
  if (header === undefined) return false;
  const frame = readBytes(fd, 32 + (pages - 1) * (24 + header.readUInt32BE(8)), 16);
  return frame !== undefined && frame.subarray(8).equals(header.subarray(16));
}

/** @returns undefined where the file ends before */
function readBytes(fd: number, from: number, length: number): Buffer | undefined {
  const bytes = Buffer.alloc(length);
  return readSync(fd, bytes, 0, length, from) === length ? bytes : undefined;
}

/** @returns undefined for a file too short to be a database */
function readStamp(fd: number): number | undefined {
  return readBytes(fd, stampOffset, 4)?.readInt32BE();
}

const fileDetail = say("database.the-database-file-was-removed-or-replaced");
const logDetail = say("database.the-write-ahead-log-of-the-database");

/**
 * `deleted`: the log ends with this process, and nobody has written to another one since. `replaced`: others write to another log. `there`: only
 * its index was lost, or the log was put back.
 */
type LostLog = "deleted" | "replaced" | "there";

/** What SQLite has open of one database: the file, its write-ahead log (`-wal`) and the index of that log (`-shm`). */
export interface HeldFiles {
  /** SQLite has opened the database and made the log. @param stamp the application id of the database */
  opened(stamp: number): Promise<void>;
  /**
   * Call before and after whatever is acknowledged.
   * @throws ProblemError storage_readonly when a name stands for another file than SQLite has open, or the database has another content.
   * A database file can be put back; after its log was lost nothing is written until a restart, as others may have written meanwhile.
   */
  assertSame(): void;
  /** Whether the log has so many pages. */
  logReaches(pages: number): boolean;
  /** Flush the log to the disk, together with others who ask meanwhile. */
  flush(): Promise<void>;
  /** What became of the log, once it or its index was lost. */
  lostLog(): LostLog | undefined;
  /** SQLite has closed the database. */
  release(): Promise<void>;
}

interface HoldOptions {
  file: string;
  /** Whether the log is ever flushed. */
  isFlushed: boolean;
  logger: Logger | undefined;
}

/** Hold on to a database file. Call it before SQLite opens the file. */
export function holdFiles({ file, isFlushed, logger }: HoldOptions): HeldFiles {
  const main = openForGood(file);
  const [log, index] = [`${file}-wal`, `${file}-shm`];
  let logHandle: FileHandle | undefined;
  let ids: ReadonlyMap<string, FileId> = new Map();
  let stamp = 0;
  let lookedAt = -Infinity;
  /** While others read, a new database has its stamp in the write-ahead log only. */
  let isStamped = false;
  let isListed = false;
  let isFileLost = false;
  let isLogLost = false;

  function isSameFile(): boolean {
    if (idAt(file) !== main.id) return false;
    if (performance.now() - lookedAt < lookMs) return true;
    lookedAt = performance.now();
    const found = readStamp(main.fd);
    if (found === stamp) isStamped = true;
    return found === stamp || (found === 0 && !isStamped);
  }

  function refuseFile(): never {
    lookedAt = -Infinity;
    if (!isFileLost) logger?.error({ file }, "another program removed or replaced the database file: nothing is written until it is back");
    isFileLost = true;
    throw new ProblemError("storage_readonly", { retryAfter: 5, detail: fileDetail });
  }

  const flush = createFlush(async () => {
    await logHandle?.datasync();
    // The folder has the log's name; some systems do not open a folder.
    if (!isListed) await syncToDisk(dirname(file)).catch(() => undefined);
    isListed = true;
  });

  return {
    async opened(ownStamp) {
      stamp = ownStamp;
      ids = new Map([log, index].map((path) => [path, idOf(statSync(path, { bigint: true }))]));
      // SQLite takes no locks on the log, so closing this descriptor drops none. It is opened once all the same.
      logHandle = await open(log, "r");
    },
    logReaches: (pages) => logHandle !== undefined && reaches(logHandle.fd, pages),
    assertSame() {
      if (!isLogLost && !isSameFile()) refuseFile();
      isFileLost = false;
      const changed = isLogLost ? undefined : [...ids].find(([path, id]) => idAt(path) !== id)?.[0];
      if (changed !== undefined) {
        isLogLost = true;
        logger?.error(
          { file: changed },
          "another program removed or replaced the write-ahead log of the database: nothing is written until a restart",
        );
      }
      if (isLogLost) throw new ProblemError("storage_readonly", { retryAfter: 5, detail: logDetail });
    },
    lostLog() {
      if (!isLogLost) return undefined;
      if (idAt(log) === ids.get(log)) return "there";
      return (statSync(log, { throwIfNoEntry: false })?.size ?? 0) === 0 ? "deleted" : "replaced";
    },
    flush,
    async release() {
      if (logHandle !== undefined) {
        if (isFlushed) await flush().catch(() => undefined);
        await logHandle.close();
        logHandle = undefined;
      }
      main.users -= 1;
    },
  };
}
