import { inWords } from "../../kit/say.ts";
import { createRoute, OpenAPIHono, type RouteConfig } from "@hono/zod-openapi";
import { z } from "zod";
import { headerParameters, registerComponents } from "./components.ts";
import { respell, shareRepeated } from "./share.ts";
import { successResponses, refusalResponses } from "./answers.ts";
import type { HtmlPage } from "../pages/page.ts";
import type { RouteSpec, UploadSpec } from "../../operations/route.ts";

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
