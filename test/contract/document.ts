import { openApiDocument } from "../../src/app/document.ts";
import { spelledOut } from "../support/openapi.ts";

export type Schema = Record<string, any>;

export interface Operation {
  operationId: string;
  parameters?: { $ref?: string; name?: string; in?: string; schema?: Schema }[];
  requestBody?: { required?: boolean; content: Record<string, { schema: Schema; example?: unknown }> };
  responses: Record<string, { content?: Record<string, { schema: Schema; example?: unknown }> }>;
  "x-permission"?: string;
  "x-own-matters"?: true;
}

export interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

export interface DocumentedRoute {
  method: string;
  path: string;
  operation: Operation;
}

/** The document of the service as it is published. */
export const document = JSON.parse(JSON.stringify(openApiDocument())) as Document;

export const documentedRoutes = routesOf(document);

export function routesOf(published: Document): readonly DocumentedRoute[] {
  return Object.entries(spelledOut(published).paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

/** Every route that changes something, or asks as one does. */
export const writeRoutes = documentedRoutes.filter(({ method }) => method !== "GET");

/** The documented body of a route, or undefined where it takes none. Of several forms, the last one says the most. */
export function bodySchema({ operation }: DocumentedRoute): Schema | undefined {
  const schema = operation.requestBody?.content["application/json"]?.schema;
  if (schema === undefined) return undefined;
  return resolved((schema["anyOf"] as Schema[] | undefined)?.at(-1) ?? schema);
}

export function resolved(schema: Schema): Schema {
  const reference: unknown = schema["$ref"];
  return typeof reference === "string" ? resolved(document.components.schemas[reference.split("/").at(-1) ?? ""] ?? {}) : schema;
}

let lastId = 91_000_000_000_000_000n;

/** A Discord id nobody had before. */
export function freshId(): string {
  lastId += 1n;
  return lastId.toString();
}

/** The example body of a route, about people and servers nobody asked about before. */
export function freshExample({ operation }: DocumentedRoute): any {
  const example = operation.requestBody?.content["application/json"]?.example;
  if (example === undefined) return undefined;
  const known = new Map<string, string>();
  const text = JSON.stringify(example).replaceAll(/(?<=")\d{17,20}(?=")/g, (id) => {
    const fresh = known.get(id) ?? freshId();
    known.set(id, fresh);
    return fresh;
  });
  return JSON.parse(text);
}

export function routeOf(method: string, path: string): DocumentedRoute {
  const found = documentedRoutes.find((route) => route.method === method && route.path === path);
  if (found === undefined) throw new Error(`${method} ${path} is not documented`);
  return found;
}

/** A body that files a request of a kind. */
export const filing = (kind: string): any => freshExample(routeOf("POST", `/workflows/${kind}`));

/** Every code a route may be refused with. */
export function documentedCodes({ operation }: DocumentedRoute): string[] {
  return Object.values(operation.responses).flatMap(
    ({ content }) => (content?.["application/problem+json"]?.schema["allOf"]?.[1]?.properties.code.enum ?? []) as string[],
  );
}
