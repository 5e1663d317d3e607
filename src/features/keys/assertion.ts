import { hash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { compactVerify } from "jose";
import { z } from "zod";
import type { Claims } from "../../cluster/claims.ts";
import type { Credentials } from "../../operations/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { checkClaims, invalid, skew, wrong } from "./claims.ts";
import type { VerifiedKey } from "./store.ts";

const capacity = 100_000;
/** Three parts in base64url; the signature is 64 bytes. */
const form = /^[\w-]{1,1000}\.[\w-]{1,4000}\.[\w-]{86}$/;
const hashOfNothing = hash("sha256", "", "base64url");

export type VerifyAssertion = ReturnType<typeof createAssertions>;

/**
 * Verifies assertions of acting users. What was used is remembered in this process, from its making on, and as claims where there are others:
 * those also outlive a restart.
 * @param options.audience the instance id assertions have to be made for
 * @param options.claims where other processes answer for the same database
 * @returns `(key, credentials)`: somebody's word, proved: whom a request acts for, and what its body has to be. @throws ProblemError
 * assertion_invalid, assertion_replayed
 */
export function createAssertions({ audience, clock, claims: shared }: { audience: string; clock: Clock; claims?: Claims | undefined }) {
  const seconds = (): number => clock.now().getTime() / 1000;
  const startedAt = shared === undefined ? seconds() : 0;
  const used = createReplayMemory({ capacity, now: () => clock.now().getTime() });

  return async (key: VerifiedKey, credentials: Credentials) => {
    const payload = await open(credentials.assertion, key);
    const ground = { key, credentials, audience, now: seconds(), startedAt };
    const claims = checkClaims(parseObject(payload), ground);
    const name = `${key.caller.id} ${claims.jti}`;
    if (used.has(name)) throw replayed();
    // An assertion is good from its iat on: were it let in earlier, a restart right after could let it in again.
    if (claims.iat > ground.now) await delay((claims.iat - ground.now) * 1000);
    return {
      userId: claims.sub,
      /** Use it up with the body it was made for. @throws ProblemError assertion_invalid, assertion_replayed, overloaded */
      redeem(bodyHash: string): Promise<void> | undefined {
        if (claims.bod === undefined && bodyHash !== hashOfNothing) throw wrong("bod", "is missing: a request with a body needs it");
        if (claims.bod !== undefined && bodyHash !== claims.bod) throw wrong("bod", "is not the SHA-256 of the body");
        const untilMs = (claims.exp + skew) * 1000;
        used.use(name, untilMs);
        return shared?.take(`assertion ${name}`, new Date(untilMs)).then((isFirst) => {
          if (!isFirst) throw replayed();
        });
      },
    };
  };
}

function replayed(): ProblemError {
  return new ProblemError("assertion_replayed", { detail: "Every request needs an assertion of its own." });
}

/** @throws ProblemError assertion_invalid */
async function open(assertion: string | undefined, { publicKey }: VerifiedKey): Promise<Uint8Array> {
  if (assertion === undefined) throw invalid("This key names an acting user by a signed assertion in X-Acting-Assertion; it is missing.");
  if (publicKey === undefined || !isCanonical(assertion)) throw unsigned();
  try {
    const { payload, protectedHeader } = await compactVerify(assertion, publicKey, { algorithms: ["EdDSA"] });
    if (protectedHeader.crit === undefined) return payload;
  } catch (error) {
    throw unsigned(error);
  }
  throw invalid("The header crit is not understood here.");
}

/** One assertion has one spelling. */
function isCanonical(assertion: string): boolean {
  return form.test(assertion) && assertion.split(".").every((part) => Buffer.from(part, "base64url").toString("base64url") === part);
}

function parseObject(payload: Uint8Array): Record<string, unknown> {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(Buffer.from(payload).toString("utf8")));
  } catch (error) {
    throw invalid("The claims are not a JSON object.", error);
  }
}

function unsigned(cause?: unknown): ProblemError {
  return invalid("It is not a compact JWS with alg EdDSA that the public key of this API key verifies.", cause);
}

const clearedEveryMs = 1000;

/** Remembers what was used until it would be refused anyway. @param now milliseconds since the epoch */
export function createReplayMemory({ capacity, now }: { capacity: number; now: () => number }) {
  const ends = new Map<string, number>();
  let clearedAt = 0;

  function clear(): void {
    clearedAt = now();
    for (const [key, untilMs] of ends) if (untilMs <= clearedAt) ends.delete(key);
  }

  return {
    /** Whether it was used already. */
    has: (key: string): boolean => ends.has(key),
    /**
     * Use it up.
     * @param untilMs from when on it is refused by its age
     * @throws ProblemError assertion_replayed, overloaded when more is remembered than there is room for
     */
    use(key: string, untilMs: number): void {
      if (ends.has(key)) throw replayed();
      if (now() - clearedAt >= clearedEveryMs) clear();
      if (ends.size >= capacity) throw new ProblemError("overloaded", { detail: "Too many assertions are in use.", retryAfter: 5 });
      ends.set(key, untilMs);
    },
  };
}
