import { setMaxListeners } from "node:events";
import { Cron } from "croner";
import type { Logger } from "pino";
import { systemCall, type Call } from "./kernel/call.ts";
import { systemClock, type Clock } from "./kernel/clock.ts";
import { uuid7 } from "./kernel/ids.ts";
import { pause } from "./kernel/pause.ts";

type Run = (call: Call) => Promise<unknown>;

/** A job that also runs at the moment a date arrives, so that people do not see it happen a minute late. */
export interface TimedJob {
  run: Run;
  /**
   * The earliest moment at which `run` has something to do, which may be in the past; null: none. It is read about once a second, so the query
   * needs an index.
   */
  nextDue: () => Promise<Date | null>;
}

/** Recurring work by name: what ends by time is ended, what was kept long enough is deleted. */
export type Jobs = Readonly<Record<string, Run | TimedJob>>;

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

/**
 * How long a timed job waits before it reads its next date again, in milliseconds: the longest delay for a date that was set after the last
 * reading, by this process or by another one.
 */
const longestWaitMs = 1000;
/** The shortest such wait, so that many dates in a row do not keep the database busy. */
const shortestWaitMs = 50;

interface Job {
  run: Run;
  nextDue: TimedJob["nextDue"] | undefined;
  state: JobState;
  running: Promise<void> | undefined;
}

/** Runs every job once a minute, one after the other, and timed jobs also at their dates. No job runs twice at once. */
export function createJobs(jobs: Jobs, logger: Logger, clock: Clock = systemClock) {
  let round = Promise.resolve();
  let cron: Cron | undefined;
  const stopping = new AbortController();
  // Every timed job waits for it.
  setMaxListeners(0, stopping.signal);
  let following: Promise<unknown> | undefined;
  const all = Object.entries(jobs).map(([name, job]): Job => {
    const { run, nextDue } = typeof job === "function" ? { run: job, nextDue: undefined } : job;
    return { run, nextDue, state: notRun(name), running: undefined };
  });

  async function runAll(): Promise<void> {
    for (const job of all) await runOne(job);
  }

  async function runOne(job: Job): Promise<void> {
    while (job.running !== undefined) await job.running;
    job.running = attempt(job).finally(() => (job.running = undefined));
    await job.running;
  }

  async function attempt({ run, state }: Job): Promise<void> {
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

  /** Run a timed job at each of its dates until the end. Each waits by itself, so that a slow one delays no other. */
  async function follow(job: Job, nextDue: TimedJob["nextDue"]): Promise<void> {
    // What a run left undone waits for the minute, as do jobs that fail: otherwise they would run all the time.
    let attempted: number | undefined;
    let isUnread = false;
    while (!stopping.signal.aborted) {
      let waitMs = longestWaitMs;
      try {
        const due = (await nextDue())?.getTime();
        isUnread = false;
        if (due !== undefined && due !== attempted && !stopping.signal.aborted) {
          const leftMs = due - clock.now().getTime();
          if (leftMs <= 0) {
            await runOne(job);
            attempted = due;
          }
          waitMs = Math.max(shortestWaitMs, Math.min(leftMs, longestWaitMs));
        }
      } catch (error) {
        if (!isUnread && !stopping.signal.aborted)
          logger.warn({ err: error, job: job.state.name }, "the next date of a job could not be read; the job runs every minute");
        isUnread = true;
      }
      await pause(waitMs, stopping.signal);
    }
  }

  return {
    /** One round, now. */
    runAll,
    /** How each job has done, in the order in which they run. */
    state: (): JobState[] => all.map(({ state }) => ({ ...state })),
    start(): void {
      cron = new Cron("0 * * * * *", { protect: true, unref: true }, () => (round = runAll()));
      following = Promise.all(all.flatMap((job) => (job.nextDue === undefined ? [] : [follow(job, job.nextDue)])));
    },
    /** Ends the schedule and waits for what is running. */
    async stop(): Promise<void> {
      cron?.stop();
      stopping.abort();
      await following;
      await round;
    },
  };
}

function notRun(name: string): JobState {
  return { name, lastSuccess: null, lastFailure: null, failingSince: null, runningSince: null, failures: 0, durationMs: null };
}
