import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import BetterSqlite3 from "better-sqlite3";
import { DatabaseError } from "./errors.ts";
import { fileError, noAccess, OperatorError } from "../kernel/operator-errors.ts";
import { ensureFolder } from "./folder.ts";
import { keepAlive } from "./keep-alive.ts";

export interface DataLock {
  release(): void;
}

/**
 * Make this the one server of a data folder. The lock is the operating system's, on `server.lock`: it ends with the process,
 * however that ends, and holds between containers, where process ids mean nothing. `server.pid` is only for the message.
 * @throws DatabaseError data_locked, naming the process that has it; OperatorError when the folder cannot be used
 */
export async function acquireDataLock(folder: string): Promise<DataLock> {
  try {
    return await acquire(folder);
  } catch (error) {
    const isKeptOut = /^SQLITE_(CANTOPEN|READONLY)/.test((error as { code?: string }).code ?? "");
    if (isKeptOut) throw new OperatorError(`\`DATA_DIR\`: ${noAccess(folder, "folder")}`, { cause: error });
    throw fileError(error, { path: folder, variable: "DATA_DIR", kind: "folder" });
  }
}

async function acquire(folder: string): Promise<DataLock> {
  await ensureFolder(resolve(folder));
  const taken = lockFile(join(folder, "server.lock"), join(folder, "server.pid"));
  if ("release" in taken) return taken;
  throw new DatabaseError("data_locked", `\`DATA_DIR\`: ${folder} is in use by ${taken.holder}, or give this one a folder of its own.`);
}

/**
 * Hold a lock of the operating system that ends with the process.
 * @param pidFile says which process holds it
 * @returns the lock, or who has it and how to stop that
 * @throws Error of SQLite or the file system when there can be no such file
 */
export function lockFile(file: string, pidFile: string): DataLock | { holder: string } {
  const held = keepAlive(new BetterSqlite3(file, { timeout: 0 }));
  try {
    held.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    held.close();
    if ((cause as { code?: string }).code !== "SQLITE_BUSY") throw cause;
    return { holder: nameHolder(pidFile) };
  }
  writeFileSync(pidFile, `${process.pid.toString()}\n`);
  let isHeld = true;
  return {
    release() {
      if (!isHeld) return;
      isHeld = false;
      rmSync(pidFile, { force: true });
      held.close();
    },
  };
}

function nameHolder(pidFile: string): string {
  try {
    const pid = readFileSync(pidFile, "utf8").trim();
    return `process ${pid}. Stop that server (\`kill ${pid}\`)`;
  } catch {
    return "another server. Stop it";
  }
}
