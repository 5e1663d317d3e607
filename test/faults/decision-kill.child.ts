import { AsyncLocalStorage } from "node:async_hooks";
import { createInterface } from "node:readline";
import { PrismaBetterSqlite3 } from "@prisma/adapter-better-sqlite3";
import BetterSqlite3 from "better-sqlite3";
import pg from "pg";
import { decide, deliver, openOn, type Decision, type Job, type Orders } from "./decision-kill.ts";

/**
 * Decides on many databases at once, each up to a statement of its own, and is killed there. The drivers are stopped from here: the
 * service has no part in it.
 */
interface Progress {
  job: Job;
  done: number;
  /** What was said to the database, in its order. */
  said: string[];
  stand(): void;
}
const running = new AsyncLocalStorage<Progress>();
const forever = new Promise<never>(() => {});
type Method = (this: unknown, ...given: unknown[]) => unknown;

/** Lets a decision say as much to its database as it may; what it would say next is never said. */
function wrap(method: Method, textOf: (given: unknown) => string): Method {
  return function (this: unknown, ...given) {
    const progress = running.getStore();
    if (progress === undefined) return method.apply(this, given);
    if (progress.job.statements !== null && progress.done >= progress.job.statements) {
      progress.stand();
      return forever;
    }
    progress.done += 1;
    progress.said.push(textOf(given[0]).replaceAll(/\s+/g, " ").slice(0, 300));
    return method.apply(this, given);
  };
}

function hook(owner: object, name: string, textOf: (given: unknown) => string): void {
  const methods = owner as Record<string, Method>;
  const method = methods[name];
  if (method === undefined) throw new Error(`this version of the driver has no ${name}`);
  methods[name] = wrap(method, textOf);
}

const textOf = (given: unknown): string =>
  typeof given === "string" ? given : ((given as { sql?: string; text?: string }).sql ?? (given as { text?: string }).text ?? "");
const sqlite: object = await new PrismaBetterSqlite3({ url: ":memory:" }).connect();
const queryable: object = Object.getPrototypeOf(Object.getPrototypeOf(sqlite));
hook(queryable, "queryRaw", textOf);
hook(queryable, "executeRaw", textOf);
hook(pg.Client.prototype, "query", textOf);

/** SQLite begins and commits without waiting: there the process ends in the very call. */
const scripts = BetterSqlite3.prototype as unknown as Record<"exec", Method>;
const { exec } = scripts;
scripts.exec = function (this: unknown, ...given) {
  const progress = running.getStore();
  const word = String(given[0]).split(" ")[0] ?? "";
  if (progress?.job.dieAt === `before ${word}`) process.kill(process.pid, "SIGKILL");
  const result = exec.apply(this, given);
  progress?.said.push(word);
  if (progress?.job.dieAt === `after ${word}`) process.kill(process.pid, "SIGKILL");
  return result;
};

/** Resolves once the decision stands still, or has been made and not been told. */
async function run(decision: Decision, job: Job): Promise<string[]> {
  const opened = await openOn(job.url);
  return await new Promise<string[]>((resolve, reject) => {
    const progress: Progress = { job, done: 0, said: [], stand: () => resolve(progress.said) };
    running.run(progress, () => {
      const act = wrap(
        (work) => (work as () => unknown)(),
        () => "the bot acts",
      );
      const work: Promise<unknown> =
        job.sent === undefined ? decide(opened, decision) : deliver(opened, job.sent, act as <T>(work: () => T) => T);
      work.then(() => resolve(progress.said), reject);
    });
  });
}

// Nothing is closed: whoever started this process kills it.
for await (const line of createInterface(process.stdin)) {
  const { decision, jobs } = JSON.parse(line) as Orders;
  const said = await Promise.all(jobs.map((job) => run(decision, job)));
  process.stdout.write(`${JSON.stringify(said)}\n`);
}
