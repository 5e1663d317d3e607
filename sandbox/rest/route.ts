import type { Grant } from "../oauth-grants.ts";
import { invalidForm } from "../errors.ts";
import type { Uploads } from "../uploads.ts";

export type Auth = { kind: "bot" } | { kind: "bearer"; grant: Grant } | { kind: "none" };

/** One call after authentication and body parsing. */
export type Call = {
  params: Record<string, string>;
  query: URLSearchParams;
  /** Parsed JSON, form fields, or the `payload_json` of a multipart form; undefined without a body. */
  body: unknown;
  /** Files of a multipart form, by the number in `files[n]`. */
  files: Uploads["files"];
  headers: Headers;
  /** Scheme, host and port the caller reached us by. */
  origin: string;
  auth: Auth;
};

export type Reply = { status: number; body?: unknown; html?: string; headers?: Record<string, string> };

export type Route = {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** As in Discord's OpenAPI document, such as `/guilds/{guild_id}`. */
  path: string;
  auth: "bot" | "bearer" | "any" | "none";
  handle(call: Call): Reply | Promise<Reply>;
};

export const ok = (body: unknown): Reply => ({ status: 200, body });
export const noContent: Reply = { status: 204 };

/** A path parameter of the route's own template. */
export function param(call: Call, name: string): string {
  const value = call.params[name];
  if (value === undefined) throw new TypeError(`the route has no parameter ${name}`);
  return value;
}

/** The body as an object; anything else is an invalid form. */
export function objectBody(call: Call): Record<string, unknown> {
  const { body } = call;
  if (body === undefined || body === null) return {};
  if (typeof body !== "object" || Array.isArray(body))
    throw invalidForm("_", "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType");
  return body as Record<string, unknown>;
}

/** An integer query parameter within bounds, or its default. */
export function integerQuery(call: Call, name: string, range: { min: number; max: number; fallback: number }): number {
  const text = call.query.get(name);
  if (text === null) return range.fallback;
  const value = Number(text);
  if (text === "" || !Number.isInteger(value)) throw invalidForm(name, "NUMBER_TYPE_COERCE", `Value "${text}" is not int.`);
  if (value < range.min) throw invalidForm(name, "NUMBER_TYPE_MIN", `int value should be greater than or equal to ${range.min}.`);
  if (value > range.max) throw invalidForm(name, "NUMBER_TYPE_MAX", `int value should be less than or equal to ${range.max}.`);
  return value;
}

/** A snowflake query parameter, if given. */
export function snowflakeQuery(call: Call, name: string): string | undefined {
  const text = call.query.get(name);
  if (text === null) return undefined;
  if (!/^\d{1,20}$/.test(text)) throw invalidForm(name, "NUMBER_TYPE_COERCE", `Value "${text}" is not snowflake.`);
  return text;
}

/** A text field within a length, null where that is allowed, or undefined when absent. */
export function textField(body: Record<string, unknown>, name: string, range: { min?: number; max: number }): string | null | undefined {
  const value = body[name];
  if (value === undefined || value === null) return value;
  if (typeof value !== "string") throw invalidForm(name, "STRING_TYPE_CONVERT", "Could not interpret value as string.");
  if (value.length < (range.min ?? 0) || value.length > range.max)
    throw invalidForm(name, "BASE_TYPE_BAD_LENGTH", `Must be between ${range.min ?? 0} and ${range.max} in length.`);
  return value;
}
