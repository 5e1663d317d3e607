import { setImmediate as nextTurn } from "node:timers/promises";

export interface TimeSlices {
  /** Whether this turn's time is used up: then wait for `next`. */
  isSpent(): boolean;
  next(): Promise<void>;
}

/** Bounds how long work keeps the event loop to itself. @param budgetMs of one turn */
export function createTimeSlices(budgetMs: number): TimeSlices {
  let began = performance.now();
  return {
    isSpent: (): boolean => performance.now() - began > budgetMs,
    async next(): Promise<void> {
      await nextTurn();
      began = performance.now();
    },
  };
}

/** Milliseconds for which the parser of a large text keeps the event loop to itself. */
const parsingMs = 2;

/** Slices for parsing what others wrote, which may be large. */
export const parsingSlices = (): TimeSlices => createTimeSlices(parsingMs);
