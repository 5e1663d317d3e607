import { pause } from "./pause.ts";

/** A link that held this long was a good one; sooner, its end counts as broken at once. */
const steadyMs = 10_000;
/** The longest pause between attempts that nobody answers: for about as long the link stays down once the gateway is there again. */
export const longestAwayMs = 6000;
/** The longest pause between links that break at once: each may cost one of the session starts Discord allows in a day. */
export const longestBrokenMs = 30_000;

/** How long the next attempt waits after so many in vain, before chance moves it by a quarter: two are made at once. */
export function pauseAfterFailures(failures: number, longestMs: number, firstMs = 500): number {
  return failures > 2 ? Math.min(longestMs, firstMs * 2 ** (failures - 3)) : 0;
}

/**
 * The back-off of the library's reconnect loop, which by itself tries twice a second for ever. Attempts that nobody answers and links that
 * break are counted apart: the first greeting after an outage ends the wait for the outage, whatever the gateway says next.
 */
export function createGatewayPace(reconnectMs?: number) {
  const stopping = new AbortController();
  let unanswered = 0;
  let broken = 0;
  let isGreeted = false;
  let upSince = Infinity;

  return {
    /** Links lost and attempts in vain since the last link that held. */
    failures: () => Math.max(unanswered, broken),
    hello(): void {
      isGreeted = true;
      unanswered = 0;
    },
    up: () => void (upSince = performance.now()),
    closed(): void {
      if (isGreeted) broken = performance.now() - upSince > steadyMs ? 1 : broken + 1;
      else unanswered += 1;
      isGreeted = false;
      upSince = Infinity;
    },
    /** Settles when the next attempt may be made; once stopped, never. */
    async turn(): Promise<void> {
      const ms = Math.max(
        pauseAfterFailures(unanswered, longestAwayMs, reconnectMs),
        pauseAfterFailures(broken, longestBrokenMs, reconnectMs),
      );
      if (ms > 0) await pause(ms * (0.75 + Math.random() / 2), stopping.signal);
      if (stopping.signal.aborted) await new Promise<never>(() => undefined);
    },
    stop: () => stopping.abort(),
  };
}
