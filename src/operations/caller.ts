import type { Call } from "../kernel/call.ts";

/** The credentials of one request, as presented. */
export interface Credentials {
  /** The text of the API key, from `Authorization: Bearer` or `X-API-Key`. */
  presented: string | undefined;
  /** The address has failed too often: nothing is looked up for it but keys that are known to exist. */
  isSuspect?: boolean;
  /** `X-Acting-User`, known to be a well-formed id. */
  actingUser: string | undefined;
  /** `X-Acting-Assertion`, not yet verified. */
  assertion: string | undefined;
  /** Left out where it is not certain whose it is: a key that is bound to addresses is then refused. */
  remoteAddress?: string;
  requestId: string;
  method: string;
  path: string;
  /** What follows `?`, as sent; empty without a query. */
  search: string;
  /** Told whose key it is, as soon as the key is proved: what follows may still be refused. */
  onClient?: (clientId: string) => void;
}

/** A request's verified caller. */
export interface Caller {
  /** Made for this one request: the pipeline sets its idempotency claim. */
  call: Call;
  client: { id: string; keyId: string; expiresAt: Date };
  /**
   * Called with the base64url SHA-256 of the body once it is read, when the assertion is bound to a body. Answers a promise where other
   * processes have to be asked. @throws ProblemError assertion_invalid, assertion_replayed
   */
  checkBody?: (sha256: string) => void | Promise<void>;
}

/**
 * Verifies credentials. Answers at once where everything is in memory, so that a warm request waits for nothing.
 * @throws ProblemError of status 401 (and 403 for an acting user the key may not name)
 */
export type Authenticate = (credentials: Credentials) => Caller | Promise<Caller>;
