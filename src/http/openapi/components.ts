import type { OpenAPIHono } from "@hono/zod-openapi";
import { problems } from "../../kernel/errors.ts";
import { snowflakePattern } from "../../kernel/fields.ts";
import { isConditionalRead, isConditionalWrite, type RouteSpec } from "../../operations/route.ts";

const text = { type: "string" } as const;

/** The schemas, security schemes and header parameters every operation shares. */
export function registerComponents(registry: OpenAPIHono["openAPIRegistry"]): void {
  registry.registerComponent("schemas", "Problem", problemSchema);
  registry.registerComponent("schemas", "FieldError", fieldErrorSchema);
  registry.registerComponent("securitySchemes", "bearer", { type: "http", scheme: "bearer", description: "An API key: `prv_live_…`" });
  registry.registerComponent("securitySchemes", "apiKey", { type: "apiKey", in: "header", name: "X-API-Key" });
  for (const [name, parameter] of Object.entries(parameters))
    registry.registerComponent("parameters", name, { in: "header", ...parameter });
  for (const [name, header] of Object.entries(headers)) registry.registerComponent("headers", name, { schema: text, ...header });
}

const problemSchema = {
  type: "object" as const,
  description: "A refusal (RFC 9457). Some codes add members, such as `required` or `current_etag`.",
  required: ["type", "title", "status", "detail", "instance", "success", "code", "request_id", "retryable"],
  properties: {
    type: { ...text, format: "uri-reference", examples: ["/problems/validation_failed"] },
    title: text,
    status: { type: "integer" as const, minimum: 400, maximum: 599 },
    detail: text,
    instance: text,
    success: { const: false },
    code: { ...text, enum: Object.keys(problems) },
    request_id: text,
    retryable: { type: "boolean" as const, description: "Whether the same request may succeed later" },
    errors: { type: "array" as const, items: { $ref: "#/components/schemas/FieldError" } },
  },
};

const fieldErrorSchema = {
  type: "object" as const,
  required: ["pointer", "in", "code", "detail"],
  properties: {
    pointer: { ...text, description: "An RFC 6901 pointer inside `in`" },
    in: { ...text, enum: ["body", "path", "query", "header"] },
    code: text,
    detail: text,
  },
};

const parameters = {
  ActingUser: {
    name: "X-Acting-User",
    required: false,
    schema: { ...text, pattern: snowflakePattern },
    description: "The Discord user this is done for; needed on every write unless the key holds `system.act`",
  },
  ActingAssertion: {
    name: "X-Acting-Assertion",
    required: false,
    schema: text,
    description: "A compact JWS (EdDSA), for keys whose delegation is signed",
  },
  IdempotencyKey: {
    name: "Idempotency-Key",
    required: false,
    schema: { ...text, minLength: 8, maxLength: 255, pattern: "^[\\x20-\\x7e]+$" },
    description: "The same key with the same body has one effect for 48 hours",
  },
  IfMatch: {
    name: "If-Match",
    required: false,
    schema: text,
    example: '"v7"',
    description:
      "The `ETag` the change is based on: in another revision nothing happens, and the answer is 412, also where nothing would change. `*` stands for whichever there is",
  },
  IfNoneMatch: { name: "If-None-Match", required: false, schema: text, example: '"v7"', description: "The `ETag` that is known already" },
  LastEventId: {
    name: "Last-Event-ID",
    required: false,
    schema: text,
    example: "1041",
    description: "The `id` of the last event a client got before its stream was cut off",
  },
  RequestId: {
    name: "X-Request-Id",
    required: false,
    schema: { ...text, pattern: "^[A-Za-z0-9._-]{8,64}$" },
    description: "Kept and echoed",
  },
};

const headers = {
  RequestId: { description: "Names this request in the log" },
  RateLimitPolicy: { description: 'The limit: `"read";q=600;w=60`' },
  RateLimit: { description: 'What is left of it: `"read";r=599;t=1`' },
  RetryAfter: { description: "Seconds to wait", schema: { type: "integer" as const } },
  ETag: { description: 'The revision of the record: `"v7"`' },
  Link: { description: 'The next page, `rel="next"`' },
  IdempotencyReplayed: { description: "`true` when this is the answer of an earlier request with the same key" },
};

/** A reference to a shared response header. */
export function headerRef(name: keyof typeof headers) {
  return { $ref: `#/components/headers/${name}` };
}

/** The request headers an operation understands. */
export function headerParameters(spec: RouteSpec, isPublic: boolean): { $ref: string }[] {
  const names: (keyof typeof parameters)[] = ["RequestId"];
  if (!isPublic) names.push("ActingUser", "ActingAssertion");
  if (spec.method !== "get") names.push("IdempotencyKey");
  if (isConditionalWrite(spec)) names.push("IfMatch");
  if (isConditionalRead(spec)) names.push("IfNoneMatch");
  if (spec.success.mediaType === "text/event-stream") names.push("LastEventId");
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}
