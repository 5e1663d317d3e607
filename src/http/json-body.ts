import { isUtf8 } from "node:buffer";
import { ProblemError } from "../kernel/errors.ts";
import { type Exchange, header } from "./exchange.ts";

/** Objects and arrays inside each other, the root counted as 1. */
const maxDepth = 16;
const jsonType = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;

/** Whether the request announces a body at all. */
export function announcesBody(exchange: Exchange): boolean {
  const length = header(exchange, "content-length");
  return exchange.headers["transfer-encoding"] !== undefined || (length !== undefined && length !== "0");
}

/**
 * Refuse a body by what its headers say, before a byte of it is read.
 * @throws ProblemError body_too_large or unsupported_media_type
 */
export function checkBodyHeaders(exchange: Exchange, limit: number, type = jsonType): void {
  if (Number(header(exchange, "content-length") ?? 0) > limit) throw bodyTooLarge(limit);
  const encoding = header(exchange, "content-encoding");
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw new ProblemError("unsupported_media_type", { detail: "Send the body without a content encoding." });
  }
  if (!type.test(header(exchange, "content-type") ?? "")) {
    const wanted = type === jsonType ? "application/json" : "application/x-www-form-urlencoded";
    throw new ProblemError("unsupported_media_type", { detail: `Send the body as ${wanted}.` });
  }
}

export function bodyTooLarge(limit: number): ProblemError {
  return new ProblemError("body_too_large", { detail: `A body holds at most ${limit} bytes.` });
}

/**
 * Parse a JSON body.
 * @throws ProblemError malformed_request for invalid UTF-8, broken JSON and too deep nesting
 */
export function parseJson(raw: Buffer): unknown {
  if (!isUtf8(raw)) throw new ProblemError("malformed_request", { detail: "The body is not valid UTF-8." });
  let value: unknown;
  try {
    value = JSON.parse(raw.toString("utf8"));
  } catch {
    throw new ProblemError("malformed_request", { detail: "The body is not valid JSON." });
  }
  if (isDeeper(value, maxDepth)) throw new ProblemError("malformed_request", { detail: `The body nests deeper than ${maxDepth} levels.` });
  return value;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const inner of Object.values(value)) if (isDeeper(inner, levels - 1)) return true;
  return false;
}
