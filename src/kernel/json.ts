/** An object of unknown content. */
type JsonObject = Record<string, unknown>;

/** What a JSON column takes. */
type Json = string | number | boolean | readonly Json[] | { readonly [key: string]: Json | null };

/** A stored JSON column as an object; empty where it holds anything else. */
export function jsonObject(stored: unknown): JsonObject {
  return isObject(stored) ? stored : {};
}

/** A value for a JSON column. The caller has it from a schema, or from JSON. */
export function toJson(value: unknown): Json {
  return value as Json;
}

function isObject(stored: unknown): stored is JsonObject {
  return typeof stored === "object" && stored !== null && !Array.isArray(stored);
}
