import { type ProblemCode, problems } from "../../kernel/errors.ts";
import { headerRef } from "./components.ts";
import { isLimited, type RouteSpec } from "../../operations/route.ts";

/** The refusals of a route, one response per status, each with the codes that can occur there. */
export function refusalResponses(spec: RouteSpec, unsupportedStatus: 501 | 404) {
  const codes = [...new Set([...baselineCodes(spec), ...(spec.refusals ?? []).toSorted()])];
  const statusOf = (code: ProblemCode): number => (code === "unsupported_operation" ? unsupportedStatus : problems[code].status);
  const statuses = [...new Set(codes.map(statusOf))].toSorted((a, b) => a - b);
  const open = statuses.filter((status) => !(status in (spec.success.otherStatuses ?? {})));
  return Object.fromEntries(
    open.map((status) => [
      status,
      refusal(
        status,
        codes.filter((code) => statusOf(code) === status),
      ),
    ]),
  );
}

/** The codes the pipeline itself can answer on a route. */
export function baselineCodes(spec: RouteSpec): ProblemCode[] {
  const isPublic = "public" in spec.access;
  const hasCredentials = !isPublic || ("credentials" in spec.access && spec.access.credentials === "optional");
  const isWrite = spec.method !== "get";
  const codes: ProblemCode[] = ["unsupported_version", "not_acceptable", "internal_error"];
  if (isLimited(spec)) codes.push("rate_limited");
  if (spec.probe !== true) codes.push("shutting_down", "overloaded");
  if (hasCredentials)
    codes.push(
      "invalid_credentials",
      "credential_expired",
      "credential_revoked",
      "assertion_invalid",
      "assertion_replayed",
      "permission_denied",
      "rate_limited",
      "validation_failed",
    );
  if (!isPublic) codes.push("permission_denied", "acting_user_not_staff", "discord_unavailable", "storage_busy");
  if (spec.write ?? (isWrite && !isPublic)) codes.push("acting_user_required", "roster_stale");
  if (isWrite) codes.push("malformed_request", "request_timeout", "body_too_large", "unsupported_media_type");
  if (isWrite)
    codes.push(
      "validation_failed",
      "idempotency_in_progress",
      "idempotency_key_reused",
      "storage_full",
      "storage_readonly",
      "storage_busy",
    );
  if (["put", "patch", "delete"].includes(spec.method)) codes.push("precondition_failed", "precondition_required");
  if (spec.success.shape === "list") codes.push("unknown_parameter", "invalid_cursor");
  if (spec.success.shape === "raw") codes.push("unknown_parameter");
  if (spec.request?.params !== undefined || spec.request?.query !== undefined) codes.push("validation_failed");
  if (spec.capability !== undefined) codes.push("unsupported_operation");
  return codes;
}

function refusal(status: number, codes: readonly ProblemCode[]) {
  const schema = {
    allOf: [
      { $ref: "#/components/schemas/Problem" },
      { type: "object" as const, properties: { code: { type: "string" as const, enum: [...codes] } } },
    ],
  };
  const mayPass = status === 429 || status === 503;
  return {
    description: codes.map((code) => `\`${code}\`: ${problems[code].title}`).join(". "),
    headers: {
      "X-Request-Id": headerRef("RequestId"),
      ...(status === 429 && { "RateLimit-Policy": headerRef("RateLimitPolicy"), RateLimit: headerRef("RateLimit") }),
      ...(mayPass && { "Retry-After": headerRef("RetryAfter") }),
    },
    content: { "application/problem+json": { schema } },
  };
}
