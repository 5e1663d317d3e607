import { LRUCache } from "lru-cache";
import { ProblemError } from "../kernel/errors.ts";
import type { LimitClass, PathParams, RouteSpec } from "./route.ts";

export interface RateLimit {
  count: number;
  seconds: number;
}
export type RateLimits = Record<"read" | "write" | "authorize" | "export" | "failed_auth", RateLimit>;

/** A token bucket per key, refilled evenly: `count` at once, `count` per `seconds` in the long run. */
export interface RateLimiter {
  /** `RateLimit-Policy` of this limit. */
  readonly policy: string;
  /** Take one token at `now` (ms). Answers the whole tokens left, or minus the seconds to wait when there was none. */
  take(key: string, now: number): number;
  /** Seconds until a token is there, 0 when one is; takes nothing. */
  wait(key: string, now: number): number;
  /** `RateLimit` of a key that has `remaining` whole tokens. */
  describe(remaining: number): string;
  /** How often a token was asked for and there was none, since the start. */
  refusals(): number;
}

interface Bucket {
  tokens: number;
  at: number;
}

/** Keys are forgotten, least recently used first, beyond this number; a forgotten key starts with a full bucket. */
const maxKeys = 50_000;

/**
 * @param name the limit's name in the headers
 * @param liveNodes how many processes divide the limit among them now; headers tell of the share of this one, as more is not answered here
 */
export function createRateLimiter(name: string, { count: whole, seconds }: RateLimit, liveNodes = (): number => 1): RateLimiter {
  // Counted by size: with `max` the cache would reserve room for all of them at once, a megabyte a limit.
  const buckets = new LRUCache<string, Bucket>({ maxSize: maxKeys, sizeCalculation: () => 1 });
  let share = { nodes: 0, count: 0, policy: "" };
  const shareNow = (): typeof share => {
    const nodes = liveNodes();
    if (nodes === share.nodes) return share;
    const count = Math.ceil(whole / nodes);
    return (share = { nodes, count, policy: `"${name}";q=${count};w=${seconds}` });
  };
  const refilledIn = (tokens: number): number => (tokens * seconds) / shareNow().count;
  let refusals = 0;

  function refill(key: string, now: number): Bucket | undefined {
    const bucket = buckets.get(key);
    if (bucket === undefined) return undefined;
    const { count } = shareNow();
    bucket.tokens = Math.min(count, bucket.tokens + (Math.max(0, now - bucket.at) * count) / (seconds * 1000));
    bucket.at = now;
    return bucket;
  }
  const secondsUntil = (tokens: number): number => Math.max(1, Math.ceil(refilledIn(1 - tokens)));

  return {
    get policy() {
      return shareNow().policy;
    },
    take(key, now) {
      let bucket = refill(key, now);
      if (bucket === undefined) buckets.set(key, (bucket = { tokens: shareNow().count, at: now }));
      if (bucket.tokens < 1) {
        refusals += 1;
        return -secondsUntil(bucket.tokens);
      }
      bucket.tokens -= 1;
      return Math.floor(bucket.tokens);
    },
    wait(key, now) {
      const bucket = buckets.size === 0 ? undefined : refill(key, now);
      return bucket === undefined || bucket.tokens >= 1 ? 0 : secondsUntil(bucket.tokens);
    },
    refusals: () => refusals,
    describe: (remaining) => `"${name}";r=${remaining};t=${Math.ceil(refilledIn(shareNow().count - remaining))}`,
  };
}

/** One limiter for each class of `RATE_LIMITS`, shared by every transport. */
export type RateLimiters = Readonly<Record<keyof RateLimits, RateLimiter>>;

/** @param liveNodes how many processes divide the limits among them now; attempts to identify are counted together instead */
export function createRateLimiters(limits: RateLimits, liveNodes?: () => number): RateLimiters {
  return {
    read: createRateLimiter("read", limits.read, liveNodes),
    write: createRateLimiter("write", limits.write, liveNodes),
    authorize: createRateLimiter("authorize", limits.authorize, liveNodes),
    export: createRateLimiter("export", limits.export, liveNodes),
    failed_auth: createRateLimiter("failed_auth", limits.failed_auth),
  };
}

/** The limit that asking a route counts against. */
export function limitOf({ limit, method }: RouteSpec): LimitClass {
  return limit ?? (method === "get" ? "read" : "write");
}

/**
 * The budget that a call takes its token from: of an export of one's own data the one of that person, whatever they ask with; else the one
 * of the key and the acting user together.
 */
export function budgetOf(
  { limit, access }: RouteSpec,
  { clientId, actorId }: { clientId: string; actorId: string | undefined },
  params: PathParams,
): string {
  const owner = limit === "export" && "permission" in access && access.own !== undefined ? params[access.own] : undefined;
  return actorId !== undefined && actorId === owner ? ownExportBudget(actorId) : `${clientId}:${actorId ?? ""}`;
}

/** The budget of a person's exports of their own data. */
export const ownExportBudget = (userId: string): string => `person:${userId}`;

/** The budget of what is asked about one subject, however many ask. */
export const subjectBudget = (subject: string): string => `subject:${subject}`;

/**
 * Take a token.
 * @param note gets the whole tokens left, before a refusal as well
 * @throws ProblemError rate_limited, with the seconds to wait
 */
export function spend(limiter: RateLimiter, budget: string, now: number, note?: (left: number) => void): void {
  const left = limiter.take(budget, now);
  note?.(Math.max(0, left));
  if (left < 0) throw new ProblemError("rate_limited", { retryAfter: -left });
}
