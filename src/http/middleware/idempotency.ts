import { hash } from "node:crypto";
import { ProblemError } from "../../kernel/errors.ts";
import type { Body } from "../request/body-stream.ts";
import type { Caller } from "../../operations/caller.ts";
import { header, type RequestInfo } from "../context.ts";

/** Runs a write under its idempotency key; storing the answer is the database's matter. */
export interface IdempotencyKeys {
  /** @throws ProblemError idempotency_in_progress when a request of the same scope is still running */
  run<T>(request: RequestInfo, caller: Caller, body: Pick<Body, "fingerprint">, status: number, effect: () => Promise<T>): Promise<T>;
}

export function createIdempotencyKeys(): IdempotencyKeys {
  const running = new Set<string>();
  return {
    async run(request, caller, body, status, effect) {
      const key = header(request, "idempotency-key");
      if (key === undefined) return effect();
      const { call, client } = caller;
      const scope = hash("sha256", [client.id, call.actor?.id ?? "", request.method, request.path, key].join("\n"));
      if (running.has(scope)) throw new ProblemError("idempotency_in_progress", { retryAfter: 1 });
      call.idempotency = { scope, fingerprint: fingerprintOf(request, body), status };
      running.add(scope);
      try {
        return await effect();
      } finally {
        running.delete(scope);
      }
    },
  };
}

/** What is asked for: the body, and the query where there is one. The same lines imported in another mode are another request. */
function fingerprintOf({ search }: RequestInfo, body: Pick<Body, "fingerprint">): string {
  return search === "" ? body.fingerprint() : hash("sha256", [search, body.fingerprint()].join("\n"));
}
