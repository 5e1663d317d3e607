import { say } from "../kit/say.ts";
import { z } from "zod";
import { type FieldError, ProblemError } from "../kernel/errors.ts";
import { check, pointer } from "../kernel/validation.ts";

/**
 * Read a query by its schema. Fields that are lists take every value of a repeated parameter; other fields take one.
 * @param search the text after `?`
 * @param refusesUnknown whether a parameter the schema does not know is refused; otherwise it is ignored
 * @throws ProblemError unknown_parameter
 */
export function readQuery(search: string, schema: z.ZodObject | undefined, refusesUnknown: boolean, errors: FieldError[]): unknown {
  if (schema === undefined && (search === "" || !refusesUnknown)) return {};
  const shape: Readonly<Record<string, unknown>> = schema?.shape ?? {};
  const found = new Map<string, string | string[]>();
  const unknown: string[] = [];
  if (search !== "") collect(search, shape, found, unknown, errors);
  if (refusesUnknown && unknown.length > 0) throw unknownParameters(unknown);
  return schema === undefined ? {} : check(schema, Object.fromEntries(found), "query", errors);
}

function collect(
  search: string,
  shape: Readonly<Record<string, unknown>>,
  found: Map<string, string | string[]>,
  unknown: string[],
  errors: FieldError[],
): void {
  for (const [name, value] of new URLSearchParams(search)) {
    const before = found.get(name);
    if (!Object.hasOwn(shape, name)) unknown.push(name);
    else if (Array.isArray(before)) before.push(value);
    else if (isList(shape[name])) found.set(name, [value]);
    else if (before === undefined) found.set(name, value);
    else errors.push({ pointer: `/${name}`, in: "query", code: "repeated", detail: say("operations.send-this-parameter-once") });
  }
}

function isList(schema: unknown): boolean {
  if (schema instanceof z.ZodArray) return true;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable) return isList(schema.unwrap());
  return schema instanceof z.ZodPipe && isList(schema.in);
}

function unknownParameters(names: readonly string[]): ProblemError {
  const errors = names.slice(0, 20).map((name): FieldError => {
    return {
      pointer: pointer([name.slice(0, 100)]),
      in: "query",
      code: "unknown_parameter",
      detail: say("operations.this-parameter-is-not-known-here"),
    };
  });
  return new ProblemError("unknown_parameter", {
    detail: say("operations.a-mistyped-filter-would-list-everything-so"),
    errors,
  });
}
