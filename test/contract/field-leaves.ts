import { z } from "zod";
import type { Schema } from "./document.ts";

/** The JSON Schema of what may be sent, with everything it refers to in its place. */
export function inputSchema(type: z.ZodType): Schema {
  const { $defs = {}, ...schema } = z.toJSONSchema(type, { unrepresentable: "any", io: "input" }) as Schema;
  return inPlace(schema, $defs as Record<string, Schema>) as Schema;
}

function inPlace(part: unknown, defs: Record<string, Schema>): unknown {
  if (Array.isArray(part)) return part.map((one) => inPlace(one, defs));
  if (!isObject(part)) return part;
  const { $ref: reference, const: only, ...rest } = part;
  if (typeof reference === "string") return inPlace(defs[reference.split("/").at(-1) ?? ""], defs);
  const words = only === undefined ? {} : { enum: [only] };
  return { ...Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, inPlace(value, defs)])), ...words };
}

/** The fields of a schema that hold a value, as paths: `discord.action`, `answers.*.question`. */
export function leavesOf(schema: Schema, path: readonly string[] = []): string[] {
  const forms = (schema["anyOf"] ?? schema["oneOf"]) as Schema[] | undefined;
  if (forms !== undefined) return [...new Set(forms.flatMap((form) => leavesOf(form, path)))];
  if (schema["type"] === "array" && schema["items"] !== undefined) return leavesOf(schema["items"] as Schema, [...path, "*"]);
  if (schema["properties"] === undefined) return [path.join(".")];
  return Object.entries(schema["properties"] as Schema).flatMap(([name, field]) => leavesOf(field as Schema, [...path, name]));
}

/** A copy with another value at a path; undefined where nothing leads there. */
export function withValue(whole: unknown, leaf: string, value: unknown): unknown {
  const copy: unknown = structuredClone(whole);
  const steps = leaf.split(".").map((step) => (step === "*" ? "0" : step));
  const last = steps.pop() ?? "";
  const place = steps.reduce<unknown>((inner, step) => (isObject(inner) ? inner[step] : undefined), copy);
  if (!isObject(place)) return undefined;
  place[last] = value;
  return copy;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
