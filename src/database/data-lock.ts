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
  const pidFile = join(folder, "server.pid");
  const holder = keepAlive(new BetterSqlite3(join(folder, "server.lock"), { timeout: 0 }));
  try {
    holder.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    holder.close();
    if ((cause as { code?: string }).code !== "SQLITE_BUSY") throw cause;
    throw new DatabaseError(
      "data_locked",
      `\`DATA_DIR\`: ${folder} is in use by ${nameHolder(pidFile)}, or give this one a folder of its own.`,
      {
        cause,
      },
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

function nameHolder(pidFile: string): string {
  try {
    const pid = readFileSync(pidFile, "utf8").trim();
    return `process ${pid}. Stop that server (\`kill ${pid}\`)`;
  } catch {
    return "another server. Stop it";
  }
}
