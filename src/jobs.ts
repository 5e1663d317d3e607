import { Cron } from "croner";
import type { Logger } from "pino";
import { systemCall, type Call } from "./kernel/call.ts";
import { uuid7 } from "./kernel/ids.ts";

/** Recurring work: what ends by time is ended, what was kept long enough is deleted. */
export type Jobs = Readonly<Record<string, (call: Call) => Promise<unknown>>>;

/** How a job did since the start. */
interface JobRuns {
  succeededAt?: Date;
  /** How long the last run took. */
  milliseconds?: number;
  failures: number;
}

/** Runs every job once a minute, one after the other, never twice at once. */
export function createJobs(jobs: Jobs, logger: Logger) {
  const list = Object.entries(jobs).map(([job, run]) => ({ job, run, runs: { failures: 0 } as JobRuns }));
  let round = Promise.resolve();
  let cron: Cron | undefined;

  async function runAll(): Promise<void> {
    for (const { job, run, runs } of list) {
      const since = performance.now();
      try {
        await run(systemCall("job", uuid7()));
        runs.succeededAt = new Date();
      } catch (error) {
        runs.failures += 1;
        logger.error({ err: error, job }, "a job failed and runs again in a minute");
      }
      runs.milliseconds = performance.now() - since;
    }
  }

  return {
    /** One round, now. */
    runAll,
    /** How each job did since the start. */
    runs: () => list.map(({ job, runs }) => ({ job, ...runs })),
    start(): void {
      cron = new Cron("0 * * * * *", { protect: true, unref: true }, () => (round = runAll()));
    },
    /** Ends the schedule and waits for the running round. */
    async stop(): Promise<void> {
      cron?.stop();
      await round;
    },
  };
}
