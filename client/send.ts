import { secondsOf } from "./problem.ts";

export interface Retries {
  /** How often one call is sent at most. */
  attempts: number;
  /** Seconds that one call may wait altogether; a longer `Retry-After` is for the caller to wait for. */
  maxWaitSeconds: number;
}

/** What sends a single request: the global `fetch`, or what stands in for it. */
export type Fetch = (url: URL, init: RequestInit) => Promise<Response>;

/** Headers that say for whom a request is made, made anew for each time it is sent. */
export type Sign = (asked: { method: string; url: URL; body: Uint8Array<ArrayBuffer> | undefined }) => Promise<Record<string, string>>;

const reads = new Set(["GET", "HEAD"]);
/** Seconds to wait after a lost connection, doubled each time. */
const firstWait = 0.25;

/**
 * Sends requests so that one that is repeated has one effect: a write has one idempotency key for all of its attempts. It is repeated when the
 * connection was lost, and when the answer says after which time the same request may succeed.
 * @param options.fetch sends each of them
 * @returns for openapi-fetch
 */
export function createSend({
  sign,
  retries,
  fetch,
}: {
  sign: Sign;
  retries: Retries;
  fetch: Fetch;
}): (request: Request) => Promise<Response> {
  return async (request) => {
    const { method, signal } = request;
    const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer());
    const headers = new Headers(request.headers);
    if (!reads.has(method) && !headers.has("idempotency-key")) headers.set("idempotency-key", crypto.randomUUID());
    const url = new URL(request.url);
    let waited = 0;
    for (let attempt = 1; ; attempt++) {
      for (const [name, value] of Object.entries(await sign({ method, url, body }))) headers.set(name, value);
      const outcome = await attemptOf(fetch, url, { method, headers, signal, ...(body !== undefined && { body }) });
      const wait = "lost" in outcome ? firstWait * 2 ** (attempt - 1) : waitAfter(outcome.response);
      if (wait === undefined || attempt >= retries.attempts || waited + wait > retries.maxWaitSeconds) {
        if ("lost" in outcome) throw outcome.lost;
        return outcome.response;
      }
      if ("response" in outcome) await outcome.response.body?.cancel();
      await pause(wait * 1000, signal);
      waited += wait;
    }
  };
}

async function attemptOf(fetch: Fetch, url: URL, init: RequestInit): Promise<{ response: Response } | { lost: unknown }> {
  try {
    const response = await fetch(url, init);
    if (response.headers.get("content-type")?.startsWith("text/event-stream") === true) return { response };
    // Read here, so that an answer that breaks off counts as a lost connection.
    const { status, statusText, headers } = response;
    const text = response.body === null ? null : await response.arrayBuffer();
    return { response: new Response(text, { status, statusText, headers }) };
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    return { lost: error };
  }
}

/** Seconds after which the same request may succeed; undefined where it is of no use. 409 is a first request that still runs. */
function waitAfter({ status, headers }: Response): number | undefined {
  return [409, 429, 503].includes(status) ? secondsOf(headers.get("retry-after")) : undefined;
}

/** Wait, or reject with the reason of the signal as soon as it says so. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const end = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", end);
      resolve();
    }, ms);
    signal.addEventListener("abort", end, { once: true });
  });
}
