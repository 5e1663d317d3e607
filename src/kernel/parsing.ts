import { isUtf8 } from "node:buffer";
import { ProblemError } from "./errors.ts";

/** Objects and arrays inside each other, the root counted as 1. */
const maxDepth = 16;

/**
 * Parse a JSON body.
 * @throws ProblemError malformed_request for invalid UTF-8, broken JSON and too deep nesting
 */
export function parseJson(raw: Buffer): unknown {
  const text = parseText(raw);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ProblemError("malformed_request", { detail: "The body is not valid JSON." });
  }
  if (isDeeper(value, maxDepth)) throw new ProblemError("malformed_request", { detail: `The body nests deeper than ${maxDepth} levels.` });
  return value;
}

/**
 * Read a body of text.
 * @throws ProblemError malformed_request for invalid UTF-8
 */
export function parseText(raw: Buffer): string {
  if (!isUtf8(raw)) throw new ProblemError("malformed_request", { detail: "The body is not valid UTF-8." });
  return raw.toString("utf8");
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const inner of Object.values(value)) if (isDeeper(inner, levels - 1)) return true;
  return false;
}
