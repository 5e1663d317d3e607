import type { Target } from "./target.ts";

/** Hosts one target in a process of its own: `host.ts <module> <export>`. Answers its port, then each task in turn, and ends with its parent. */
const [, , modulePath = "", exportName = ""] = process.argv;
// Ctrl-C reaches the whole group; the parent's end is what ends a host, so that it can still clean up.
process.on("SIGINT", () => undefined);
const module = (await import(modulePath)) as Record<string, Target | undefined>;
const target = module[exportName];
if (target === undefined) throw new Error(`${modulePath} has no target ${exportName}`);
const { start, stop, tasks } = target;
const known: Readonly<Record<string, ((input: never) => unknown) | undefined>> = { cpu: () => process.cpuUsage(), ...tasks };

async function run(task: string, input: unknown): Promise<void> {
  try {
    const work = known[task];
    if (work === undefined) throw new Error(`no task ${task}`);
    process.send?.({ answer: await work(input as never) });
  } catch (error) {
    process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
}

async function end(): Promise<void> {
  await stop?.();
  process.exit();
}

process.once("disconnect", () => void end());
try {
  const port = await start();
  process.on("message", ({ task, input }: { task: string; input: unknown }) => void run(task, input));
  process.send?.({ answer: { port, request: target.request } });
} catch (error) {
  process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
}
