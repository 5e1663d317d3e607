import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * SQLite answers at once, so a chain of awaited queries never lets sockets and timers have their turn. Call the result before each
 * query: it waits for the next turn of the event loop when queries have filled `budgetMs` of this one.
 */
export function createPace(budgetMs: number): () => Promise<void> | undefined {
  let began: number | undefined;

  function isSpent(): boolean {
    if (began === undefined) {
      began = performance.now();
      setImmediate(() => {
        began = undefined;
      });
    }
    return performance.now() - began > budgetMs;
  }

  async function wait(): Promise<void> {
    // Many wait for the same turn, and it may be spent before each of them has had it.
    do await nextTurn();
    while (isSpent());
  }

  return () => (isSpent() ? wait() : undefined);
}
