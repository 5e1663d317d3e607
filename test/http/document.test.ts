// @module-tag sqlite
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import { createHttpApp } from "../../src/http/http-app.ts";
import { problems } from "../../src/kernel/errors.ts";
import { spelledOut } from "../support/openapi.ts";
import { appOptions, staffId, startApp } from "./support.ts";

interface Operation {
  operationId: string;
  summary: string;
  security?: unknown[];
  parameters?: { $ref?: string; name?: string; in?: string }[];
  requestBody?: { required: boolean; content: Record<string, { schema: object; example?: unknown }> };
  responses: Record<string, { description: string; content?: Record<string, { schema: object }> }>;
  "x-permission"?: string;
}
interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, Record<string, unknown>>>;
  security: unknown[];
}

const document = createHttpApp(appOptions({ publicUrl: "https://mod.example" })).document() as unknown as Document;
const operations = Object.entries(spelledOut(document).paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, path, operation })),
);

function references(node: unknown): string[] {
  if (typeof node !== "object" || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) => (key === "$ref" ? [String(value)] : references(value)));
}

function resolve(reference: string): unknown {
  const steps = reference.replace("#/", "").split("/");
  return steps.reduce<unknown>((node, step) => (node as Record<string, unknown> | undefined)?.[step], document);
}

test("the document is served as it is made", async () => {
  const { app, ask } = await startApp();
  expect((await ask({ path: "/openapi.json", key: null })).json).toEqual(JSON.parse(JSON.stringify(app.document())));
  expect(document.openapi).toBe("3.1.0");
});

test("every reference resolves", () => {
  const found = references(document);
  expect(found.length).toBeGreaterThan(20);
  expect(found.filter((reference) => resolve(reference) === undefined)).toEqual([]);
});

test("every schema is a valid JSON Schema of 2020-12", () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const schemas = document.components["schemas"] ?? {};
  ajv.addSchema({ $id: "document", components: { schemas } });
  for (const name of Object.keys(schemas)) expect(() => ajv.getSchema(`document#/components/schemas/${name}`)).not.toThrow();
  for (const { operation } of operations) {
    for (const response of Object.values(operation.responses)) {
      for (const { schema } of Object.values(response.content ?? {})) expect(ajv.validateSchema(schema)).toBe(true);
    }
  }
});

test("operation ids are unique, parameters of the path are declared, every refusal is documented", () => {
  expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(operations.length);
  for (const { path, operation } of operations) {
    const declared = (operation.parameters ?? []).filter((parameter) => parameter.in === "path").map((parameter) => parameter.name);
    expect(new Set(declared)).toEqual(new Set([...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])));
    expect(Object.keys(operation.responses).some((status) => status.startsWith("4"))).toBe(true);
    expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(["429", "503"]));
  }
});

test("there is one Problem, and its codes are the closed registry", () => {
  expect(document.components["schemas"]?.["Problem"]).toMatchObject({ properties: { code: { enum: Object.keys(problems) } } });
});

test("each refusal names the codes of its status", () => {
  for (const { operation } of operations) {
    for (const [status, response] of Object.entries(operation.responses)) {
      const schema = response.content?.["application/problem+json"]?.schema as
        | { allOf: [object, { properties: { code: { enum: (keyof typeof problems)[] } } }] }
        | undefined;
      for (const code of schema?.allOf[1].properties.code.enum ?? []) expect(problems[code].status).toBe(Number(status));
    }
  }
});

test("public operations need no credentials, the others name their permission", () => {
  expect(document.paths["/openapi.json"]?.["get"]?.security).toEqual([]);
  expect(document.paths["/problems/{code}"]?.["get"]?.security).toEqual([]);
  expect(document.paths["/things"]?.["post"]?.["x-permission"]).toBe("cases.create");
  expect(document.paths["/things"]?.["post"]?.security).toBeUndefined();
  expect(document.security).toEqual([{ bearer: [] }, { apiKey: [] }]);
});

test("headers are documented where they apply", () => {
  const named = (path: string, method: string) =>
    (document.paths[path]?.[method]?.parameters ?? []).flatMap(({ $ref }) =>
      $ref === undefined ? [] : [$ref.replace("#/components/parameters/", "")],
    );
  expect(named("/things", "post")).toEqual(expect.arrayContaining(["ActingUser", "IdempotencyKey"]));
  expect(named("/things/{thing_id}", "patch")).toContain("IfMatch");
  expect(named("/things/{thing_id}", "get")).toContain("IfNoneMatch");
  expect(named("/things", "get")).not.toContain("IdempotencyKey");
});

test("an example of a body is one that passes", async () => {
  const { ask } = await startApp();
  const example = document.paths["/things"]?.["post"]?.requestBody?.content["application/json"]?.example;
  expect((await ask({ method: "POST", path: "/things", body: example })).status).toBe(201);
});

test("the statuses answered are among those documented", async () => {
  const { ask } = await startApp();
  const documented = Object.keys(document.paths["/things/{thing_id}"]?.["get"]?.responses ?? {});
  const asked = [
    { path: `/things/${staffId}` },
    { path: "/things/1" },
    { path: "/things/1", key: null },
    { path: "/things/1", headers: { Accept: "text/html" } },
  ];
  for (const one of asked) expect(documented).toContain(String((await ask(one)).status));
});
