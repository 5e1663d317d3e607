import type { Logger } from "pino";
import { requirePermission, systemCall, type Call } from "../kernel/call.ts";
import { addSeconds, type Clock } from "../kernel/clock.ts";
import { ProblemError } from "../kernel/errors.ts";
import { uuid7 } from "../kernel/ids.ts";
import { backOff, pause, type BackOff } from "../kernel/pause.ts";

/** How an attempt at a task ended. `later`: the task has a new date; `passed`: another task or process comes first. */
export type Attempted = "ended" | "later" | "passed";

/** A stored piece of work whose date has come. */
export interface DueTask {
  id: string;
  /** Tasks with the same key run one after the other, in the order of their dates. Other keys never wait for them. */
  key: string;
  dueAt: Date;
}

/** One kind of stored work. Its rows are the feature's own; the engine finds, runs and repeats them. */
export interface TaskKind {
  /** In logs. */
  name: string;
  /** How many keys are worked on at the same time. */
  places: number;
  /** Whether the work can be done now. While it cannot, everything due stays where it is. */
  isReady?: () => boolean;
  /**
   * Tasks that are due, by date and then by id.
   * @param after continue behind this task
   */
  due(now: Date, most: number, after: DueTask | undefined): Promise<readonly DueTask[]>;
  /** The first date after `now`; null if nothing is left. */
  nextDue(now: Date): Promise<Date | null>;
  /**
   * Try one. A task that is under way has to carry a lease: a date in the future, after which somebody else may try it.
   * Whatever is thrown leaves the task as it is; it is tried again after a pause that grows.
   */
  attempt(call: Call, id: string, key: string): Promise<Attempted>;
}

/** How much work is due and not done. */
export interface TaskState {
  due: number;
  /** Whether more is due than was counted. */
  isMore: boolean;
  oldest: Date | null;
}

export interface Tasks {
  /** Look at what is due now. */
  wake(): void;
  /** Run everything that is due now, and wait for it. @returns how many tasks came to an end meanwhile */
  runDue(call: Call): Promise<number>;
  /** What is due and not done yet, as far as one look reaches. */
  state(): Promise<TaskState>;
  /** From now on tasks run by themselves. */
  start(): void;
  /** Begin nothing more, and wait for what is under way. */
  stop(): Promise<void>;
}

export interface TaskDeps {
  clock: Clock;
  logger: Logger;
}

const second = 1000;
const readAtOnce = 32;
/** In milliseconds. */
const pauses = { longest: 60 * second, shortest: 250, notReady: 2 * second, unreadable: 5 * second };

/** A task that has failed this often has failed permanently. */
export const maxAttempts = 12;
/** For how long an attempt belongs to the process that began it. Anything the bot does ends within ten seconds. */
export const leaseSeconds = 60;

/** When a lease that begins now ends. */
export function leaseFrom(now: Date): Date {
  return addSeconds(now, leaseSeconds);
}

/** The date of the next attempt; null if there was the last one. */
export function nextAttempt(now: Date, attempts: number, pace: BackOff = {}): Date | null {
  return attempts >= maxAttempts ? null : addSeconds(now, backOff(attempts, pace) / second);
}

/**
 * Runs one kind of stored work: at its date, key by key, several keys at the same time. One task that fails, hangs or cannot be read delays no
 * other one.
 */
export function createTasks(kind: TaskKind, { clock, logger }: TaskDeps): Tasks {
  const stopping = new AbortController();
  /** The keys that are being worked on. */
  const running = new Map<string, Promise<void>>();
  /** Tasks that are due and are left alone for now: until when (milliseconds of `performance.now()`), and how often they threw. */
  const deferred = new Map<string, { until: number; failures: number }>();
  let alarm = new AbortController();
  let isWoken = false;
  let loop: Promise<void> | undefined;
  let ended = 0;
  let last: Promise<unknown> = Promise.resolve();

  function wake(): void {
    isWoken = true;
    alarm.abort();
  }

  const isDeferred = ({ id }: DueTask): boolean => (deferred.get(id)?.until ?? 0) > performance.now();

  /** What ends makes room for what waited for it. */
  function settle({ id }: DueTask, attempted: Attempted): void {
    if (attempted === "passed") {
      deferred.set(id, { until: performance.now() + pauses.notReady, failures: 0 });
      return;
    }
    for (const [other, { failures }] of deferred) if (failures === 0 || other === id) deferred.delete(other);
    if (attempted === "ended") ended += 1;
  }

  /** What is thrown concerns this task alone. The storage says itself when it takes writes again. */
  function deferFailed({ id, key }: DueTask, error: unknown): void {
    const failures = (deferred.get(id)?.failures ?? 0) + 1;
    const leastMs = error instanceof ProblemError ? (error.retryAfter ?? 1) * second : 0;
    deferred.set(id, { until: performance.now() + backOff(failures, { firstMs: second, leastMs }), failures });
    if (!(error instanceof ProblemError) && !stopping.signal.aborted)
      logger.error({ err: error, task: kind.name, key }, "a task failed unexpectedly and is tried again");
  }

  function start(call: Call, task: DueTask): void {
    const work = kind
      .attempt({ ...call, requestId: uuid7() }, task.id, task.key)
      .then(
        (attempted) => settle(task, attempted),
        (error: unknown) => deferFailed(task, error),
      )
      .finally(() => {
        running.delete(task.key);
        wake();
      });
    running.set(task.key, work);
  }

  /** Start whatever has a free place. @returns how much was started */
  async function fill(call: Call): Promise<number> {
    const now = clock.now();
    let started = 0;
    const held = new Set<string>();
    for (let after: DueTask | undefined; running.size < kind.places;) {
      const tasks = await kind.due(now, readAtOnce, after);
      for (const task of tasks) {
        if (stopping.signal.aborted || running.size >= kind.places) return started;
        if (kind.isReady?.() === false) return started;
        if (running.has(task.key) || held.has(task.key)) continue;
        // The first task of a key has to be tried before those behind it.
        if (isDeferred(task)) {
          if ((deferred.get(task.id)?.failures ?? 0) > 0) held.add(task.key);
          continue;
        }
        start(call, task);
        started += 1;
      }
      after = tasks.at(-1);
      if (tasks.length < readAtOnce) return started;
    }
    return started;
  }

  /** How long there is nothing to do, in milliseconds. */
  async function restMs(): Promise<number> {
    if (kind.isReady?.() === false) return pauses.notReady;
    const now = clock.now();
    const next = await kind.nextDue(now);
    const until = next === null ? pauses.longest : next.getTime() - now.getTime();
    const again = [...deferred.values()].map(({ until: at }) => at - performance.now()).filter((ms) => ms > 0);
    return Math.max(pauses.shortest, Math.min(until, pauses.longest, ...again));
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      alarm = new AbortController();
      isWoken = false;
      const ms = await fill(systemCall("job", uuid7()))
        .then(restMs)
        .catch((error: unknown) => {
          if (!stopping.signal.aborted) logger.error({ err: error, task: kind.name }, "due tasks could not be read; trying again");
          return pauses.unreadable;
        });
      if (!isWoken) await pause(ms, alarm.signal);
    }
  }

  async function drain(call: Call): Promise<number> {
    const before = ended;
    for (const [id, { failures }] of deferred) if (failures === 0) deferred.delete(id);
    while (((await fill(call)) > 0 || running.size > 0) && !stopping.signal.aborted)
      if (running.size > 0) await Promise.race(running.values());
    return ended - before;
  }

  return {
    wake,

    async runDue(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      const next = last.then(() => drain(call));
      last = next.catch(() => undefined);
      return await next;
    },

    async state(): Promise<TaskState> {
      const tasks = await kind.due(clock.now(), readAtOnce, undefined);
      return { due: tasks.length, isMore: tasks.length === readAtOnce, oldest: tasks[0]?.dueAt ?? null };
    },

    start(): void {
      loop ??= run();
    },

    async stop(): Promise<void> {
      stopping.abort();
      alarm.abort();
      await loop;
      await Promise.all(running.values());
    },
  };
}
