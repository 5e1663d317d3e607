import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { fileURLToPath } from "node:url";

/** What opens a file, uses it, and closes it, or hands out what closes it later. */
const opening = ["open", "openSync", "readFile", "readFileSync", "writeFile", "writeFileSync", "appendFile", "appendFileSync"] as const;
const opensTwo = ["copyFile", "copyFileSync", "cp", "cpSync"] as const;
const openingPromised = ["open", "readFile", "writeFile", "appendFile", "truncate"] as const;
const opensTwoPromised = ["copyFile", "cp"] as const;

/** Files that SQLite locks: databases, the indexes of their logs, and files that are locks and nothing else. */
const lockable = /\.(db|lock)(-shm)?$/;

/** What is locked by which descriptor of this process. The list of all locks of the machine is slow to read: the kernel stops every process for it. */
const held = "/proc/self/fdinfo";

/**
 * Refuse to open a file that this process holds POSIX locks on, which are SQLite's: closing it would drop them all, and other processes would
 * take the database for unused. So every test looks for what opens the files of an open database. Where the kernel lists no
 * descriptors, nothing is looked for.
 */
export function keepLocks(): void {
  if (!fs.existsSync(held) || "keepsLocks" in globalThis) return;
  Object.assign(globalThis, { keepsLocks: true });
  const { readFileSync, readdirSync } = fs;

  /** What the kernel says of a descriptor; nothing once it is closed. */
  function about(descriptor: string): string {
    try {
      return readFileSync(`${held}/${descriptor}`, "utf8");
    } catch {
      return "";
    }
  }

  function refuseLocked(path: unknown): void {
    const name = path instanceof URL ? fileURLToPath(path) : path;
    if (typeof name !== "string" || !lockable.test(name)) return;
    const stats = fs.statSync(name, { throwIfNoEntry: false });
    if (stats === undefined) return;
    const inode = `:${stats.ino.toString()} `;
    const isLocked = readdirSync(held)
      .flatMap((descriptor) => about(descriptor).split("\n"))
      .some((line) => line.startsWith("lock:") && line.includes(inode));
    if (isLocked) throw new Error(`this process has locks on ${name}, which it would lose: use test/support/elsewhere.ts`);
  }

  function guard(owner: object, names: readonly string[], paths: number): void {
    const methods = owner as Record<string, (...given: unknown[]) => unknown>;
    for (const name of names) {
      const method = methods[name]!;
      methods[name] = function guarded(this: unknown, ...given: unknown[]) {
        for (const path of given.slice(0, paths)) refuseLocked(path);
        return method.apply(this, given);
      };
    }
  }
  guard(fs, opening, 1);
  guard(fs, opensTwo, 2);
  guard(fs.promises, openingPromised, 1);
  guard(fs.promises, opensTwoPromised, 2);
  syncBuiltinESMExports();
}
