import { boundHeap } from "../src/heap.ts";
import type { Target } from "./target.ts";
import { say, serveTasks, textOf } from "./tasks.ts";

// What runs in production looks up no line numbers, which makes errors a hundred times as dear.
process.setSourceMapsEnabled(false);

/** Hosts one target in a process of its own: `host.ts <module> <export>`. Answers its port, then each task in turn, and ends with its parent. */
const [, , modulePath = "", exportName = ""] = process.argv;
// Signals reach the whole group; the parent's end is what ends a host, so that it can still clean up.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => undefined);
const module = (await import(modulePath)) as Record<string, Target | undefined>;
const target = module[exportName];
if (target === undefined) throw new Error(`${modulePath} has no target ${exportName}`);
const { start, stop, tasks } = target;
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
  // As the server does once it listens.
  boundHeap();
  serveTasks(tasks ?? {});
  say({ answer: { port, request: target.request } });
} catch (error) {
  say({ error: textOf(error) });
}
