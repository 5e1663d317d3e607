import { SimpleIdentifyThrottler, type APIGatewaySessionStartLimit, type IIdentifyThrottler } from "discord.js";

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

/** Discord lets a bucket start one session in five seconds. */
const libraryThrottler: BuildThrottler = (buckets) => new SimpleIdentifyThrottler(buckets);

/** Keeps session starts within the limit that Discord states. */
export function createIdentifyBudget(buildThrottler: BuildThrottler = libraryThrottler): IdentifyBudget {
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
      const throttler = throttlers.get(buckets) ?? buildThrottler(buckets);
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
