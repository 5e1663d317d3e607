import { readFile } from "node:fs/promises";
import { Command } from "commander";
import { shelved } from "../backup/shelf.ts";
import { loadConfigOrExit, type Config } from "../config/config.ts";
import { fileError, OperatorError, systemReason } from "../kernel/operator-errors.ts";
import { version } from "../version.ts";
import { freeBytes } from "./disk-space.ts";
import { printFindings } from "./findings.ts";
import { addressOf, Health, statusChecks, type Seen } from "./status-checks.ts";

interface Options {
  url?: string;
  keyFile?: string;
  json?: true;
}

const timeoutMs = 5000;

/** `provost status`: how a running server does. */
export function statusCommand(setExitCode: (code: number) => void): Command {
  return new Command("status")
    .description("Ask the running server how it does; exits with 1 where something has to be mended")
    .option("--url <address>", "where the server listens; by default what HOST and PORT say")
    .option("--key-file <file>", "a file with an API key that holds system.health.read, for the reasons")
    .option("--json", "print it for a program")
    .action(async ({ url, keyFile, json }: Options) => {
      const { config } = loadConfigOrExit();
      const address = url?.replace(/\/+$/, "") ?? addressOf(config.http);
      const seen = {
        health: await readHealth(address, keyFile),
        installed: version,
        dataDir: config.dataDir,
        freeBytes: await freeBytes(config.dataDir),
        backups: await backupsOf(config.backup),
      };
      const findings = Object.entries(statusChecks).flatMap(([name, check]) => {
        const found = check(seen);
        return found === undefined ? [] : [{ name, ...found }];
      });
      const isWell = printFindings(findings, { json, url: address, instance_id: seen.health.service.instance_id });
      if (!isWell) setExitCode(1);
    });
}

async function readHealth(address: string, keyFile: string | undefined): Promise<Health> {
  const key = keyFile === undefined ? undefined : (await readKey(keyFile)).trim();
  let response: Response;
  try {
    response = await fetch(`${address}/health`, {
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(timeoutMs),
    });
  } catch (error) {
    const { name, cause } = error as Error;
    const reason = name === "TimeoutError" ? "no answer" : systemReason(cause ?? error);
    throw new OperatorError(
      `No server answers at ${address} (${reason}). Start it with \`npx provost serve\`, or name its address with \`--url\`.`,
    );
  }
  if (response.status === 401)
    throw new OperatorError(
      `The server at ${address} refuses the key of ${keyFile ?? "--key-file"}. \`npx provost keys list\` shows those that are valid.`,
    );
  const health = Health.safeParse(await response.json().catch(() => undefined));
  if (health.success) return health.data;
  throw new OperatorError(
    `${address}/health does not answer as Provost does (status ${response.status.toString()}). Name the address of the server with \`--url\`, or try again in a minute.`,
  );
}

async function readKey(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw fileError(error, { path });
  }
}

async function backupsOf({ folder }: Config["backup"]): Promise<Seen["backups"]> {
  const [newest] = folder === null ? [] : await shelved(folder);
  return { folder, newest, now: new Date() };
}
