// @module-tag sqlite
// @module-tag slow
import { describe, expect, test } from "vitest";
import en from "zod/v4/locales/en.js";
import { ZodError, type z } from "zod";
import { routeTable } from "../../src/features.ts";
import { ProblemError, type FieldError } from "../../src/kernel/errors.ts";
import { isSaid, worded } from "../../src/kit/say.ts";
import { check, fieldErrors } from "../../src/kernel/validation.ts";
import { readQuery } from "../../src/operations/query.ts";
import type { RouteSpec } from "../../src/operations/route.ts";
import { ofLibrary } from "../features/refusals-ground.ts";
import { inputSchema, leavesOf } from "./field-leaves.ts";

const specs = routeTable().map(({ spec }) => spec);

/** What is of a wrong type, form or size almost everywhere. */
const wrongValues: readonly unknown[] = [
  undefined,
  null,
  7,
  -1,
  1.5,
  1e300,
  true,
  "",
  " ",
  "x",
  "no such choice",
  "x".repeat(20_000),
  "2026-13-45",
  "99999999999999999999",
  "a\u0000b",
  [],
  [[7]],
  ["x"],
  Array.from({ length: 3000 }, (_, index) => index.toString()),
  {},
  { unknown: 1 },
];

/** A copy of an example with another value at a path, whatever has to be made to lead there. */
function placed(whole: unknown, [step, ...rest]: readonly string[], value: unknown): unknown {
  if (step === undefined) return value;
  if (step === "*") return [placed(Array.isArray(whole) ? whole[0] : undefined, rest, value)];
  const inner = typeof whole === "object" && whole !== null && !Array.isArray(whole) ? (whole as Record<string, unknown>) : {};
  return { ...inner, [step]: placed(inner[step], rest, value) };
}

function bodyErrors(schema: z.ZodType, example: unknown, understand?: (body: never) => void): FieldError[] {
  const errors: FieldError[] = [];
  const tried = ["", ...leavesOf(inputSchema(schema))].flatMap((leaf) => {
    const path = leaf === "" ? [] : leaf.split(".");
    return wrongValues.flatMap((value) => [placed(example, path, value), placed(undefined, path, value)]);
  });
  for (const body of [...tried, placed(example, ["no_such_field"], 1)]) {
    const parsed = check(schema, body, "body", errors);
    if (parsed !== undefined && understand !== undefined) errors.push(...refusalOf(() => understand(parsed as never)));
  }
  return errors;
}

function refusalOf(attempt: () => void): readonly FieldError[] {
  try {
    attempt();
  } catch (error) {
    if (error instanceof ZodError) return fieldErrors(error.issues, "body");
    if (error instanceof ProblemError) return error.errors ?? [];
    throw error;
  }
  return [];
}

function queryErrors(schema: z.ZodObject, refusesUnknown: boolean): FieldError[] {
  const errors: FieldError[] = [];
  const texts = wrongValues.filter((value) => typeof value === "string");
  for (const name of Object.keys(schema.shape)) {
    for (const text of texts) readQuery(new URLSearchParams([[name, text]]).toString(), schema, false, errors);
    readQuery(`${name}=1&${name}=2`, schema, false, errors);
  }
  readQuery("", schema, false, errors);
  errors.push(...refusalOf(() => readQuery("no_such_filter=1", schema, refusesUnknown, errors)));
  return errors;
}

function pathErrors(schema: z.ZodObject): FieldError[] {
  const errors: FieldError[] = [];
  for (const name of Object.keys(schema.shape)) for (const text of wrongValues) check(schema, { [name]: text }, "path", errors);
  return errors;
}

/** Everything that the schemas of a route say about wrong input. */
function errorsOf({ request = {}, success: { shape } }: RouteSpec): FieldError[] {
  const { params, query, body, upload, understand, example } = request;
  return [
    ...(params === undefined ? [] : pathErrors(params)),
    ...(query === undefined ? [] : queryErrors(query, shape === "list" || shape === "raw")),
    ...(body === undefined ? [] : bodyErrors(body, example, understand)),
    ...(upload === undefined ? [] : bodyErrors(upload.fields, {})),
  ];
}

/** Routes without a command. */
const onlyOverHttp = new Set(["/events", "/workflows/decisions"]);

describe("what is wrong about a request", () => {
  const asked = specs.flatMap((spec): [string, RouteSpec][] =>
    spec.request === undefined ? [] : [[`${spec.method.toUpperCase()} ${spec.path}`, spec]],
  );

  test.each(asked)("is told in our own words, by a key that every language has where it is done in Discord as well: %s", (_name, spec) => {
    const details = new Set(errorsOf(spec).map(({ detail }) => detail));
    expect(details.size).toBeGreaterThan(0);
    expect([...details].filter((detail) => ofLibrary.test(worded(detail)))).toEqual([]);
    if (!onlyOverHttp.has(spec.path)) expect([...details].filter((detail) => !isSaid(detail))).toEqual([]);
  });

  test("would be recognized if it were told in the words of the library", () => {
    const { localeError } = en();
    const issues = asked.flatMap(([, { request = {} }]) => {
      const said: string[] = [];
      for (const value of wrongValues) {
        const parsed = request.body?.safeParse(value, { error: (issue) => localeError(issue) });
        said.push(...(parsed?.error?.issues.map(({ message }) => message) ?? []));
      }
      return said;
    });
    expect(issues.filter((text) => ofLibrary.test(text)).length).toBeGreaterThan(100);
  });
});
