import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { LoadOrder, LoadResult } from "./load.ts";
import type { Target } from "./target.ts";

/** The words of `npm start`: V8 takes the size of the young generation, and the allocator its arenas, only from outside the process. */
function wordsOfStart(): string[] {
  const { scripts } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { scripts: { start: string } };
  return scripts.start.split(" ");
}

/** The flags that `npm start` gives. */
export const shippedFlags = (): string[] => wordsOfStart().filter((word) => word.startsWith("--"));

/** The variables that `npm start` sets. */
export const shippedVariables = (): Record<string, string> =>
  Object.fromEntries(wordsOfStart().flatMap((word) => (/^[A-Z_]+=/.test(word) ? [word.split("=") as [string, string]] : [])));

/** A target in a process of its own. */
export interface Host {
  child: ChildProcess;
  port: number;
  request: Target["request"];
}

/** Another program in a process of its own. */
export interface Program {
  /** Path of the file that is run. */
  file: string;
  args: readonly string[];
  /** Flags of Node. */
  flags?: readonly string[];
  /** Path of the Node it runs on. */
  node: string;
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** Open file that it prints to. */
  output: number;
}

export interface Sample {
  answers: number;
  perSecond: number;
  /** CPU microseconds of the server per answer. */
  cpu: number;
  p50: number;
  p99: number;
}

const connections = 32;
const patienceMs = 120_000;
const farewellMs = 15_000;

/** Every process of one benchmark; none outlives it. */
export function createProcesses() {
  const children: ChildProcess[] = [];

  function start(file: string, args: readonly string[] = [], flags: readonly string[] = [], root?: string): ChildProcess {
    const path = root === undefined ? fileURLToPath(new URL(file, import.meta.url)) : join(root, "bench", file);
    const child = fork(path, args, { execArgv: [...process.execArgv, ...flags], ...(root !== undefined && { cwd: root }) });
    children.push(child);
    return child;
  }

  return {
    /** @param file relative to this folder */
    startClient: (file = "./load.ts"): ChildProcess => start(file),
    /**
     * @param module relative to this folder
     * @param heapMb the most megabytes of its heap; by default V8 decides
     * @param root another checkout, whose host it is; by default this one's
     */
    async startHost(module: string, name: string, heapMb?: number, root?: string): Promise<Host> {
      const child = start("./host.ts", [module, name], heapMb === undefined ? [] : [`--max-old-space-size=${heapMb.toString()}`], root);
      const { port, request } = await answerOf<Pick<Host, "port" | "request">>(child);
      return { child, port, request };
    },
    /** @returns its process, which is asked for `cpu` and `memory` as a host is */
    startProgram({ file, args, flags = [], node, cwd, env, output }: Program): ChildProcess {
      const inside = new URL("./peers/inside.js", import.meta.url).href;
      const stdio = ["ignore", output, output, "ipc"] as const;
      const child = fork(file, args, { execPath: node, execArgv: [...flags, "--import", inside], cwd, env, stdio: [...stdio] });
      children.push(child);
      return child;
    },
    /** Let every process clean up and end. */
    async end(): Promise<void> {
      await Promise.all(children.map(farewell));
    },
  };
}

/** Let a host do one of its tasks. */
export async function ask<Answer>(child: ChildProcess, task: string, input?: unknown): Promise<Answer> {
  child.send({ task, input });
  return await answerOf<Answer>(child);
}

/** Ask a host from all connections. @throws Error when an answer had another status than the one that is wanted */
export async function load(
  client: ChildProcess,
  { port, request }: Pick<Host, "port" | "request">,
  wanted: Pick<LoadOrder, "seconds" | "answers"> & { connections?: number },
): Promise<LoadResult> {
  const order: LoadOrder = { port, ...request, connections, ...wanted };
  client.send(order);
  const result = await answerOf<LoadResult>(client);
  if (result.refused > 0) throw new Error(`${result.refused} answers were not ${request.status ?? 200}: ${request.paths[0] ?? ""}`);
  return result;
}

/** The same, with what it cost the host. */
export async function measure(client: ChildProcess, host: Host, seconds: number, at = connections): Promise<Sample> {
  const before = await cpuOf(host.child);
  const { answers, perSecond, p50, p99 } = await load(client, host, { seconds, connections: at });
  return { answers, perSecond, cpu: ((await cpuOf(host.child)) - before) / answers, p50, p99 };
}

/** CPU microseconds of a process so far. */
export async function cpuOf(child: ChildProcess): Promise<number> {
  const { user, system } = await ask<NodeJS.CpuUsage>(child, "cpu");
  return user + system;
}

/** @throws Error what the process failed with, that it has ended, or that it keeps silent */
async function answerOf<Answer>(child: ChildProcess): Promise<Answer> {
  const waiting = new AbortController();
  const signal = AbortSignal.any([waiting.signal, AbortSignal.timeout(patienceMs)]);
  const ended = async (): Promise<never> => {
    await once(child, "exit", { signal });
    throw new Error("a process of the benchmark has ended early");
  };
  try {
    const end = ended();
    let said: unknown = undefined;
    // Other programs say something else to their parent, too, as that they are ready.
    while (!isSaid<Answer>(said)) [said] = await Promise.race([once(child, "message", { signal }), end]);
    if ("error" in said) throw new Error(said.error);
    return said.answer;
  } finally {
    waiting.abort();
  }
}

function isSaid<Answer>(message: unknown): message is { answer: Answer } | { error: string } {
  return typeof message === "object" && message !== null && ("answer" in message || "error" in message);
}

async function farewell(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const limit = setTimeout(() => child.kill("SIGKILL"), farewellMs);
  const gone = once(child, "exit");
  if (child.connected) child.disconnect();
  await gone;
  clearTimeout(limit);
}
