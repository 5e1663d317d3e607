import type { Authenticate, Caller, Credentials } from "../../operations/caller.ts";
import type { Actor, Call } from "../../kernel/call.ts";
import { systemClock, type Clock } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import type { VerifyAssertion } from "./assertion.ts";
import { keysPolicy } from "./keys.policy.ts";
import type { KeyStore, VerifiedKey } from "./store.ts";

export interface AuthenticateDeps {
  store: KeyStore;
  access: Pick<AccessDirectory, "actorOf">;
  /** Verifies the assertions of signed keys; without it none is accepted. */
  verifyAssertion?: VerifyAssertion;
  clock?: Clock;
}

/** Tell who calls: the key, and the staff member it acts for. Nothing is awaited when both are in memory and nothing is signed. */
export function createAuthenticate({ store, access, verifyAssertion = refuseAll, clock = systemClock }: AuthenticateDeps): Authenticate {
  return (credentials) => {
    const { presented } = credentials;
    if (presented === undefined) throw refused();
    const known = store.recall(presented);
    if (known === undefined && credentials.isSuspect === true && !store.exists(presented)) throw refused();
    return known === undefined ? verify(presented, credentials) : admit(known, credentials);
  };

  async function verify(presented: string, credentials: Credentials): Promise<Caller> {
    const key = await store.verify(presented);
    if (key === undefined) throw refused();
    return await admit(key, credentials);
  }

  /** @throws ProblemError */
  function admit(key: VerifiedKey, credentials: Credentials): Caller | Promise<Caller> {
    const now = clock.now().getTime();
    if (!key.allowsAddress(credentials.remoteAddress)) throw refused();
    if (key.isRevoked) throw new ProblemError("credential_revoked");
    if (key.expiresAtMs <= now) throw new ProblemError("credential_expired");
    store.noteUse(key, now);
    const { actingUser, assertion } = credentials;
    credentials.onClient?.(key.client.id);
    if ((actingUser !== undefined || assertion !== undefined) && key.delegation !== "none" && !key.client.mayName()) throw silenced();
    if (key.delegation !== "trusted" && (actingUser !== undefined || assertion !== undefined)) return proved(key, credentials);
    if (actingUser === undefined) return callerOf(key, credentials, null);
    const actor = access.actorOf(actingUser);
    return actor instanceof Promise ? actor.then((found) => callerOf(key, credentials, found)) : callerOf(key, credentials, actor);
  }

  /** An acting user whom the key's word alone does not name. @throws ProblemError permission_denied */
  function proved(key: VerifiedKey, credentials: Credentials): Promise<Caller> {
    if (key.delegation === "signed") return signed(key, credentials);
    const extra = { required: "delegation", missing_in: "key" };
    throw new ProblemError("permission_denied", { detail: "This API key may not name an acting user.", extra });
  }

  /** @throws ProblemError assertion_invalid, assertion_replayed */
  async function signed(key: VerifiedKey, credentials: Credentials): Promise<Caller> {
    const { userId, redeem } = await verifyAssertion(key, credentials);
    const caller = callerOf(key, credentials, await access.actorOf(userId));
    return { ...caller, call: { ...caller.call, isSigned: true }, checkBody: redeem };
  }
}

function callerOf(key: VerifiedKey, { requestId }: Credentials, actor: Actor | null): Caller {
  const { client, makers } = key;
  const call: Call = { client, actor, via: "rest", requestId, idempotency: null, replayed: false, ...(makers.length > 0 && { makers }) };
  return { call, client: key.caller };
}

/** Missing, mistyped, unknown, wrong and used from elsewhere look the same. */
function refused(): ProblemError {
  return new ProblemError("invalid_credentials");
}

/** Who made a key could hide behind it, and act in other names, for as long as it works. */
function silenced(): ProblemError {
  return new ProblemError("permission_denied", {
    detail: `This API key names nobody now: somebody who made it does not hold ${keysPolicy.create}. Rotate it or make a new one.`,
    extra: { required: "delegation", missing_in: "key" },
  });
}

function refuseAll(): Promise<never> {
  return Promise.reject(new ProblemError("assertion_invalid", { detail: "Assertions are not accepted here." }));
}
