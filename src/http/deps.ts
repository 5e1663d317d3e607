import type { Authenticate } from "../operations/caller.ts";
import type { KnownPermissions } from "../operations/answer-check.ts";
import type { HttpContext } from "./context.ts";
import type { Semaphore } from "../kernel/semaphore.ts";
import type { IdempotencyKeys } from "./middleware/idempotency.ts";
import type { RateLimiters } from "../operations/rate-limit.ts";

/** What the middlewares and handlers of all routes share. */
export interface HttpDeps {
  authenticate: Authenticate;
  limiters: RateLimiters;
  /** Bounds the requests in work, so that a flood ends in quick refusals instead of memory and time-outs. */
  gate: Semaphore;
  idempotency: IdempotencyKeys;
  known: KnownPermissions;
  /** The reason why a capability is switched off, or undefined while it is on. */
  switchedOff: (capability: string) => string | undefined;
  isShuttingDown: (c: HttpContext) => boolean;
  requireIfMatch: boolean;
}
