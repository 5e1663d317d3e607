import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { ValidateFunction } from "ajv";
import type { Exchange } from "../../sandbox/index.ts";

type Schema = Record<string, unknown>;
type Content = Record<string, { schema: Schema }>;
type Parameter = { name: string; in: string; required?: boolean; schema: Schema };
type Operation = {
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Content };
  responses: Record<string, { content?: Content; $ref?: string }>;
};
type Document = {
  paths: Record<string, Record<string, Operation> & { parameters?: Parameter[] }>;
  components: { schemas: Record<string, Schema>; responses?: Record<string, { content?: Content }> };
};

const responseOf = ({ responses }: Operation, status: number) =>
  responses[status.toString()] ?? responses[`${status.toString().charAt(0)}XX`];

/** One thing that disagrees with Discord's own document. */
export type Finding = { exchange: string; part: "query" | "request" | "status" | "response"; problem: string };
export type Verdict = {
  checked: number;
  bad: Finding[];
  /** Operations the document does not have. */
  unknown: string[];
  /** Top-level properties the document does not name; its schemas are open, so these are no faults by themselves. */
  extra: string[];
};
export type WireExchange = Pick<Exchange, "method" | "route" | "query" | "requestBody" | "status" | "responseBody">;

const prefix = "discord";

/**
 * Where the document contradicts Discord's own documentation and its client libraries, which win; these findings are dropped:
 * permission bit fields are strings of digits, lifting a ban takes no body, and the codes of field errors are words.
 */
const documentErrors: { part: Finding["part"]; exchange: RegExp; problem: RegExp }[] = [
  { part: "request", exchange: /\/commands/, problem: /^body(\/\d+)?\/default_member_permissions must be integer,null$/ },
  { part: "request", exchange: /\/roles(\/\{role_id\})?$/, problem: /^body\/permissions must be integer,null$/ },
  { part: "request", exchange: /^DELETE .*\/bans\/\{user_id\}$/, problem: /^the body is missing$/ },
  { part: "response", exchange: /./, problem: /^body\/errors\/\S+\/_errors must be object,.*\/_errors\/0\/code must be integer/ },
];

/** Where Discord's OpenAPI document lies: `DISCORD_OPENAPI_SPEC`, else beside the project. */
export const specPath =
  process.env["DISCORD_OPENAPI_SPEC"] ?? fileURLToPath(new URL("../../../shared/discord-openapi.json", import.meta.url));
export const hasSpec = existsSync(specPath);

export type Judge = ReturnType<typeof createJudge>;

/** Compares what went over the wire with Discord's OpenAPI document: query, request body, status and response body. */
export function createJudge(path = specPath) {
  const document = JSON.parse(readFileSync(path, "utf8")) as Document;
  const ajv = new Ajv2020({ strict: false, allErrors: false, validateSchema: false });
  const anyText = () => true;
  for (const name of ["uri", "date-time", "nonce", "int32", "int64", "double", "float", "email", "password"]) ajv.addFormat(name, anyText);
  ajv.addFormat("snowflake", /^\d{1,20}$/);
  ajv.addFormat("date-time", (text) => !Number.isNaN(Date.parse(text)));
  ajv.addSchema({ $id: prefix, components: document.components });
  const compiled = new Map<string, ValidateFunction>();

  function validator(schema: Schema): ValidateFunction {
    const text = JSON.stringify(schema).replaceAll('"#/components/', `"${prefix}#/components/`);
    const known = compiled.get(text) ?? ajv.compile(JSON.parse(text) as Schema);
    compiled.set(text, known);
    return known;
  }

  /** What is wrong with a value, or undefined. */
  function problemOf(schema: Schema, value: unknown): string | undefined {
    const validate = validator(schema);
    if (validate(value)) return undefined;
    return ajv.errorsText(validate.errors, { dataVar: "body" });
  }

  function checkQuery(parameters: Parameter[], query: Record<string, string>): string[] {
    const problems: string[] = [];
    const known = parameters.filter((parameter) => parameter.in === "query");
    for (const name of Object.keys(query))
      if (!known.some((parameter) => parameter.name === name)) problems.push(`${name} is no parameter`);
    for (const { name, required, schema } of known) {
      const text = query[name];
      if (text === undefined) {
        if (required) problems.push(`${name} is missing`);
      } else if (![text, Number(text), text === "true" ? true : text === "false" ? false : text].some((value) => !problemOf(schema, value)))
        problems.push(`${name}=${text} does not fit`);
    }
    return problems;
  }

  function checkResponse(operation: Operation, exchange: WireExchange): string[] {
    const { status } = exchange;
    const response = responseOf(operation, status);
    if (!response) return [];
    const shared = response.$ref === undefined ? response : document.components.responses?.[response.$ref.split("/").at(-1) ?? ""];
    const schema = shared?.content?.["application/json"]?.schema;
    if (!schema) return exchange.responseBody === undefined ? [] : ["a body where none belongs"];
    const problem = problemOf(schema, exchange.responseBody);
    return problem === undefined ? [] : [problem];
  }

  function checkRequest(operation: Operation, body: unknown): string[] {
    const schema = operation.requestBody?.content["application/json"]?.schema;
    if (!schema || body === undefined) return operation.requestBody?.required && body === undefined ? ["the body is missing"] : [];
    const problem = problemOf(schema, body);
    return problem === undefined ? [] : [problem];
  }

  /** Property names a schema allows at its top, through references and unions; undefined when it allows any. */
  function namesOf(schema: Schema | undefined): Set<string> | undefined {
    if (!schema) return undefined;
    const reference = schema["$ref"];
    if (typeof reference === "string") return namesOf(document.components.schemas[reference.split("/").at(-1) ?? ""]);
    const parts = (schema["oneOf"] ?? schema["anyOf"] ?? schema["allOf"]) as Schema[] | undefined;
    const names = new Set(Object.keys(schema["properties"] ?? {}));
    for (const part of parts ?? []) for (const name of namesOf(part) ?? []) names.add(name);
    return names.size > 0 && !schema["additionalProperties"] ? names : undefined;
  }

  function extraIn(schema: Schema | undefined, value: unknown): string[] {
    if (Array.isArray(value)) return value.length === 0 ? [] : extraIn(schema?.["items"] as Schema | undefined, value[0]);
    const names = namesOf(schema);
    if (!names || typeof value !== "object" || value === null) return [];
    return Object.keys(value).filter((name) => !names.has(name));
  }

  return {
    /** Fails a value against one named schema of the document; undefined when it fits. */
    problem: (schemaName: string, value: unknown) => problemOf({ $ref: `#/components/schemas/${schemaName}` }, value),
    check(exchanges: readonly WireExchange[]): Verdict {
      const verdict: Verdict = { checked: 0, bad: [], unknown: [], extra: [] };
      for (const exchange of exchanges) {
        const name = `${exchange.method} ${exchange.route ?? "?"}`;
        const item = document.paths[exchange.route ?? ""];
        const operation = item?.[exchange.method.toLowerCase()];
        if (!operation) {
          if (!verdict.unknown.includes(name)) verdict.unknown.push(name);
          continue;
        }
        // Server errors are injected faults; the document describes none.
        if (exchange.status >= 500) continue;
        verdict.checked += 1;
        const note = (part: Finding["part"], problems: string[]) => {
          for (const problem of problems)
            if (!documentErrors.some((known) => known.part === part && known.exchange.test(name) && known.problem.test(problem)))
              verdict.bad.push({ exchange: name, part, problem });
        };
        if (!responseOf(operation, exchange.status)) note("status", [`status ${exchange.status} is not in the document`]);
        note("response", checkResponse(operation, exchange));
        // What Discord refuses may well be wrong; only accepted requests have to fit.
        if (exchange.status >= 300) continue;
        note("query", checkQuery([...(item?.parameters ?? []), ...(operation.parameters ?? [])], exchange.query));
        note("request", checkRequest(operation, exchange.requestBody));
        const schema = operation.responses[exchange.status.toString()]?.content?.["application/json"]?.schema;
        const requestSchema = operation.requestBody?.content["application/json"]?.schema;
        const extra = [
          ...extraIn(schema, exchange.responseBody).map((key) => `${name} answers ${key}`),
          ...extraIn(requestSchema, exchange.requestBody).map((key) => `${name} sends ${key}`),
        ];
        for (const entry of extra) if (!verdict.extra.includes(entry)) verdict.extra.push(entry);
      }
      return verdict;
    },
  };
}
