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
