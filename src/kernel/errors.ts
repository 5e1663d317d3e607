import { say, worded } from "../kit/say.ts";
/**
 * The closed registry of problem codes (RFC 9457). The OpenAPI document, the problem pages and every transport are made from it.
 * A code is never renamed; `retryable` tells a client whether the same request may succeed later.
 */
export const problems = {
  malformed_request: { status: 400, title: "The request could not be parsed" },
  unknown_parameter: { status: 400, title: "The request has an unknown query parameter" },
  invalid_cursor: { status: 400, title: "The cursor is not one of this list" },
  unsupported_version: { status: 400, title: "This API version is not offered" },
  invalid_credentials: { status: 401, title: "The credentials are missing or not valid" },
  credential_expired: { status: 401, title: "The API key has expired" },
  credential_revoked: { status: 401, title: "The API key has been revoked" },
  assertion_invalid: { status: 401, title: "The acting-user assertion is not valid" },
  assertion_replayed: { status: 401, title: "The acting-user assertion was used before" },
  permission_denied: { status: 403, title: "A needed permission is missing" },
  acting_user_required: { status: 403, title: "A write needs an acting user" },
  acting_user_not_staff: { status: 403, title: "The acting user is not staff here" },
  cannot_grant_unheld: { status: 403, title: "Nobody grants what they do not hold" },
  hierarchy_violation: { status: 403, title: "The target is of equal or higher rank" },
  conflict_of_interest: { status: 403, title: "A conflict-of-interest rule forbids this" },
  last_owner: { status: 403, title: "The last owner must stay" },
  route_not_found: { status: 404, title: "There is no such route" },
  record_not_found: { status: 404, title: "There is no such record" },
  method_not_allowed: { status: 405, title: "The route does not know this method" },
  not_acceptable: { status: 406, title: "None of the accepted media types can be produced" },
  request_timeout: { status: 408, title: "The request took too long to arrive", retryable: true },
  duplicate_active_record: { status: 409, title: "There is an active record already" },
  duplicate_open: { status: 409, title: "There is an open request about this already" },
  already_decided: { status: 409, title: "The request has been decided" },
  invalid_transition: { status: 409, title: "The present state does not allow this" },
  discord_would_refuse: { status: 409, title: "Discord would refuse this" },
  idempotency_in_progress: { status: 409, title: "The first request with this key is still running", retryable: true },
  sync_in_progress: { status: 409, title: "A synchronisation is already running", retryable: true },
  pool_exhausted: { status: 409, title: "The pool has no free number" },
  authorization_required: { status: 409, title: "The user has not granted access" },
  too_many_open_sessions: { status: 409, title: "The user has too many open sessions" },
  precondition_failed: { status: 412, title: "The record has changed since it was read" },
  body_too_large: { status: 413, title: "The request body is too large" },
  unsupported_media_type: { status: 415, title: "The media type of the body is not supported" },
  validation_failed: { status: 422, title: "Request validation failed" },
  idempotency_key_reused: { status: 422, title: "The idempotency key was used with another body" },
  member_not_in_guild: { status: 422, title: "The user is not a member of the guild" },
  precondition_required: { status: 428, title: "The request must be conditional" },
  rate_limited: { status: 429, title: "Too many requests", retryable: true },
  refresh_cooldown: { status: 429, title: "The user was refreshed a short while ago", retryable: true },
  cooldown: { status: 429, title: "A cool-down is running", retryable: true },
  headers_too_large: { status: 431, title: "The request headers are too large" },
  internal_error: { status: 500, title: "Something went wrong here" },
  unsupported_operation: { status: 501, title: "This operation is not offered here" },
  discord_error: { status: 502, title: "Discord answered with an error", retryable: true },
  storage_busy: { status: 503, title: "The storage is busy", retryable: true },
  storage_full: { status: 503, title: "The storage is full", retryable: true },
  storage_readonly: { status: 503, title: "The storage cannot be written", retryable: true },
  roster_stale: { status: 503, title: "The guild state is too old for this", retryable: true },
  discord_unavailable: { status: 503, title: "Discord cannot be reached", retryable: true },
  shutting_down: { status: 503, title: "The service is shutting down", retryable: true },
  overloaded: { status: 503, title: "The service is overloaded", retryable: true },
  timeout: { status: 504, title: "The request took too long", retryable: true },
} as const satisfies Record<string, { status: number; title: string; retryable?: boolean }>;

export type ProblemCode = keyof typeof problems;

export function isProblemCode(text: string): text is ProblemCode {
  return Object.hasOwn(problems, text);
}

/** Where one wrong part of a request is. `pointer` is an RFC 6901 pointer inside `in`. */
export interface FieldError {
  pointer: string;
  in: "body" | "path" | "query" | "header";
  code: string;
  detail: string;
}

interface ProblemOptions {
  /** One sentence for people; never holds another person's data. */
  detail?: string;
  errors?: readonly FieldError[];
  /** Members added to the problem document, such as `required` or `current_etag`. */
  extra?: Readonly<Record<string, unknown>>;
  /** Seconds, sent as `Retry-After`. */
  retryAfter?: number;
  cause?: unknown;
}

/** A refusal of the closed registry; each transport translates it once. */
export class ProblemError extends Error {
  override name = "ProblemError";
  readonly code: ProblemCode;
  readonly detail: string | undefined;
  readonly errors: readonly FieldError[] | undefined;
  readonly extra: Readonly<Record<string, unknown>> | undefined;
  readonly retryAfter: number | undefined;

  constructor(code: ProblemCode, options: ProblemOptions = {}) {
    super(worded(options.detail ?? problems[code].title), options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.detail = options.detail;
    this.errors = options.errors;
    this.extra = options.extra;
    this.retryAfter = options.retryAfter;
  }

  /** What it says, for whoever keeps it or hands it on: worded for its reader, where the message is English. */
  get said(): string {
    return this.detail ?? problems[this.code].title;
  }

  /** The HTTP status of the code. */
  get status(): number {
    return problems[this.code].status;
  }
}

/** A record that does not exist and one the caller may not see answer with the same problem. */
export function recordNotFound(): ProblemError {
  return new ProblemError("record_not_found");
}

/** What a refusal says that is about nothing but a missing permission. */
export function lackText(required: string, missingIn: "key" | "acting_user"): string {
  return say(missingIn === "key" ? "kernel.key-lacks" : "kernel.actor-lacks", { required });
}

/** More wrong fields than this are not listed. */
const maxFieldErrors = 100;

/** A 422 naming every wrong field at once. */
export function validationProblem(errors: readonly FieldError[]): ProblemError {
  const detail = errors.length === 1 ? say("kernel.1-field-is-wrong") : say("kernel.fields-are-wrong", { count: errors.length });
  return new ProblemError("validation_failed", { detail, errors: errors.slice(0, maxFieldErrors) });
}

/** A 422 for one field; `pointer` starts with `/`. */
export function fieldError(pointer: string, code: string, detail: string, where: FieldError["in"] = "body"): ProblemError {
  return validationProblem([{ pointer, in: where, code, detail }]);
}
