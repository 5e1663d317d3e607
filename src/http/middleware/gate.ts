import { ProblemError } from "../../kernel/errors.ts";

export interface GateOptions {
  /** How many requests are worked on at once. */
  running: number;
  /** How many more may wait; beyond, a request is refused at once. */
  waiting: number;
}

/** Bounds the requests in work, so that a flood ends in quick refusals instead of memory and time-outs. */
export interface Gate {
  /**
   * Undefined when the caller may go on at once, otherwise a promise of its turn. Every turn ends with `leave`.
   * @throws ProblemError overloaded
   */
  enter(): Promise<void> | undefined;
  leave(): void;
}

export function createGate({ running, waiting }: GateOptions): Gate {
  const queue: (() => void)[] = [];
  let inWork = 0;
  return {
    enter() {
      if (inWork < running) {
        inWork += 1;
        return undefined;
      }
      if (queue.length >= waiting) throw new ProblemError("overloaded", { retryAfter: 1 });
      return new Promise((resolve) => {
        queue.push(resolve);
      });
    },
    /** The next in line takes over the place, so that nobody can slip in between. */
    leave() {
      const next = queue.shift();
      if (next === undefined) inWork -= 1;
      else next();
    },
  };
}
