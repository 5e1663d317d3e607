import { inJson } from "../kit/say.ts";
import { ZodError } from "zod";
import { ProblemError, problems, validationProblem } from "../kernel/errors.ts";
import { redact } from "../kernel/secrets.ts";
import { fieldErrors } from "../kernel/validation.ts";
import type { Reply, RequestInfo } from "./context.ts";

/** Seconds to wait where a refusal that may pass names none. */
const defaultRetryAfter = 5;

/**
 * A refusal as a problem document (RFC 9457).
 * @param unsupportedStatus sent for unsupported_operation; the code stays
 */
export function problemReply(request: RequestInfo, problem: ProblemError, unsupportedStatus: 501 | 404): Reply {
  request.problem = problem.code;
  const status = problem.code === "unsupported_operation" ? unsupportedStatus : problem.status;
  const body = redact(inJson(problemDocument(problem, status, request.path, request.requestId)));
  return { status, type: "application/problem+json", body, headers: refusalHeaders(problem, status) };
}

/** The problem a thrown value stands for: itself, or 422 for a schema's refusal; undefined for anything unexpected. */
export function toProblem(error: unknown): ProblemError | undefined {
  if (error instanceof ProblemError) return error;
  if (error instanceof ZodError) return validationProblem(fieldErrors(error.issues, "body"));
  return undefined;
}

/** What Hono takes for an error: of what a schema says without throwing, ZodError is none. */
export function asError(error: unknown): Error {
  return toProblem(error) ?? (error instanceof Error ? error : new Error("what was thrown is no error", { cause: error }));
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

/** The headers of a refusal, in whatever form it is answered. */
export function refusalHeaders(problem: ProblemError, status: number): Record<string, string> {
  const retryAfter = problem.retryAfter ?? (status === 429 || status === 503 ? defaultRetryAfter : undefined);
  return {
    "cache-control": "no-store",
    ...(status === 401 && { "www-authenticate": "Bearer" }),
    ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
    ...(problem.code === "method_not_allowed" && { allow: String(problem.extra?.["allow"]) }),
  };
}
