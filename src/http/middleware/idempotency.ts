import { hash } from "node:crypto";
import type { Claims } from "../../cluster/claims.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { keyedHash } from "../../kernel/secrets.ts";
import type { Body } from "../request/body-stream.ts";
import type { Caller } from "../../operations/caller.ts";
import { header, type RequestInfo } from "../context.ts";

/** Runs a write under its idempotency key; storing the answer is the database's matter. */
export interface IdempotencyKeys {
  /** @throws ProblemError idempotency_in_progress when a request of the same scope is still running */
  run<T>(request: RequestInfo, caller: Caller, body: Pick<Body, "fingerprint">, status: number, effect: () => Promise<T>): Promise<T>;
}

/**
 * @param key of the fingerprints: they are stored, and a plain hash of a short body would tell the body to anybody who guesses it
 * @param claims where other processes are asked, too
 */
export function createIdempotencyKeys(key: Buffer, claims?: Pick<Claims, "hold">): IdempotencyKeys {
  const running = new Set<string>();
  const inProgress = () => new ProblemError("idempotency_in_progress", { retryAfter: 1 });

  /** Claims a scope when it is first asked to. What a transaction does once needs none: it is kept with its answer. */
  function createHold(scope: string, { hold }: Pick<Claims, "hold">) {
    let held: ReturnType<Claims["hold"]> | undefined;
    return {
      async alone(): Promise<void> {
        held ??= hold(`idempotency ${scope}`);
        if ((await held) === undefined) throw inProgress();
      },
      end: async (): Promise<void> => (await held)?.(),
    };
  }

  return {
    async run(request, caller, body, status, effect) {
      const given = header(request, "idempotency-key");
      if (given === undefined) return effect();
      const { call, client } = caller;
      const scope = hash("sha256", [client.id, call.actor?.id ?? "", request.method, request.path, given].join("\n"));
      if (running.has(scope)) throw inProgress();
      const hold = claims && createHold(scope, claims);
      call.idempotency = { scope, fingerprint: keyedHash(key, requested(request, body)), status, ...(hold && { alone: hold.alone }) };
      running.add(scope);
      try {
        return await effect();
      } finally {
        running.delete(scope);
        if (hold !== undefined) void hold.end().catch(() => undefined);
      }
    },
  };
}

/** What is asked for: the body, and the query where there is one. The same lines imported in another mode are another request. */
function requested({ search }: RequestInfo, body: Pick<Body, "fingerprint">): string {
  return [search, body.fingerprint()].join("\n");
}
