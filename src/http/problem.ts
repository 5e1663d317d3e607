import { ZodError } from "zod";
import { ProblemError, problems, validationProblem } from "../kernel/errors.ts";
import { redact } from "../kernel/redact.ts";
import type { Exchange, Reply } from "./exchange.ts";
import { fieldErrors } from "./validation.ts";

/** Seconds to wait where a refusal that may pass names none. */
const defaultRetryAfter = 5;

/** How a door turns whatever was thrown into a refusal the caller may see. */
export type Refusals = (exchange: Exchange, error: unknown) => Reply;

interface RefusalOptions {
  /** Sent for unsupported_operation; the code stays. */
  unsupportedStatus: 501 | 404;
  /** Told about every error that is not a problem of the registry; its message goes nowhere else. */
  onUnexpected: (error: unknown, requestId: string) => void;
}

/** @returns a function from a thrown value to a problem document (RFC 9457) */
export function createRefusals({ unsupportedStatus, onUnexpected }: RefusalOptions): Refusals {
  return (exchange, error) => {
    const problem = toProblem(error);
    if (problem === undefined) onUnexpected(error, exchange.requestId);
    const shown = problem ?? new ProblemError("internal_error", { detail: "Quote the request id when you report this." });
    exchange.problem = shown.code;
    const status = shown.code === "unsupported_operation" ? unsupportedStatus : shown.status;
    const body = redact(JSON.stringify(problemDocument(shown, status, exchange.path, exchange.requestId)));
    return { status, type: "application/problem+json", body, headers: refusalHeaders(shown, status) };
  };
}

/** The problem a thrown value stands for: itself, or 422 for a schema's refusal; undefined for anything unexpected. */
export function toProblem(error: unknown): ProblemError | undefined {
  if (error instanceof ProblemError) return error;
  if (error instanceof ZodError) return validationProblem(fieldErrors(error.issues, "body"));
  return undefined;
}

/** The members of a problem document. */
export function problemDocument(problem: ProblemError, status: number, instance: string, requestId: string): Record<string, unknown> {
  const entry: { title: string; retryable?: boolean } = problems[problem.code];
  return {
    type: `/problems/${problem.code}`,
    title: entry.title,
    status,
    detail: problem.detail ?? `${entry.title}.`,
    instance,
    success: false,
    code: problem.code,
    request_id: requestId,
    retryable: entry.retryable ?? false,
    ...(problem.errors !== undefined && { errors: problem.errors }),
    ...problem.extra,
  };
}

function refusalHeaders(problem: ProblemError, status: number): string[] {
  const headers = ["Cache-Control", "no-store"];
  if (status === 401) headers.push("WWW-Authenticate", "Bearer");
  const retryAfter = problem.retryAfter ?? (status === 429 || status === 503 ? defaultRetryAfter : undefined);
  if (retryAfter !== undefined) headers.push("Retry-After", String(retryAfter));
  if (problem.code === "method_not_allowed") headers.push("Allow", String(problem.extra?.["allow"]));
  return headers;
}
