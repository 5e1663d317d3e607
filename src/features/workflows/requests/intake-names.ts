import type { z } from "zod";
import type { Kind } from "../kinds/kind.ts";

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** Where a field stood in the body, and under which name. */
export interface Sent {
  path: readonly string[];
  key: string;
}

export interface Collected {
  /** Values by the names used here; names inside known fields are translated too. */
  fields: Map<string, unknown>;
  sent: Map<string, Sent>;
  issues: Issue[];
  /** `["payload"]` when the client wraps its payload, else nothing. */
  wrapper: readonly string[];
}

/** Names only the service gives. */
const serverOwned = new Set(["id", "status", "reference", "revision", "created_by"]);

/** `userId`, `UserID` and `user-id` are `user_id`. */
export function nameOf(key: string): string {
  return key
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll("-", "_")
    .toLowerCase();
}

/** What a kind of request calls fields, and which it refuses. */
type Names = Pick<Kind, "aliases" | "unsupported" | "anyway">;

/** Bring the fields of a flat or wrapped body together under the names used here. */
export function collect(
  body: Record<string, unknown>,
  { aliases, unsupported = {}, anyway = {} }: Names,
  known: ReadonlySet<string>,
): Collected {
  const fields = new Map<string, unknown>();
  const sent = new Map<string, Sent>();
  const issues: Issue[] = [];
  const { payload } = body;
  const isWrapped = Object.hasOwn(body, "payload") && isObject(payload);
  const wrapper = isWrapped ? ["payload"] : [];

  function take(key: string, value: unknown, path: readonly string[]): void {
    const name = nameOf(key);
    if (serverOwned.has(name)) return void issues.push(refusal(path, "server_owned", "This field is given by the service."));
    const instead = Object.hasOwn(unsupported, name) ? unsupported[name] : undefined;
    if (instead !== undefined) {
      if (anyway[name]?.includes(value) !== true) issues.push(refusal(path, "unsupported_field", instead));
      return;
    }
    const field = Object.hasOwn(aliases, name) && !known.has(name) ? (aliases[name] ?? name) : name;
    const translated = known.has(field) ? translate(value) : value;
    const target = known.has(field) ? field : key;
    if (!fields.has(target)) {
      fields.set(target, translated);
      sent.set(target, { path, key });
    } else if (JSON.stringify(fields.get(target)) !== JSON.stringify(translated)) {
      issues.push(
        refusal(path, "conflicting_fields", `This and /${sent.get(target)?.path.join("/") ?? ""} name the same thing and disagree.`),
      );
    }
  }
  for (const [key, value] of Object.entries(body)) {
    if (key === "payload" && isWrapped) continue;
    if (key === "payload") issues.push(refusal([key], "invalid_type", "The payload is an object."));
    else take(key, value, [key]);
  }
  if (isWrapped) for (const [key, value] of Object.entries(payload)) take(key, value, ["payload", key]);
  for (const [place, instead] of Object.entries(unsupported)) {
    const [field = "", part] = place.split(".");
    const value = fields.get(field);
    if (part === undefined || !isObject(value) || value[part] === undefined || anyway[place]?.includes(value[part]) === true) continue;
    issues.push(refusal([...(sent.get(field)?.path ?? [field]), part], "unsupported_field", instead));
  }
  return { fields, sent, issues, wrapper };
}

/** The path of an issue as the client spelled it. A missing field gets the client's own style. */
export function sentPath(
  path: Path,
  sent: ReadonlyMap<string, Sent>,
  { body, wrapper }: { body: Record<string, unknown>; wrapper: readonly string[] },
): PropertyKey[] {
  const [field, ...inner] = path.map(String);
  if (field === undefined) return [];
  const at = sent.get(field);
  if (at === undefined) return [...wrapper, usesCamelCase(sent) ? camelCase(field) : field];
  let value: unknown = at.path.reduce<unknown>((outer, key) => (isObject(outer) ? outer[key] : undefined), body);
  const spelled: PropertyKey[] = [...at.path];
  for (const step of inner) {
    if (typeof value !== "object" || value === null) break;
    const key = Array.isArray(value)
      ? step
      : (Object.keys(value).find((known) => nameOf(known) === step) ?? (usesCamelCase(sent) ? camelCase(step) : step));
    spelled.push(key);
    value = (value as Record<string, unknown>)[key];
  }
  return spelled;
}

function usesCamelCase(sent: ReadonlyMap<string, Sent>): boolean {
  return [...sent.values()].some(({ key }) => /[a-z0-9][A-Z]/.test(key));
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_whole, letter: string) => letter.toUpperCase());
}

function translate(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(translate);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [nameOf(key), translate(inner)]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function refusal(path: readonly string[], code: string, message: string): Issue {
  return { code: "custom", path: [...path], message, params: { code }, input: undefined };
}
