import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * Copy a file over another by a process of its own. A process that opens and closes a database file by itself drops the locks of its own SQLite
 * on that file; `keepLocks` refuses that.
 */
export async function copyElsewhere(from: string, to: string): Promise<void> {
  await run("cp", ["--", from, to]);
}

/** The bytes of a file, read by a process of its own. @throws Error when there is none */
export async function readElsewhere(file: string): Promise<Buffer> {
  return (await run("cat", ["--", file], { encoding: "buffer", maxBuffer: 1 << 30 })).stdout;
}
