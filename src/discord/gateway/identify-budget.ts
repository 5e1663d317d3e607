import type { APIGatewaySessionStartLimit, IIdentifyThrottler } from "discord.js";
import { pause } from "../../kernel/pause.ts";
import { loadLibrary } from "../load-library.ts";

/** The share of a day's session starts that is never used: Discord resets the token of a bot that uses them up. */
const reserve = 0.1;
const dayMs = 86_400_000;

interface GatewayInformation {
  fetchGatewayInformation(): Promise<{ session_start_limit: APIGatewaySessionStartLimit }>;
}

/** Counts the session starts of this process over all its sessions. */
export interface IdentifyBudget {
  /** @param onExhausted called instead of letting a session start */
  throttler(manager: GatewayInformation, onExhausted: () => void): Promise<IIdentifyThrottler>;
}

/** Builds the throttler of session starts for a number of buckets. */
export type BuildThrottler = (buckets: number) => IIdentifyThrottler;

/** Keeps session starts within the limit that Discord states, which lets a bucket start one session in five seconds. */
export function createIdentifyBudget(buildThrottler?: BuildThrottler): IdentifyBudget {
  const throttlers = new Map<number, IIdentifyThrottler>();
  let starts: number[] = [];
  let limit: APIGatewaySessionStartLimit | undefined;
  let fetchedAt = 0;

  const fetchLimit = async (manager: GatewayInformation): Promise<void> => {
    try {
      limit = (await manager.fetchGatewayInformation()).session_start_limit;
      fetchedAt = Date.now();
      starts = [];
    } catch {
      // The next session fetches the limit again; until then one start at a time is allowed.
    }
  };

  const isExhausted = (): boolean => {
    if (limit === undefined) return false;
    const now = Date.now();
    starts = starts.filter((at) => now - at < dayMs);
    const usedBefore = now - fetchedAt < limit.reset_after ? limit.total - limit.remaining : 0;
    return usedBefore + starts.length >= limit.total * (1 - reserve);
  };

  return {
    async throttler(manager, onExhausted) {
      await fetchLimit(manager);
      const buckets = Math.max(1, limit?.max_concurrency ?? 1);
      const { SimpleIdentifyThrottler } = await loadLibrary();
      const throttler = throttlers.get(buckets) ?? buildThrottler?.(buckets) ?? new SimpleIdentifyThrottler(buckets);
      throttlers.set(buckets, throttler);
      return {
        async waitForIdentify(shardId, signal) {
          if (isExhausted()) {
            onExhausted();
            await closed(signal);
          }
          await throttler.waitForIdentify(shardId, signal);
          starts.push(Date.now());
        },
      };
    },
  };
}

/** Rejects when the socket closes. */
function closed(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error("the socket closed before it could identify")), { once: true });
  });
}

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
