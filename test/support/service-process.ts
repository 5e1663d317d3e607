import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import { createSandbox } from "../../sandbox/index.ts";
import { installation } from "../cli/installation.ts";
import { operatorEnv } from "../cli/run.ts";
import { freshKey } from "../config/environment.ts";
import { freePort } from "./free-port.ts";
import { createWorld, type Level } from "./world.ts";

/**
 * Start the built service in a process of its own and wait until it answers. It ends with the test.
 * @param env its settings; `PORT` is a free one unless told
 */
export async function spawnService(env: Record<string, string>, { cwd, flags = [] }: { cwd: string; flags?: readonly string[] }) {
  const port = env["PORT"] ?? (await freePort()).toString();
  const main = join(dirname((await installation()).program), "..", "dist", "main.js");
  const child = spawn(process.execPath, [...flags, main], {
    cwd,
    env: operatorEnv({ ...env, PORT: port }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part: Buffer) => (printed += part.toString()));
  const ended = once(child, "exit");
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  onTestFinished(kill);
  const url = `http://127.0.0.1:${port}`;
  const answers = (): Promise<boolean> =>
    fetch(`${url}/livez`).then(
      ({ ok }) => ok,
      () => false,
    );
  for (let tries = 0; tries < 300 && child.exitCode === null && !(await answers()); tries += 1) await delay(100);
  expect(await answers(), printed).toBe(true);
  return {
    url,
    pid: child.pid ?? 0,
    /** Everything that it has written to its two outputs. */
    printed: () => printed,
    /** End it without a word. */
    kill,
    /** End it as a supervisor does. @returns its exit code */
    async stop(): Promise<number | null> {
      child.kill("SIGTERM");
      const [code] = (await ended) as [number | null];
      return code;
    },
  };
}

/** A world that goes on in a process of its own: its app has ended, and `env` is what the process is given. */
export async function createWorldForProcess(level: Level) {
  const keys = { SECRET_KEY: freshKey(), ENCRYPTION_KEYS: `a:${freshKey()}` };
  const world = await createWorld({ env: keys });
  const actor = await world.staff(level);
  await world.app.stop();
  const env = {
    ...world.sandbox.env(),
    ...keys,
    GUILD_IDS: world.guild.id,
    DATABASE_URL: world.databaseUrl,
    DATA_DIR: world.dataDir,
    LOG_LEVEL: "error",
  };
  return { world, env, headers: { authorization: `Bearer ${world.key}`, "x-acting-user": actor.id, "content-type": "application/json" } };
}

/** The built service, against a sandbox of Discord and with data of its own. */
export async function startServiceProcess(env: Record<string, string> = {}, flags: readonly string[] = []) {
  const sandbox = await createSandbox();
  const folder = await mkdtemp(join(tmpdir(), "provost-process-"));
  onTestFinished(async () => {
    await sandbox.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const own = {
    ...sandbox.env(),
    GUILD_IDS: sandbox.createGuild({ name: "Harbour" }).id,
    SECRET_KEY: freshKey(),
    ENCRYPTION_KEYS: `k1:${freshKey()}`,
    DATA_DIR: join(folder, "data"),
  };
  return spawnService({ ...own, ...env }, { cwd: folder, flags });
}
