import { setImmediate as nextTurn } from "node:timers/promises";

/** Bounds how long work keeps the event loop to itself. */
export interface Turns {
  /** Whether this turn's time is used up: then wait for {@link next}. */
  isSpent(): boolean;
  next(): Promise<void>;
}

/** @param budgetMs of one turn */
export function createTurns(budgetMs: number): Turns {
  let began = performance.now();
  return {
    isSpent: () => performance.now() - began > budgetMs,
    async next() {
      await nextTurn();
      began = performance.now();
    },
  };
}
