import { ProblemError } from "../../kernel/errors.ts";

/** Remembers what was used until it would be refused anyway. */
export interface ReplayMemory {
  /** Whether it was used already. */
  has(key: string): boolean;
  /**
   * Use it up.
   * @param untilMs from when on it is refused by its age
   * @throws ProblemError assertion_replayed, overloaded when more is remembered than there is room for
   */
  use(key: string, untilMs: number): void;
}

const clearedEveryMs = 1000;

/** @param now milliseconds since the epoch */
export function createReplayMemory({ capacity, now }: { capacity: number; now: () => number }): ReplayMemory {
  const ends = new Map<string, number>();
  let clearedAt = 0;

  function clear(): void {
    clearedAt = now();
    for (const [key, untilMs] of ends) if (untilMs <= clearedAt) ends.delete(key);
  }

  return {
    has: (key) => ends.has(key),
    use(key, untilMs) {
      if (ends.has(key)) throw new ProblemError("assertion_replayed", { detail: "Every request needs an assertion of its own." });
      if (now() - clearedAt >= clearedEveryMs) clear();
      if (ends.size >= capacity) throw new ProblemError("overloaded", { detail: "Too many assertions are in use.", retryAfter: 5 });
      ends.set(key, untilMs);
    },
  };
}
