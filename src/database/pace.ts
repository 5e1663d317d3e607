/** Wait for a turn before the next query; undefined where there is no need to. */
export type Pace = () => Promise<void> | undefined;

/**
 * SQLite answers at once, so a chain of awaited queries never lets sockets and timers have their turn. Call the result before each
 * query: when queries have filled `budgetMs` of this turn of the event loop it waits, first come, first served, one in each turn.
 */
export function createPace(budgetMs: number): Pace {
  const waiting: (() => void)[] = [];
  let began: number | undefined;

  function turn(): void {
    const next = waiting.shift();
    if (next === undefined) {
      began = undefined;
      return;
    }
    next();
    setImmediate(turn);
  }

  return () => {
    if (began === undefined) {
      began = performance.now();
      setImmediate(turn);
    }
    if (waiting.length === 0 && performance.now() - began <= budgetMs) return undefined;
    return new Promise((resolve) => waiting.push(resolve));
  };
}
