import { type ProblemCode, ProblemError } from "./errors.ts";

export interface SemaphoreOptions {
  /** How many hold it at once; one by default. */
  places?: number;
  /** How many may wait; who comes beyond is refused at once. */
  waiting: number;
  /** How long one waits, in milliseconds; without end by default. */
  timeoutMs?: number;
  refusal: ProblemCode;
  /** What the refusal says; by default the usual words of its code. */
  detail?: string;
  /** Seconds after which to try again; 1 by default. */
  retryAfter?: number;
}

/** First come, first served, so many at once. The holder calls the function it is given to let the next one in; further calls do nothing. */
export interface Semaphore {
  /**
   * Answers at once where a place is free, so that who need not wait does not pay for a promise.
   * @throws ProblemError the refusal, when too many wait or (as a rejection) when the wait is too long
   */
  acquire(): (() => void) | Promise<() => void>;
}

export function createSemaphore({ places = 1, waiting: most, timeoutMs, refusal, detail, retryAfter = 1 }: SemaphoreOptions): Semaphore {
  const waiting = new Set<() => void>();
  let held = 0;
  const refused = (): ProblemError => new ProblemError(refusal, { ...(detail !== undefined && { detail }), retryAfter });

  /** The next in line takes over the place, so that nobody slips in between. */
  function createRelease(): () => void {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      const [next] = waiting;
      if (next === undefined) held -= 1;
      else next();
    };
  }

  return {
    acquire() {
      if (held < places) {
        held += 1;
        return createRelease();
      }
      if (waiting.size >= most) throw refused();
      return new Promise((resolve, reject) => {
        const start = (): void => {
          clearTimeout(timer);
          waiting.delete(start);
          resolve(createRelease());
        };
        const giveUp = (): void => {
          waiting.delete(start);
          reject(refused());
        };
        const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, timeoutMs);
        waiting.add(start);
      });
    },
  };
}
