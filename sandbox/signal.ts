export type Signal = ReturnType<typeof createSignal>;

/** Lets callers wait for facts: every `notify` makes the waiting look again. */
export function createSignal() {
  const waiting = new Set<() => void>();
  let isStopped = false;
  return {
    notify(): void {
      for (const look of waiting) look();
    },
    /** Ends all waiting, so that no timer outlives the sandbox. */
    stop(): void {
      isStopped = true;
      for (const look of waiting) look();
    },
    /**
     * Settles with the first truthy value of `read`; rejects when `read` throws, or after `ms` with the name of what was awaited.
     * @param pollMs also look at this interval, for facts nobody notifies about
     */
    until<T>(read: () => T, ms: number, what: string, pollMs?: number): Promise<NonNullable<T>> {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => finish(() => reject(new Error(`${what}: not within ${ms} ms`))), ms);
        const poll = pollMs === undefined ? undefined : setInterval(() => look(), pollMs);
        function finish(settle: () => void): void {
          clearTimeout(timer);
          clearInterval(poll);
          waiting.delete(look);
          settle();
        }
        function look(): void {
          if (isStopped) return finish(() => reject(new Error(`${what}: the sandbox has stopped`)));
          try {
            const value = read();
            if (value) finish(() => resolve(value));
          } catch (error) {
            finish(() => reject(error instanceof Error ? error : new Error("the awaited fact cannot be read", { cause: error })));
          }
        }
        waiting.add(look);
        look();
      });
    },
  };
}
