import { execFileSync, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const patienceMs = 120_000;

/** What the routes asked here answer with, as far as it is read. */
interface Answer {
  checks: { guild_state: { status: string } };
  page: { total: number };
}

/** The built service in a process of its own, `/health` asked all the while. */
export async function startService(given: Readonly<Record<string, string>>, folder: string) {
  const address = `http://127.0.0.1:${await freePort()}`;
  const places = { DATA_DIR: folder, DATABASE_URL: `file:${join(folder, "p.db")}`, PORT: new URL(address).port };
  const env = { ...process.env, ...secrets(), ...given, ...places };
  const child = spawn(process.execPath, ["dist/main.js"], { cwd: root, env, stdio: ["ignore", "ignore", "inherit"] });
  const ended = once(child, "exit");
  await until(async () => (await fetch(`${address}/livez`)).ok);
  const told = cli(["keys", "create", "--name", "bench", "--scopes", "*,system.act", "--delegation", "trusted"], env);
  const headers = { Authorization: `Bearer ${told.trim().split("\n").at(-1) ?? ""}`, "Content-Type": "application/json" };
  for (let asked = 0; asked < 50; asked += 1) await (await fetch(`${address}/health`)).arrayBuffer();
  const pulse = fork(fileURLToPath(new URL("./pulse.ts", import.meta.url)), [`${address}/health`]);

  return {
    /** @throws Error when the answer is not a success */
    async ask(method: string, path: string, body?: object): Promise<Answer> {
      const answer = await fetch(`${address}${path}`, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
      const said = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status.toString()} ${said}`);
      return JSON.parse(said) as Answer;
    },
    /** Resident now, and at most so far, in MB. */
    async memory(): Promise<[string, string]> {
      const status = await readFile(`/proc/${String(child.pid)}/status`, "utf8");
      const megabytes = (name: string): string => (Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024).toFixed(0);
      return [megabytes("VmRSS"), megabytes("VmHWM")];
    },
    /** How long each answer of `/health` took since this was asked last, in milliseconds. */
    async healthTimes(): Promise<number[]> {
      pulse.send("times");
      const [times] = (await once(pulse, "message")) as [number[]];
      return times;
    },
    async stop(): Promise<void> {
      pulse.kill("SIGKILL");
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** Asks until it is so; what cannot be asked yet is not so yet. */
export async function until(isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + patienceMs;
  while (!(await isSo().catch(() => false))) {
    if (performance.now() > end) throw new Error("it took too long");
    await wait(200);
  }
}

function cli(args: readonly string[], env: NodeJS.ProcessEnv = process.env): string {
  return execFileSync(process.execPath, ["dist/cli.js", ...args], {
    cwd: root,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
}

/** What the command prints for a new installation. */
function secrets(): Record<string, string> {
  const lines = cli(["secrets"]).matchAll(/^(\w+)=(.*)$/gm);
  return Object.fromEntries([...lines].map(([, name = "", value = ""]) => [name, value]));
}

async function freePort(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port.toString();
}
