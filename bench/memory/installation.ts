import { execFileSync, spawn, type ChildProcess, type ExecFileSyncOptionsWithStringEncoding } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { shippedFlags, shippedVariables } from "../processes.ts";
import { freePort } from "../../test/support/free-port.ts";

/** A built checkout with a data folder of its own: what an operator has. */
export interface Installation {
  address: string;
  /** The headers of a key that may do everything; makes the key. */
  createKey(): Record<string, string>;
  /** A server process; it writes its log nowhere. */
  start(): ChildProcess;
}

/**
 * @param root the checkout, built
 * @param given settings, such as those of a sandbox
 * @param folder where its data goes
 */
export async function createInstallation(root: string, given: Readonly<Record<string, string>>, folder: string): Promise<Installation> {
  const port = (await freePort()).toString();
  const cli = (...args: string[]): string => {
    const options: ExecFileSyncOptionsWithStringEncoding = { cwd: root, env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] };
    return execFileSync(process.execPath, ["dist/cli.js", ...args], options);
  };
  const places = { DATA_DIR: folder, DATABASE_URL: `file:${join(folder, "p.db")}`, PORT: port };
  const env: NodeJS.ProcessEnv = { ...process.env, ...shippedVariables(), ...given, ...places };
  // What the command prints for a new installation.
  for (const [, name = "", value = ""] of cli("secrets").matchAll(/^(\w+)=(.*)$/gm)) env[name] = value;
  return {
    address: `http://127.0.0.1:${port}`,
    createKey() {
      const printed = cli("keys", "create", "--name", "bench", "--scopes", "*,system.act", "--delegation", "trusted");
      return { Authorization: `Bearer ${printed.trim().split("\n").at(-1) ?? ""}`, "Content-Type": "application/json" };
    },
    start: () => spawn(process.execPath, [...shippedFlags(), "dist/main.js"], { cwd: root, env, stdio: ["ignore", "ignore", "inherit"] }),
  };
}

/** The memory of a process in MB: resident now, and at most so far. */
export function memoryOf({ pid }: ChildProcess): { now: number; most: number } {
  const status = readFileSync(`/proc/${String(pid)}/status`, "utf8");
  const megabytes = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
  return { now: megabytes("VmRSS"), most: megabytes("VmHWM") };
}
