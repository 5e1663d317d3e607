import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import BetterSqlite3 from "better-sqlite3";
import { DatabaseError } from "./errors.ts";
import { ensureFolder } from "./folder.ts";
import { keepAlive } from "./keep-alive.ts";

export interface DataLock {
  release(): void;
}

/**
 * Make this the one server of a data folder. The lock is the operating system's, on `server.lock`: it ends with the process,
 * however that ends, and holds between containers, where process ids mean nothing. `server.pid` is only for the message.
 * @throws DatabaseError data_locked, naming the process that has it
 */
export async function acquireDataLock(folder: string): Promise<DataLock> {
  await ensureFolder(resolve(folder));
  const pidFile = join(folder, "server.pid");
  const holder = keepAlive(new BetterSqlite3(join(folder, "server.lock"), { timeout: 0 }));
  try {
    holder.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    holder.close();
    if ((cause as { code?: string }).code !== "SQLITE_BUSY") throw cause;
    throw new DatabaseError(
      "data_locked",
      `The folder ${folder} is served by ${readHolder(pidFile)} already. One server per data folder.`,
      { cause },
    );
  }
  writeFileSync(pidFile, `${process.pid.toString()}\n`);
  let isHeld = true;
  return {
    release() {
      if (!isHeld) return;
      isHeld = false;
      rmSync(pidFile, { force: true });
      holder.close();
    },
  };
}

function readHolder(pidFile: string): string {
  try {
    return `process ${readFileSync(pidFile, "utf8").trim()}`;
  } catch {
    return "another process";
  }
}
