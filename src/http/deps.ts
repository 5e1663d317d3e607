import type { Authenticate } from "./caller.ts";
import type { KnownPermissions } from "./boot-check.ts";
import type { HttpContext } from "./context.ts";
import type { Gate } from "./middleware/gate.ts";
import type { IdempotencyKeys } from "./middleware/idempotency.ts";
import type { RateLimiter, RateLimits } from "./middleware/rate-limit.ts";

/** What the middlewares and handlers of all routes share. */
export interface HttpDeps {
  authenticate: Authenticate;
  limiters: Record<keyof RateLimits, RateLimiter>;
  gate: Gate;
  idempotency: IdempotencyKeys;
  known: KnownPermissions;
  /** The reason why a capability is switched off, or undefined while it is on. */
  switchedOff: (capability: string) => string | undefined;
  isShuttingDown: (c: HttpContext) => boolean;
  requireIfMatch: boolean;
  /** Whether answers are checked against their schemas, which costs more than making them: for tests. */
  validateAnswers?: boolean;
}
