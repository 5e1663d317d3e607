import { spawn } from "node:child_process";
import { environmentOfChild } from "../config/env.ts";
import { placeOf } from "../database/refusals.ts";
import { OperatorError, systemCode, systemReason } from "../kernel/operator-errors.ts";

type Tool = "pg_dump" | "pg_restore";

/**
 * Run a program of PostgreSQL's client on a database. The password goes through the environment, as others see the arguments of a process.
 * @returns what it printed
 * @throws OperatorError when it is not installed, or with what it says
 */
export async function runTool(tool: Tool, argv: readonly string[], url?: string, file?: string): Promise<string> {
  const { address, password } = url === undefined ? { address: undefined, password: undefined } : splitPassword(url);
  const all = [...argv, ...(address === undefined ? [] : [`--dbname=${address}`]), ...(file === undefined ? [] : [file])];
  return await run(tool, all, password === undefined ? {} : { PGPASSWORD: password }).catch((error: unknown) => {
    if (systemCode(error) === "ENOENT") throw missing(tool);
    throw error;
  });
}

/**
 * Make sure that a program of PostgreSQL's client is there, and not older than the server.
 * @param serverVersion such as 180004
 * @throws OperatorError with what to install
 */
export async function requireTool(tool: Tool, url: string, serverVersion: number): Promise<void> {
  const server = Math.floor(serverVersion / 10_000);
  const said = await run(tool, ["--version"], {}).catch((error: unknown) => {
    if (systemCode(error) === "ENOENT") throw missing(tool, server);
    throw error;
  });
  const own = Number(/(\d+)/.exec(said)?.[1] ?? 0);
  if (own >= server) return;
  throw new OperatorError(
    `The \`${tool}\` of this machine is of PostgreSQL ${own.toString()} and cannot work with ${placeOf(url)}, which is PostgreSQL ${server.toString()}. ${install(server)}`,
  );
}

function missing(tool: Tool, server?: number): OperatorError {
  return new OperatorError(
    `The program \`${tool}\`, which a backup of PostgreSQL needs, is not installed or not in \`PATH\`. ${install(server)}`,
  );
}

const install = (server?: number): string =>
  `Install the client of PostgreSQL${server === undefined ? "" : ` ${server.toString()} or newer`} (Debian: \`apt-get install postgresql-client${server === undefined ? "" : `-${server.toString()}`}\`), and run the command again.`;

function splitPassword(url: string): { address: string; password: string | undefined } {
  const address = new URL(url);
  const password = address.password === "" ? (address.searchParams.get("password") ?? undefined) : decodeURIComponent(address.password);
  address.password = "";
  address.searchParams.delete("password");
  return { address: address.href, password };
}

const keptOfErrors = 4000;

async function run(tool: Tool, argv: readonly string[], secrets: Record<string, string>): Promise<string> {
  const child = spawn(tool, argv, { stdio: ["ignore", "pipe", "pipe"], env: environmentOfChild({ ...secrets, LC_ALL: "C" }) });
  const said = { stdout: "", stderr: "" };
  child.stdout.on("data", (part: Buffer) => (said.stdout += part.toString()));
  child.stderr.on("data", (part: Buffer) => (said.stderr = (said.stderr + part.toString()).slice(-keptOfErrors)));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code === 0) return said.stdout;
  const why = said.stderr.trim().split("\n").slice(0, 3).join(" ");
  throw new OperatorError(`\`${tool}\` failed: ${why === "" ? systemReason(new Error(`it ended with ${String(code)}`)) : why}`);
}

/** Put an archive of `pg_dump` into an empty database: all of it, or nothing. @throws OperatorError with what `pg_restore` says */
export async function restorePostgres(file: string, url: string): Promise<void> {
  await runTool("pg_restore", ["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"], url, file);
}
