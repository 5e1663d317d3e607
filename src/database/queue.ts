import { ProblemError } from "../kernel/errors.ts";

interface Waiter {
  start(): void;
}

export interface QueueOptions {
  /** How many hold it at once; one unless told. */
  holders?: number;
  /** How many may wait. */
  size: number;
  /** How long one waits, in milliseconds. */
  timeoutMs: number;
}

/** First come, first served, a few at a time. The holder calls the returned function exactly once. */
export interface Queue {
  /** @throws ProblemError storage_busy when too many wait or the wait is too long */
  acquire(): Promise<() => void>;
}

export function createQueue({ holders = 1, size, timeoutMs }: QueueOptions): Queue {
  const waiting = new Set<Waiter>();
  let held = 0;

  function release(): void {
    const [next] = waiting;
    if (next === undefined) {
      held -= 1;
      return;
    }
    waiting.delete(next);
    next.start();
  }

  /** A second call of the same holder must not let two in. */
  function releaseOnce(): () => void {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      release();
    };
  }

  return {
    async acquire() {
      if (held < holders) {
        held += 1;
        return releaseOnce();
      }
      if (waiting.size >= size) throw new ProblemError("storage_busy", { retryAfter: 1 });
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(waiter);
          reject(new ProblemError("storage_busy", { retryAfter: 1 }));
        }, timeoutMs);
        const waiter: Waiter = {
          start() {
            clearTimeout(timer);
            resolve(releaseOnce());
          },
        };
        waiting.add(waiter);
      });
    },
  };
}
