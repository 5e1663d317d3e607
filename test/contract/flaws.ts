import { snowflakePattern } from "../../src/kernel/fields.ts";
import { bodySchema, freshExample, resolved, type DocumentedRoute, type Schema } from "./document.ts";

/** A body with one wrong field. */
export interface Flaw {
  what: string;
  pointer: string;
  /** The code the field error must have, where there is only one for it. */
  code?: string;
  body: Record<string, unknown>;
}

/** Names only the service gives; creation refuses them, and everything else it does not know it keeps. */
const ownNames = ["id", "status", "reference", "revision", "created_by"];

/** One body per way to break one field of a route, each otherwise the documented example. */
export function flawsOf(route: DocumentedRoute): Flaw[] {
  const schema = bodySchema(route) ?? {};
  const example = (): Record<string, unknown> => freshExample(route) ?? {};
  const flaws: Flaw[] = [];
  for (const name of (schema["required"] ?? []) as string[]) {
    const { [name]: _, ...rest } = example();
    flaws.push({ what: "missing", pointer: `/${name}`, code: "required", body: rest });
  }
  for (const [name, property] of Object.entries((schema["properties"] ?? {}) as Record<string, Schema>)) {
    for (const { what, value, code } of wrongValues(property)) {
      flaws.push({ what, pointer: `/${name}`, ...(code !== undefined && { code }), body: { ...example(), [name]: value } });
    }
  }
  const isStrict = schema["additionalProperties"] === false;
  for (const name of isStrict ? ["nobody_knows_this", ...ownNames.filter((own) => !(own in (schema["properties"] ?? {})))] : ownNames) {
    flaws.push({ what: "not to be sent", pointer: `/${name}`, body: { ...example(), [name]: "x" } });
  }
  return flaws;
}

/** A body in which every documented field is of a wrong type. */
export function wrongEverywhere(route: DocumentedRoute): { body: Record<string, unknown>; pointers: string[] } {
  const properties = Object.entries((bodySchema(route)?.["properties"] ?? {}) as Record<string, Schema>);
  return {
    body: Object.fromEntries(properties.map(([name, property]) => [name, wrongType(property)])),
    pointers: properties.map(([name]) => `/${name}`),
  };
}

function wrongValues(property: Schema): { what: string; value: unknown; code?: string }[] {
  const wrong: { what: string; value: unknown; code?: string }[] = [{ what: "wrong type", value: wrongType(property) }];
  const forms = formsOf(property);
  if (!typesOf(property).has("null")) wrong.push({ what: "null", value: null });
  if (forms.length !== 1) return wrong;
  const [schema = {}] = forms;
  if (schema["pattern"] === snowflakePattern) wrong.push(...wrongIds);
  if (schema["enum"] !== undefined) wrong.push({ what: "none of the choices", value: "none-of-these" });
  if (typeof schema["maxLength"] === "number") wrong.push({ what: "too long", value: "x".repeat(schema["maxLength"] + 1) });
  if (typeof schema["minLength"] === "number" && schema["minLength"] > 0) wrong.push({ what: "empty", value: "" });
  if (typeof schema["maximum"] === "number") wrong.push({ what: "too large", value: schema["maximum"] + 1 });
  if (typeof schema["minimum"] === "number") wrong.push({ what: "too small", value: schema["minimum"] - 1 });
  if (schema["type"] === "integer") wrong.push({ what: "not whole", value: 1.5 });
  if (schema["format"] === "date-time") wrong.push({ what: "no time", value: "yesterday" });
  if (schema["type"] === "array") wrong.push(...wrongLists(schema));
  return wrong;
}

export const wrongIds = [
  { what: "an id as a number", value: 80_351_110_224_678_912, code: "invalid_snowflake" },
  { what: "an id that is too short", value: "123", code: "invalid_snowflake" },
  { what: "an id beyond 64 bit", value: "18446744073709551616", code: "invalid_snowflake" },
  { what: "a second form of an id", value: "080351110224678912", code: "invalid_snowflake" },
  { what: "nothing but zeros", value: "00000000000000000", code: "invalid_snowflake" },
  { what: "a mention", value: "<@80351110224678912>", code: "invalid_snowflake" },
];

function wrongLists(schema: Schema): { what: string; value: unknown }[] {
  const { type, anyOf } = resolved(schema["items"] ?? {});
  const item: unknown = type === "object" ? {} : "80351110224678912";
  // Where any entry is taken, each is answered by itself.
  const isJudged = type !== undefined || anyOf !== undefined;
  const wrong: { what: string; value: unknown }[] = isJudged ? [{ what: "a wrong entry", value: [[7]] }] : [];
  if (typeof schema["maxItems"] === "number") {
    wrong.push({ what: "too many", value: Array.from({ length: schema["maxItems"] + 1 }, () => item) });
  }
  if (typeof schema["minItems"] === "number")
    wrong.push({ what: "too few", value: Array.from({ length: schema["minItems"] - 1 }, () => item) });
  return wrong;
}

/** A value of a type none of the documented forms has. */
function wrongType(property: Schema): unknown {
  const types = typesOf(property);
  if (!types.has("object")) return { wrong: true };
  return types.has("boolean") ? [7] : true;
}

function typesOf(property: Schema): Set<string> {
  return new Set(formsOf(property).flatMap(({ type }): string[] => (Array.isArray(type) ? type : [type])));
}

/** The forms a value may take besides null, references followed. */
function formsOf(property: Schema): Schema[] {
  const schema = resolved(property);
  const forms = schema["anyOf"] as Schema[] | undefined;
  return forms === undefined ? [schema] : forms.flatMap(formsOf);
}
