import { execFile } from "node:child_process";
import { chown, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import BetterSqlite3 from "better-sqlite3";
import { onTestFinished } from "vitest";
import { keepAlive } from "../../src/database/keep-alive.ts";
import type { GuildHandle, Sandbox } from "../../sandbox/index.ts";
import { validEnvironment } from "../config/environment.ts";
import type { createWorkplace } from "./run.ts";

export type Variables = Record<string, string>;
export type Workplace = Awaited<ReturnType<typeof createWorkplace>>;

/** What an operator has done wrong, and what the program says to it. */
export interface Mistake {
  /** Why it cannot be made on this machine; false: it can. */
  whyNot?: string | false;
  /** Makes what is wrong; answers what the process is given. */
  prepare?: (work: Workplace) => Promise<Variables> | Variables;
  argv?: readonly string[];
  /** Run as an account that may do nothing: for root no mode refuses anything. */
  asNobody?: true;
  code: number;
  /** All of what is written to standard error. */
  says: (work: Workplace, env: Variables) => string | RegExp;
}

/** What an operator has set up wrong, with which the server runs. */
export interface Oversight {
  prepare: (place: { work: Workplace; sandbox: Sandbox; guild: GuildHandle }) => Promise<Variables> | Variables;
  /** Done once it listens. */
  ask?: (url: string) => Promise<unknown>;
  /** The only warning in its log; what the log adds as the reason is behind it. */
  warns: (env: Variables) => string | RegExp;
}

export const noDiscord = { DISCORD_API_BASE: "http://127.0.0.1:9/api", PORT: "0" };

export async function occupiedPort(): Promise<string> {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void other.close());
  return (other.address() as AddressInfo).port.toString();
}

export async function put(work: Workplace, name: string, text: string): Promise<Variables> {
  await writeFile(join(work.directory, name), text);
  return {};
}

export async function putFolder(work: Workplace, name: string): Promise<Variables> {
  await mkdir(join(work.directory, name));
  return {};
}

/** A database that the service has used, changed by hand. @returns the key that it was used with */
export async function usedDatabase(work: Workplace, sql: string): Promise<Variables> {
  const env = validEnvironment();
  await work.here(["keys", "list"], { ...env, ...noDiscord });
  const db = keepAlive(new BetterSqlite3(join(work.directory, "data/provost.db")));
  db.exec(sql);
  db.close();
  return { SECRET_KEY: env.SECRET_KEY };
}

export const otherKey =
  "`SECRET_KEY` is another one than this database was used with, so every API key would be refused, and signed positions of the audit would no longer count: put the old one back, or, if it is lost, start the server once with `--accept-new-secret-key` and make new API keys.";

export const isRoot = process.getuid?.() === 0;
const run = promisify(execFile);
/** The account that may do nothing, on every Linux. */
export const nobody = 65_534;

/** What the account may write; the folders above are the operator's. */
export async function giveToNobody(work: Workplace, ...names: string[]): Promise<void> {
  for (const name of [".", ...names]) await chown(join(work.directory, name), nobody, nobody);
}

/** A disk of a megabyte in memory; only root makes one. */
export async function mountSmall(work: Workplace, name: string, options: string): Promise<void> {
  const place = join(work.directory, name);
  await mkdir(place, { recursive: true });
  await run("mount", ["-t", "tmpfs", "-o", options, "tmpfs", place]);
  onTestFinished(async () => void (await run("umount", ["-l", place])));
}

/** Whether this machine lets its root mount; in a container often not. */
export const whyNoMount = await tryMount();

async function tryMount(): Promise<string | false> {
  if (!isRoot) return "only root mounts a disk";
  const place = await mkdtemp(join(tmpdir(), "provost-mount-"));
  try {
    await run("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", place]);
    await run("umount", [place]);
    return false;
  } catch {
    return "this machine lets nobody mount a disk";
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

export async function whyNoLowPort(): Promise<string | false> {
  if (!isRoot) return false;
  const lowest = await readFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", "utf8").catch(() => "0");
  return Number(lowest) <= 80 && "every account of this machine may listen at port 80";
}

/** Every command refuses the settings as the server does; a short one is the quickest to try. */
export const refusedSetting = (given: Variables, says: string): Mistake => ({
  prepare: () => given,
  argv: ["config", "check"],
  code: 78,
  says: () => says,
});
