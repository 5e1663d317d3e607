import { Cron } from "croner";
import type { Logger } from "pino";
import { systemCall, type Call } from "./kernel/call.ts";
import { systemClock, type Clock } from "./kernel/clock.ts";
import { uuid7 } from "./kernel/ids.ts";

/** Recurring work: what ends by time is ended, what was kept long enough is deleted. */
export type Jobs = Readonly<Record<string, (call: Call) => Promise<unknown>>>;

/** How one job has done since the start of the process. */
export interface JobState {
  name: string;
  /** When it last ended well; null: not yet. */
  lastSuccess: Date | null;
  /** When it last failed; null: never. */
  lastFailure: Date | null;
  /** When the first of its latest failures in a row was; null: it ended well last, or has not run. */
  failingSince: Date | null;
  /** When the run that is going on began; null: it does not run. */
  runningSince: Date | null;
  /** How often it failed. */
  failures: number;
  /** How long its last run took, in milliseconds; null: it has not run. */
  durationMs: number | null;
}

/** Runs every job once a minute, one after the other, never twice at once. */
export function createJobs(jobs: Jobs, logger: Logger, clock: Clock = systemClock) {
  let round = Promise.resolve();
  let cron: Cron | undefined;
  const all = Object.entries(jobs).map(([name, run]) => ({ run, state: notRun(name) }));

  async function runAll(): Promise<void> {
    for (const { run, state } of all) await runOne(run, state);
  }

  async function runOne(run: Jobs[string], state: JobState): Promise<void> {
    const began = performance.now();
    state.runningSince = clock.now();
    try {
      await run(systemCall("job", uuid7()));
      state.lastSuccess = clock.now();
      state.failingSince = null;
    } catch (error) {
      state.lastFailure = clock.now();
      state.failingSince ??= state.lastFailure;
      state.failures += 1;
      logger.error({ err: error, job: state.name }, "a job failed and runs again in a minute");
    } finally {
      state.runningSince = null;
      state.durationMs = performance.now() - began;
    }
  }

  return {
    /** One round, now. */
    runAll,
    /** How each job has done, in the order in which they run. */
    state: (): JobState[] => all.map(({ state }) => ({ ...state })),
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

function notRun(name: string): JobState {
  return { name, lastSuccess: null, lastFailure: null, failingSince: null, runningSince: null, failures: 0, durationMs: null };
}
