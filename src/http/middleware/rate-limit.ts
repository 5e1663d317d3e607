import { type RateLimiter, spend } from "../../operations/rate-limit.ts";
import type { RequestInfo } from "../context.ts";

/**
 * Take a token and say so in the headers of the answer.
 * @throws ProblemError rate_limited
 */
export function takeToken(limiter: RateLimiter, budget: string, request: RequestInfo): void {
  spend(limiter, budget, request.now, (left) => noteLimit(limiter, left, request));
}

export function noteLimit(limiter: RateLimiter, remaining: number, { responseHeaders }: RequestInfo): void {
  responseHeaders["ratelimit-policy"] = limiter.policy;
  responseHeaders["ratelimit"] = limiter.describe(remaining);
}
