import type { NoteDenied } from "../kernel/denied.ts";
import type { Exchange, Reply } from "./exchange.ts";
import type { IdempotencyKeys } from "./idempotency.ts";
import type { Authenticate } from "./caller.ts";
import type { Gate } from "./gate.ts";
import type { Refusals } from "./problem.ts";
import type { RateLimiter, RateLimits } from "./rate-limit.ts";

export type PathParams = Readonly<Record<string, string>>;

/** One method and path, ready to serve. */
export interface Door {
  /** Upper case, as on the wire. */
  method: string;
  /** With `{param}` placeholders. */
  path: string;
  operationId: string;
  isPage: boolean;
  /** Never throws or rejects: a refusal is a reply. Answers at once only when refused early. */
  serve(exchange: Exchange, params: PathParams): Reply | Promise<Reply>;
}

/** What every door shares. */
export interface DoorGround {
  authenticate: Authenticate;
  limiters: Record<keyof RateLimits, RateLimiter>;
  gate: Gate;
  idempotency: IdempotencyKeys;
  refuse: Refusals;
  /** The reason why a capability is switched off, or undefined while it is on. */
  switchedOff: (capability: string) => string | undefined;
  /** Told about every refusal of a known caller for lack of rights. */
  noteDenied?: NoteDenied;
  /** Every permission of the catalog. */
  knownPermissions: ReadonlySet<string>;
  isShuttingDown: () => boolean;
  requireIfMatch: boolean;
  /** Whether answers are checked against their schemas, which costs more than making them: for tests. */
  validateAnswers: boolean;
}
