import type { components } from "../src/generated/api.ts";

type Problem = components["schemas"]["Problem"];

/** Every code of a refusal; a code is never renamed. `unreadable_answer` is none of the service's: something between here and there answered. */
export type ProblemCode = Problem["code"] | "unreadable_answer";

/** One wrong part of a request: `pointer` is an RFC 6901 pointer inside `in`. */
export type FieldError = components["schemas"]["FieldError"];

/** What the service refused, and why. Go by `code`; the message is for people. */
export class ProvostError extends Error {
  override name = "ProvostError";
  readonly status: number;
  readonly code: ProblemCode;
  /** Every wrong part of the request, empty where nothing in it was wrong. */
  readonly errors: readonly FieldError[];
  /** Names the request in the log of the service. */
  readonly requestId: string | undefined;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** Seconds to wait before that. */
  readonly retryAfter: number | undefined;
  /** The whole problem document: some codes have further members, such as `required` or `current_etag`. */
  readonly problem: Readonly<Record<string, unknown>>;

  /** @param body the text of the answer */
  constructor({ status, headers }: Pick<Response, "status" | "headers">, body: string) {
    const problem = parseProblem(body);
    super(problem?.detail ?? `The answer ${status.toString()} is not one of the service: ${body.slice(0, 200)}`);
    this.status = status;
    this.code = problem?.code ?? "unreadable_answer";
    this.errors = problem?.errors ?? [];
    this.requestId = problem?.request_id ?? headers.get("x-request-id") ?? undefined;
    this.retryable = problem?.retryable ?? false;
    this.retryAfter = secondsOf(headers.get("retry-after"));
    this.problem = { ...problem };
  }
}

function parseProblem(body: string): Problem | undefined {
  try {
    const parsed = JSON.parse(body) as Problem | null;
    return typeof parsed?.code === "string" ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** @param header `Retry-After`; the service sends seconds, what stands before it may send a date */
export function secondsOf(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
