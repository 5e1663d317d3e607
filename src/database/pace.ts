/** Wait for a turn before the next query; undefined where there is no need to. */
export type Pace = (kind?: "read" | "write") => Promise<void> | undefined;

/**
 * SQLite answers at once, so a chain of awaited queries never lets sockets and timers have their turn. Call the result before each
 * query: when queries have filled `budgetMs` of this turn of the event loop it waits for a later one. Each turn takes as many of the reads that
 * wait as the budget has room for, and then a write, with more where there is room: who looks at something does not wait for all that large
 * work is about to write, and no write waits for ever.
 */
export function createPace(budgetMs: number): Pace {
  const waiting = { read: [] as (() => void)[], write: [] as (() => void)[] };
  let began: number | undefined;
  let hasWritten = false;
  const isSpent = (): boolean => began !== undefined && performance.now() - began > budgetMs;
  const isEmpty = (): boolean => waiting.read.length + waiting.write.length === 0;

  function turn(): void {
    began = isEmpty() ? undefined : performance.now();
    hasWritten = false;
    if (began !== undefined) proceed();
  }

  function next(): (() => void) | undefined {
    const read = isSpent() ? undefined : waiting.read.shift();
    if (read !== undefined || (hasWritten && isSpent())) return read;
    hasWritten = true;
    return waiting.write.shift();
  }

  function proceed(): void {
    const one = next();
    if (one === undefined) {
      setImmediate(turn);
      return;
    }
    one();
    // A tick that a microtask asks for comes when all that `one` had waiting has run, its query among them.
    queueMicrotask(() => process.nextTick(proceed));
  }

  return (kind = "read") => {
    if (began === undefined) {
      began = performance.now();
      setImmediate(turn);
    }
    if (isEmpty() && !isSpent()) return undefined;
    return new Promise((resolve) => waiting[kind].push(resolve));
  };
}
