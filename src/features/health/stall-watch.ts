import type { Logger } from "pino";

const lookMs = 1000;
/** A turn of the event loop that takes so long is no busy moment any more. */
const stallMs = 10_000;
/** For how long the process counts as ailing afterwards: three probes, ten seconds apart, see it. */
const ailingMs = 30_000;

/**
 * Notices that the event loop stood still, once it goes on: until then nothing here can answer, and a probe fails by its own time-out.
 * A thread that watches would take seven megabytes, and could tell a supervisor no more than that.
 */
export function createStallWatch({ logger }: { logger: Logger }) {
  let lookedAt: number | undefined;
  let stalledAt = -Infinity;
  let timer: NodeJS.Timeout | undefined;

  function look(): void {
    const now = performance.now();
    const stoodMs = now - (lookedAt ?? now) - lookMs;
    lookedAt = now;
    if (stoodMs < stallMs) return;
    stalledAt = now;
    const text =
      "the event loop stood still, and nobody was answered meanwhile; /livez fails for a while, so that a supervisor starts the process again";
    logger.error({ seconds: Math.round(stoodMs / 1000) }, text);
  }

  return {
    start(): void {
      lookedAt = performance.now();
      timer = setInterval(look, lookMs).unref();
    },
    /** Whether the event loop has not stood still lately. A request may be read before the timer runs that was due first. */
    isAlive(): boolean {
      if (timer !== undefined) look();
      return performance.now() - stalledAt >= ailingMs;
    },
    /** Nothing is noticed any more, so that the end of the service is no stall. */
    stop(): void {
      clearInterval(timer);
      timer = undefined;
    },
  };
}
