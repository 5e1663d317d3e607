/** An object of unknown content. */
type JsonObject = Record<string, unknown>;

/** A stored JSON column as an object; empty where it holds anything else. */
export function jsonObject(stored: unknown): JsonObject {
  return isObject(stored) ? stored : {};
}

function isObject(stored: unknown): stored is JsonObject {
  return typeof stored === "object" && stored !== null && !Array.isArray(stored);
}
