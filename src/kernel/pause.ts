import { setTimeout as delay } from "node:timers/promises";
import { ProblemError } from "./errors.ts";

/** Wait; an abort of the signal ends the wait early. Always resolves. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end);
  });
}

/**
 * Wait for what is under way, at most so many milliseconds. It rejects as the work does.
 * @returns whether the work has ended
 */
export async function waitAtMost(ms: number, work: Promise<unknown> | undefined): Promise<boolean> {
  const waited = new AbortController();
  const ended = (work ?? Promise.resolve()).then(() => true);
  return Promise.race([ended, pause(ms, waited.signal).then(() => false)]).finally(() => waited.abort());
}

/**
 * Do some work in bounded parts, until a part is not full: nothing is left then.
 * @param size of a full part
 * @returns how many in all
 */
export async function inBatches(size: number, part: () => Promise<number>): Promise<number> {
  let total = 0;
  for (;;) {
    const done = await part();
    total += done;
    if (done < size) return total;
  }
}

export interface BackOff {
  /** The first pause, in milliseconds; it doubles with each attempt. */
  firstMs?: number;
  /** The longest pause, in milliseconds. */
  mostMs?: number;
  /** What the other side asks to be left alone for, in milliseconds. */
  leastMs?: number;
}

/**
 * How long to wait before the next attempt, in milliseconds, spread by a quarter either way.
 * @param attempts how many there were, from 1
 */
export function backOff(attempts: number, { firstMs = 5000, mostMs = 3_600_000, leastMs = 0 }: BackOff = {}): number {
  const jitter = 0.75 + Math.random() / 2;
  return Math.max(leastMs, Math.min(firstMs * 2 ** (attempts - 1), mostMs) * jitter);
}

/**
 * Work on the storage that is done again while the storage is busy.
 * @param pauseOf how long to wait after so many attempts, in milliseconds; undefined: no longer
 * @throws whatever the work throws, and that the storage is busy where it is not tried again
 */
export async function persistently<T>(
  work: () => Promise<T>,
  pauseOf: (tries: number, busy: ProblemError) => number | undefined,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      const ms = error instanceof ProblemError && error.code === "storage_busy" ? pauseOf(tries, error) : undefined;
      if (ms === undefined) throw error;
      await delay(ms);
    }
  }
}
