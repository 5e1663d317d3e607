import { inWords } from "../../kit/say.ts";
import { createRoute, OpenAPIHono, type RouteConfig } from "@hono/zod-openapi";
import { z } from "zod";
import { headerParameters, registerComponents, headerRef } from "./components.ts";
import type { HtmlPage } from "../pages/page.ts";
import { type RouteSpec, type UploadSpec, isConditionalRead, mediaTypesOf, isLimited } from "../../operations/route.ts";
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
function successResponses(spec: RouteSpec) {
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
function refusalResponses(spec: RouteSpec, unsupportedStatus: 501 | 404) {
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
function baselineCodes(spec: RouteSpec): ProblemCode[] {
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

interface Parameter {
  $ref?: string;
  name?: string;
  schema?: Record<string, unknown>;
  description?: unknown;
  example?: unknown;
  required?: boolean;
}
interface Operation {
  parameters?: Parameter[];
  responses: Record<string, object>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { parameters: Record<string, object>; responses?: Record<string, object> };
}

/** Say once, as a component, what several operations say alike: parameters, refusals, and that nothing changed. Changes the document. */
function shareRepeated({ paths, components }: Document): void {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  for (const { parameters = [] } of operations) for (const parameter of parameters) sayOnce(parameter);
  const parameters = createSharing("parameters", components.parameters);
  const responses = createSharing("responses", (components.responses ??= {}));
  for (const operation of operations) {
    for (const parameter of operation.parameters ?? []) parameters.note(parameter);
    for (const response of Object.values(operation.responses)) responses.note(response);
  }
  for (const operation of operations) {
    const given = operation.parameters?.map((parameter) => parameters.refer(parameter, pascal(parameter.name ?? "")));
    if (given !== undefined) operation.parameters = given;
    for (const [status, response] of Object.entries(operation.responses)) operation.responses[status] = responses.refer(response, status);
  }
}

/** What the generator says of a parameter and again of its schema. */
function sayOnce(parameter: Parameter): void {
  if (parameter.schema === undefined || "$ref" in parameter.schema) return;
  const { description, example, ...schema } = parameter.schema;
  parameter.schema = schema;
  if (description !== undefined) parameter.description ??= description;
  if (example !== undefined) parameter.example ??= example;
  if (parameter.required === false) delete parameter.required;
}

function createSharing(place: string, components: Record<string, object>) {
  const uses = new Map<string, { count: number; name?: string }>();
  return {
    note(node: object): void {
      const text = JSON.stringify(node);
      uses.set(text, { count: (uses.get(text)?.count ?? 0) + 1 });
    },
    /** @returns the node itself when it is the only one of its kind */
    refer<T extends object>(node: T, name: string): T | { $ref: string } {
      const use = uses.get(JSON.stringify(node));
      if (use === undefined || use.count < 2 || "$ref" in node) return node;
      use.name ??= add(name, node);
      return { $ref: `#/components/${place}/${use.name}` };
    },
  };

  function add(wanted: string, node: object): string {
    let free = wanted;
    for (let number = 2; free in components; number += 1) free = `${wanted}.${number.toString()}`;
    components[free] = node;
    return free;
  }
}

function pascal(text: string): string {
  return text.replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
}

type Node = Record<string, unknown>;

/**
 * The document with two things said in a way that its readers understand: "this component or null" as a choice, which the generator spells as
 * a conjunction of the component and a type list that holds null, which no null satisfies; and the default of an object with what its fields
 * have by default, of which the generator says `{}`.
 */
function respell<T>(node: T): T {
  if (Array.isArray(node)) return node.map((inner: unknown) => respell(inner)) as T;
  if (typeof node !== "object" || node === null) return node;
  const inner = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, respell<unknown>(value)]));
  return withWholeDefault(asChoice(inner)) as T;
}

function withWholeDefault(node: Node): Node {
  const { default: given, properties } = node;
  if (!isNode(given) || !isNode(properties)) return node;
  const fields = Object.entries(properties).flatMap(([name, field]) =>
    isNode(field) && "default" in field ? [[name, field["default"]]] : [],
  );
  return { ...node, default: { ...(Object.fromEntries(fields) as Node), ...given } };
}

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && !Array.isArray(value);

function asChoice({ allOf, ...rest }: Node): Node {
  if (allOf === undefined) return rest;
  const [component, more, ...others] = allOf as (Node | undefined)[];
  const types = more?.["type"];
  if (component?.["$ref"] === undefined || others.length > 0 || !Array.isArray(types) || !types.includes("null")) return { allOf, ...rest };
  const { type: _, ...notes } = more ?? {};
  return { ...rest, ...notes, anyOf: [component, { type: "null" }] };
}

export interface DocumentInfo {
  title: string;
  version: string;
  description?: string;
  contact?: { name?: string; url?: string; email?: string };
}

/** What a service answers at: its routes, its pages, and what it answers where something is switched off. */
export interface Described {
  routes: readonly { spec: RouteSpec }[];
  pages: readonly { spec: HtmlPage["spec"] }[];
  unsupportedStatus: 501 | 404;
}

export type OpenApiDocument = Record<string, unknown>;

/**
 * The OpenAPI 3.1 document of routes, and of the pages that belong into it. To make it takes a quarter of a second, in which nothing else is
 * answered, and 30 MB; a build has it ready, and {@link addressed} puts in what differs between installations.
 */
export function createDocument({ routes, pages, unsupportedStatus }: Described): OpenApiDocument {
  const described = new OpenAPIHono();
  const { openAPIRegistry } = described;
  registerComponents(openAPIRegistry);
  for (const { spec } of routes) openAPIRegistry.registerPath(describeRoute(spec, unsupportedStatus));
  for (const { spec } of pages) if (spec.document === true) openAPIRegistry.registerPath(describePage(spec));
  const document = described.getOpenAPI31Document({
    openapi: "3.1.0",
    info: { title: "", version: "" },
    servers: [],
    security: [{ bearer: [] }, { apiKey: [] }],
  });
  const made = inWords(respell(document) as unknown as OpenApiDocument);
  shareRepeated(made as unknown as Parameters<typeof shareRepeated>[0]);
  return made;
}

/** The document of an installation. */
export function addressed(document: OpenApiDocument, info: DocumentInfo, address: string): OpenApiDocument {
  const license = { name: "MIT", url: "https://opensource.org/license/mit" };
  return { ...document, info: { ...info, license }, servers: [{ url: address }] };
}

/** @param unsupportedStatus what switched-off routes answer in this installation */
function describeRoute(spec: RouteSpec, unsupportedStatus: 501 | 404): RouteConfig {
  const isPublic = "public" in spec.access;
  return createRoute({
    method: spec.method,
    path: spec.path,
    operationId: spec.operationId,
    tags: spec.tags,
    summary: spec.summary,
    ...(spec.description !== undefined && { description: spec.description }),
    ...securityOf(spec),
    ...("permission" in spec.access && { "x-permission": spec.access.permission }),
    ...("permission" in spec.access && spec.access.either !== undefined && { "x-or-permission": spec.access.either }),
    ...("permission" in spec.access && spec.access.personal === true && { "x-own-matters": true }),
    ...("permission" in spec.access && spec.access.also !== undefined && { "x-also-permission": spec.access.also }),
    ...("permission" in spec.access && spec.access.own !== undefined && { "x-own-data-of": spec.access.own }),
    ...(spec.capability !== undefined && { "x-capability": spec.capability }),
    parameters: headerParameters(spec, isPublic),
    request: requestOf(spec),
    responses: { ...successResponses(spec), ...refusalResponses(spec, unsupportedStatus) },
  });
}

function securityOf({ access }: RouteSpec) {
  if (!("public" in access)) return {};
  return { security: access.credentials === "optional" ? [{}, { bearer: [] }, { apiKey: [] }] : [] };
}

function requestOf(spec: RouteSpec) {
  const { query, body, bodyOptional, example, textBody, upload } = spec.request ?? {};
  const params = spec.request?.params ?? pathTexts(spec.path);
  return {
    ...(params !== undefined && { params }),
    ...(query !== undefined && { query }),
    ...(body !== undefined && {
      body: {
        required: bodyOptional !== true,
        content: {
          "application/json": { schema: body, ...(example !== undefined && { example }) },
          ...(textBody !== undefined && { [textBody.type]: { schema: { type: "string" as const } } }),
          ...(upload !== undefined && { "multipart/form-data": { schema: multipart(upload) } }),
        },
      },
    }),
  };
}

function multipart({ field, fields }: UploadSpec): z.ZodObject {
  return fields.extend({ [field]: z.string().meta({ format: "binary", description: "The file itself" }) });
}

function pathTexts(path: string): z.ZodObject | undefined {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? "");
  return names.length === 0 ? undefined : z.object(Object.fromEntries(names.map((name) => [name, z.string()])));
}

function describePage(spec: HtmlPage["spec"]): RouteConfig {
  const params = spec.request?.params ?? pathTexts(spec.path);
  const html = (description: string) => ({ description, content: { "text/html": { schema: { type: "string" as const } } } });
  return createRoute({
    method: spec.method,
    path: spec.path,
    operationId: spec.operationId,
    tags: spec.tags ?? [],
    summary: spec.summary,
    security: [],
    request: { ...(params !== undefined && { params }), ...(spec.request?.query !== undefined && { query: spec.request.query }) },
    responses: {
      200: html("The page"),
      404: html("There is no such page"),
      429: html("Too many requests"),
      503: html("Not at the moment"),
    },
  });
}
