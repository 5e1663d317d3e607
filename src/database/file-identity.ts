import { closeSync, openSync, readSync, statSync } from "node:fs";
import { ProblemError } from "../kernel/errors.ts";

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
