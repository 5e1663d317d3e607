import { SimpleIdentifyThrottler, type APIGatewaySessionStartLimit, type IIdentifyThrottler } from "discord.js";

/** Share of a day's session starts that is never used: Discord resets the token of a bot that uses them all up. */
const reserve = 0.1;
const dayMs = 86_400_000;

interface GatewayInformation {
  fetchGatewayInformation(): Promise<{ session_start_limit: APIGatewaySessionStartLimit }>;
}

/** Counts session starts over all sessions of this process; one budget for its whole life. */
export interface IdentifyBudget {
  /** @param onExhausted called instead of letting a session start */
  throttler(manager: GatewayInformation, onExhausted: () => void): Promise<IIdentifyThrottler>;
}

/** Lets so many session starts at a time go ahead, and keeps the next ones apart from them. */
export type BuildThrottler = (buckets: number) => IIdentifyThrottler;

/** Discord lets a bucket start one session in five seconds. */
const libraryThrottler: BuildThrottler = (buckets) => new SimpleIdentifyThrottler(buckets);

export function createIdentifyBudget(buildThrottler: BuildThrottler = libraryThrottler): IdentifyBudget {
  const throttlers = new Map<number, IIdentifyThrottler>();
  let starts: number[] = [];
  let limit: APIGatewaySessionStartLimit | undefined;
  let learnedAt = 0;

  const learn = async (manager: GatewayInformation): Promise<void> => {
    try {
      limit = (await manager.fetchGatewayInformation()).session_start_limit;
      learnedAt = Date.now();
      starts = [];
    } catch {
      // The next session asks again; until then one start at a time is always allowed.
    }
  };

  const isExhausted = (): boolean => {
    if (limit === undefined) return false;
    const now = Date.now();
    starts = starts.filter((at) => now - at < dayMs);
    const usedBefore = now - learnedAt < limit.reset_after ? limit.total - limit.remaining : 0;
    return usedBefore + starts.length >= limit.total * (1 - reserve);
  };

  return {
    async throttler(manager, onExhausted) {
      await learn(manager);
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
