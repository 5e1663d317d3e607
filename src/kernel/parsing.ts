import { say } from "../kit/say.ts";
import { isUtf8 } from "node:buffer";
import { ProblemError } from "./errors.ts";
import { parseJsonInParts } from "./json-parts.ts";
import { parsingSlices } from "./time-slices.ts";

/** Objects and arrays inside each other, the root counted as 1. */
const maxDepth = 16;

/**
 * Parse a JSON body.
 * @throws ProblemError malformed_request for invalid UTF-8, broken JSON and too deep nesting
 */
export function parseJson(raw: Buffer): unknown {
  const text = parseText(raw);
  try {
    return requireShallow(JSON.parse(text));
  } catch (error) {
    throw notJson(error);
  }
}

/**
 * Parse a JSON body that may be long, while others have their turn.
 * @param byLine lists whose entries may nest as they like
 * @throws ProblemError as {@link parseJson}
 */
export async function parseJsonByLine(raw: Buffer, byLine: readonly string[]): Promise<unknown> {
  const text = parseText(raw);
  try {
    const value = await parseJsonInParts(text, parsingSlices());
    if (typeof value !== "object" || value === null) return value;
    for (const [name, inner] of Object.entries(value)) if (!byLine.includes(name)) requireShallow(inner, maxDepth - 1);
    return value;
  } catch (error) {
    throw notJson(error);
  }
}

/** @throws ProblemError malformed_request */
function requireShallow(value: unknown, levels = maxDepth): unknown {
  if (isDeeper(value, levels))
    throw new ProblemError("malformed_request", { detail: say("kernel.the-body-nests-deeper-than-levels", { depth: maxDepth }) });
  return value;
}

function notJson(error: unknown): unknown {
  return error instanceof SyntaxError ? new ProblemError("malformed_request", { detail: say("kernel.the-body-is-not-valid-json") }) : error;
}

/** How a file is written, by the mark at its beginning: spreadsheets write UTF-16, too. @param start its first bytes */
export function encodingOf(start: Buffer): "utf-8" | "utf-16le" | "utf-16be" {
  if (start[0] === 0xff && start[1] === 0xfe) return "utf-16le";
  return start[0] === 0xfe && start[1] === 0xff ? "utf-16be" : "utf-8";
}

/**
 * Read the text of a file that people send.
 * @throws ProblemError malformed_request when it is neither UTF-8 nor, with its mark, UTF-16
 */
export function parseFile(raw: Buffer): string {
  try {
    return new TextDecoder(encodingOf(raw), { fatal: true }).decode(raw);
  } catch {
    throw new ProblemError("malformed_request", { detail: say("kernel.the-file-is-not-utf-8-save") });
  }
}

/**
 * Read a body of text.
 * @throws ProblemError malformed_request for invalid UTF-8
 */
export function parseText(raw: Buffer): string {
  if (!isUtf8(raw)) throw new ProblemError("malformed_request", { detail: say("kernel.the-body-is-not-valid-utf-8") });
  return raw.toString("utf8");
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const inner of Object.values(value)) if (isDeeper(inner, levels - 1)) return true;
  return false;
}

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

/** The texts of a stored JSON list; whatever else stands there is left out. */
export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
}

/** What people call a blacklist record, such as `BL-000001`; beyond six digits it grows wider. */
export function blacklistReference(number: number): string {
  return `BL-${number.toString().padStart(6, "0")}`;
}

/** What people call a case, such as `CASE-000001`; beyond six digits it grows wider. */
export function caseReference(number: number): string {
  return `CASE-${number.toString().padStart(6, "0")}`;
}
