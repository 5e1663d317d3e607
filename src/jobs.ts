import { Cron } from "croner";
import type { Logger } from "pino";
import { systemCall, type Call } from "./kernel/call.ts";
import { uuid7 } from "./kernel/ids.ts";

/** Recurring work: what ends by time is ended, what was kept long enough is deleted. */
export type Jobs = Readonly<Record<string, (call: Call) => Promise<unknown>>>;

/** Runs every job once a minute, one after the other, never twice at once. */
export function createJobs(jobs: Jobs, logger: Logger) {
  let round = Promise.resolve();
  let cron: Cron | undefined;

  async function runAll(): Promise<void> {
    for (const [name, run] of Object.entries(jobs)) {
      try {
        await run(systemCall("job", uuid7()));
      } catch (error) {
        logger.error({ err: error, job: name }, "a job failed and runs again in a minute");
      }
    }
  }

  return {
    /** One round, now. */
    runAll,
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
