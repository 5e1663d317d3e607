import { Ajv2020 } from "ajv/dist/2020.js";
import type { ValidateFunction } from "ajv";
import type { Answer } from "../support/world.ts";
import { routesOf, type Document, type DocumentedRoute, type Schema } from "./document.ts";

const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

export type Judge = ReturnType<typeof createJudge>;

/** The judges of this process by the text of their document: what they compile is kept for every world that publishes the same. */
const judges = new Map<string, Judge>();

/** Compares answers with the OpenAPI document: the status, the media type, every field, and that there are no others. */
export function judgeOf(published: object): Judge {
  const text = JSON.stringify(published);
  const known = judges.get(text) ?? createJudge(JSON.parse(text) as Document);
  judges.set(text, known);
  return known;
}

function createJudge(document: Document) {
  const routes = routesOf(document);
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  ajv.addFormat("binary", true);
  ajv.addFormat("date-time", timestamp);
  ajv.addFormat("uuid", /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  ajv.addFormat("uri", (address) => URL.canParse(address));
  ajv.addFormat("uri-reference", (address) => URL.canParse(address, "http://localhost"));
  ajv.addSchema({ $id: "open", components: document.components });
  ajv.addSchema({ $id: "closed", components: closed(document.components) });
  const compiled = new Map<string, ValidateFunction>();

  /** Refusals may carry members of their code; everything else says only what is documented. */
  function validator(schema: Schema, isRefusal: boolean): ValidateFunction {
    const text = JSON.stringify(isRefusal ? schema : closed(schema)).replaceAll(
      '"#/components/',
      `"${isRefusal ? "open" : "closed"}#/components/`,
    );
    const known = compiled.get(text) ?? ajv.compile(JSON.parse(text) as Schema);
    compiled.set(text, known);
    return known;
  }

  function problemsOf({ operation }: DocumentedRoute, { status, headers, body }: Answer): string[] {
    const response = operation.responses[status.toString()];
    if (response === undefined) return [`status ${status.toString()} is not documented: ${JSON.stringify(body)}`];
    if (body === "") return status === 304 || response.content === undefined ? [] : ["the body is missing"];
    const mediaType = headers.get("content-type")?.split(";")[0] ?? "";
    const schema = response.content?.[mediaType]?.schema;
    if (schema === undefined) return [`${status.toString()} as ${mediaType} is not documented`];
    const validate = validator(schema, mediaType === "application/problem+json");
    return validate(body) ? [] : [`${ajv.errorsText(validate.errors, { dataVar: "body" })}: ${JSON.stringify(validate.errors?.[0])}`];
  }

  /** Whoever checks an address by the document before asking must not refuse one that the service takes. */
  function strictnessOf({ path: template, operation }: DocumentedRoute, address: string): string[] {
    const { pathname, searchParams } = new URL(address, "http://localhost");
    const steps = template.split("/");
    const named = (name: string): unknown => decodeURIComponent(pathname.split("/")[steps.indexOf(`{${name}}`)] ?? "");
    return (operation.parameters ?? []).flatMap(({ name = "", in: where, schema }) => {
      if (schema === undefined || (where !== "path" && !searchParams.has(name))) return [];
      const given = where === "path" ? named(name) : schema["type"] === "array" ? searchParams.getAll(name) : searchParams.get(name);
      const validate = validator(schema, false);
      return validate(schema["type"] === "integer" ? Number(given) : given)
        ? []
        : [`${name} is ${String(given)}, which the service takes and the document refuses: ${ajv.errorsText(validate.errors)}`];
    });
  }

  return {
    /** What is wrong with an answer; nothing for addresses the document does not have, such as pages. */
    check({ method, path }: { method: string; path: string }, answer: Answer): string[] {
      const route = routeFor(routes, method, path);
      if (route === undefined) return [];
      const problems = [...problemsOf(route, answer), ...(answer.status < 400 ? strictnessOf(route, path) : [])];
      return problems.map((problem) => `${route.method} ${route.path} ${answer.status.toString()}: ${problem}`);
    },
  };
}

/** The route of an address; a literal step goes before a parameter. */
function routeFor(routes: readonly DocumentedRoute[], method: string, address: string): DocumentedRoute | undefined {
  const steps = (address.split("?")[0] ?? "").split("/");
  const fits = ({ path }: DocumentedRoute): boolean => {
    const wanted = path.split("/");
    return (
      wanted.length === steps.length &&
      wanted.every((step, index) => step === steps[index] || (step.startsWith("{") && steps[index] !== ""))
    );
  };
  const parameters = ({ path }: DocumentedRoute): number => path.split("{").length;
  return routes.filter((route) => route.method === method && fits(route)).toSorted((a, b) => parameters(a) - parameters(b))[0];
}

/** The same schema, but an object has no properties besides those it names. */
function closed<T>(node: T): T {
  if (Array.isArray(node)) return node.map((inner: unknown) => closed(inner)) as T;
  if (typeof node !== "object" || node === null) return node;
  const inner = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, closed(value)]));
  const names = inner["type"] === "object" && typeof inner["properties"] === "object" && inner["additionalProperties"] === undefined;
  return (names ? { ...inner, unevaluatedProperties: false } : inner) as T;
}
