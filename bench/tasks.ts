/** What a process of a benchmark does when it is asked to, by name. */
export type Tasks = Readonly<Record<string, ((input: never) => unknown) | undefined>>;

/** What every process can tell: what it has cost so far, and what it holds, in megabytes. */
const common: Tasks = { cpu: () => process.cpuUsage(), memory: () => Math.round(process.memoryUsage.rss() / 1e6) };

/** Do what the parent asks, and tell it what came of it. */
export function serveTasks(tasks: Tasks): void {
  process.on("message", ({ task, input }: { task: string; input: unknown }) => void run(tasks, task, input));
}

/** To the parent, while there is one. */
export function say(message: { answer: unknown } | { error: string }): void {
  if (process.connected) process.send?.(message);
}

export function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

async function run(tasks: Tasks, task: string, input: unknown): Promise<void> {
  try {
    const work = tasks[task] ?? common[task];
    if (work === undefined) throw new Error(`no task ${task}`);
    // Nothing is said as null, as a field without a value does not arrive.
    say({ answer: (await work(input as never)) ?? null });
  } catch (error) {
    say({ error: textOf(error) });
  }
}
