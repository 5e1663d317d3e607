import "../src/heap.ts";

import type { Target } from "./target.ts";

/** Hosts one target in a process of its own: `host.ts <module> <export>`. Answers its port, then each task in turn, and ends with its parent. */
const [, , modulePath = "", exportName = ""] = process.argv;
// Signals reach the whole group; the parent's end is what ends a host, so that it can still clean up.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => undefined);
const module = (await import(modulePath)) as Record<string, Target | undefined>;
const target = module[exportName];
if (target === undefined) throw new Error(`${modulePath} has no target ${exportName}`);
const { start, stop, tasks } = target;
const known: Readonly<Record<string, ((input: never) => unknown) | undefined>> = { cpu: () => process.cpuUsage(), ...tasks };

function answer(message: { answer: unknown } | { error: string }): void {
  if (process.connected) process.send?.(message);
}

async function run(task: string, input: unknown): Promise<void> {
  try {
    const work = known[task];
    if (work === undefined) throw new Error(`no task ${task}`);
    answer({ answer: await work(input as never) });
  } catch (error) {
    answer({ error: textOf(error) });
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

const starting = start();

/** What is half started cannot be stopped yet. */
async function end(): Promise<void> {
  await starting.catch(() => undefined);
  await stop?.();
  process.exit();
}

process.once("disconnect", () => void end());
try {
  const port = await starting;
  process.on("message", ({ task, input }: { task: string; input: unknown }) => void run(task, input));
  answer({ answer: { port, request: target.request } });
} catch (error) {
  answer({ error: textOf(error) });
}
