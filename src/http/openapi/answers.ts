import { z } from "zod";
import { headerRef } from "./components.ts";
import { isConditionalRead, mediaTypesOf, isLimited, type RouteSpec } from "../../operations/route.ts";
import { type ProblemCode, problems } from "../../kernel/errors.ts";

const PageInfo = z
  .object({ limit: z.int(), next_cursor: z.string().nullable(), has_more: z.boolean(), total: z.int().optional() })
  .meta({ id: "PageInfo", description: "Where this page stands; `total` only with `count=true`" });

const ListMeta = z
  .object({ as_of: z.iso.datetime().nullable(), stale: z.boolean() })
  .meta({ id: "ListMeta", description: "How fresh the list is" });

const ConfirmationRequired = z
  .object({
    success: z.literal(true),
    code: z.literal("confirmation_required"),
    data: z.object({
      id: z.string(),
      code: z.string().meta({ description: "What the person types or picks in `/confirm`", example: "K7QM2X" }),
      action: z.string().meta({ example: "permissions.users.update" }),
      summary: z.string().meta({ description: "What it will do, in plain words" }),
      needs: z.array(z.enum(["acting_user", "second_person"])).meta({ description: "Who still has to confirm" }),
      status: z.literal("pending"),
      expires_at: z.iso.datetime(),
      key: z.string().optional().meta({ description: "A new API key, shown only now; it works once the change is confirmed" }),
    }),
  })
  .meta({ id: "ConfirmationRequired", description: "Nothing was changed yet: the change waits for a confirmation in Discord" });

/** The answers of a route that did what was asked. */
export function successResponses(spec: RouteSpec) {
  const { success } = spec;
  const told = { schema: bodySchema(success), ...(success.example !== undefined && { example: bodyExample(success) }) };
  const content = Object.fromEntries(mediaTypesOf(success).map((mediaType) => [mediaType, told]));
  const others = Object.entries(success.otherStatuses ?? {}).map(([status, description]) => [
    status,
    { description, content, headers: headersOf(spec) },
  ]);
  return {
    [success.status]: { description: success.description, content, headers: headersOf(spec) },
    ...Object.fromEntries(others),
    ...(spec.confirmable === true && {
      202: {
        description: "`confirmation_required`: nothing was changed yet. `GET` the address in `Location` to see what became of it",
        content: { "application/json": { schema: ConfirmationRequired } },
        headers: headersOf(spec),
      },
    }),
    ...(isConditionalRead(spec) && { 304: { description: "Nothing changed since the known `ETag`" } }),
  };
}

function bodySchema({ shape, schema, notes }: RouteSpec["success"]): z.ZodType {
  if (shape === "single") return z.object({ success: z.literal(true), data: schema });
  if (shape === "list") return z.object({ success: z.literal(true), data: z.array(schema), page: PageInfo, meta: metaSchema(notes) });
  return schema;
}

function metaSchema(notes: z.ZodObject | undefined): z.ZodType {
  return notes === undefined ? ListMeta : ListMeta.extend(notes.shape);
}

/** The example of a view in the envelope its schema has. */
function bodyExample({ shape, example }: RouteSpec["success"]): unknown {
  if (shape === "single") return { success: true, data: example };
  if (shape !== "list") return example;
  const page = { limit: 50, next_cursor: null, has_more: false };
  return { success: true, data: [example], page, meta: { as_of: "2026-11-20T10:00:00.000Z", stale: false } };
}

function headersOf(spec: RouteSpec) {
  const { method, success } = spec;
  return {
    ...((success.shape === "single" || success.hasEtag === true) && { ETag: headerRef("ETag") }),
    ...(success.shape === "list" && { Link: headerRef("Link") }),
    ...(method !== "get" && { "Idempotency-Replayed": headerRef("IdempotencyReplayed") }),
  };
}

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
