import { pause } from "../../kernel/pause.ts";

/** A link that ends sooner than this counts as broken at once. */
const steadyMs = 10_000;
/** The maximum pause between attempts that nobody answers; the link may stay down for as long after the gateway is back. */
export const maxAwayMs = 6000;
/** The maximum pause between links that break at once; each may cost one of the session starts Discord allows in a day. */
export const maxBrokenMs = 30_000;

/** The pause before the next attempt, without jitter; the first two repetitions are made at once. */
export function pauseAfterFailures(failures: number, maxMs: number, firstMs = 500): number {
  return failures > 2 ? Math.min(maxMs, firstMs * 2 ** (failures - 3)) : 0;
}

/**
 * The back-off of the library's reconnect loop, which by itself tries twice a second for ever. Unanswered attempts and broken links are
 * counted separately, so that the first HELLO after an outage resets the pauses of the outage.
 */
export function createGatewayPace(reconnectMs?: number) {
  const stopping = new AbortController();
  let unanswered = 0;
  let broken = 0;
  let hasHello = false;
  let upSince = Infinity;

  return {
    /** The number of failures in a row: unanswered attempts, or links that broke at once. */
    failures: () => Math.max(unanswered, broken),
    hello(): void {
      hasHello = true;
      unanswered = 0;
    },
    up: () => void (upSince = performance.now()),
    closed(): void {
      if (hasHello) broken = performance.now() - upSince > steadyMs ? 1 : broken + 1;
      else unanswered += 1;
      hasHello = false;
      upSince = Infinity;
    },
    /** Resolves when the next attempt may be made; never after `stop`. */
    async beforeAttempt(): Promise<void> {
      const ms = Math.max(pauseAfterFailures(unanswered, maxAwayMs, reconnectMs), pauseAfterFailures(broken, maxBrokenMs, reconnectMs));
      if (ms > 0) await pause(ms * (0.75 + Math.random() / 2), stopping.signal);
      if (stopping.signal.aborted) await new Promise<never>(() => undefined);
    },
    stop: () => stopping.abort(),
  };
}
