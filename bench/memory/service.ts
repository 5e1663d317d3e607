import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createInstallation, memoryOf } from "./installation.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const patienceMs = 120_000;

/** What the routes asked here answer with, as far as it is read. */
interface Answer {
  checks: { guild_state: { status: string } };
  page: { total: number };
}

/** The built service in a process of its own, `/health` asked all the while. */
export async function startService(given: Readonly<Record<string, string>>, folder: string) {
  const { address, createKey, start } = await createInstallation(root, given, folder);
  const child = start();
  const ended = once(child, "exit");
  await until(async () => (await fetch(`${address}/livez`)).ok);
  const headers = createKey();
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
    memory: () => memoryOf(child),
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
