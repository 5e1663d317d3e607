import { say } from "../../../kit/say.ts";
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
  /** Names that neither the kind nor every request has, as the client wrote them. */
  unknown: Map<string, Sent>;
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
  const unknown = new Map<string, Sent>();
  const issues: Issue[] = [];
  const { payload } = body;
  const isWrapped = Object.hasOwn(body, "payload") && isObject(payload);
  const wrapper = isWrapped ? ["payload"] : [];
  /** Fields of which parts have other names, too: these are taken part by part. */
  const divided = new Set([...Object.keys(aliases), ...Object.values(aliases)].flatMap((name) => name.split(".").slice(0, -1)));
  const aliasOf = (name: string): string => (Object.hasOwn(aliases, name) ? (aliases[name] ?? name) : name);
  const parts = new Map<string, readonly [field: string, part: string]>();

  function put(target: string, value: unknown, path: readonly string[], key: string): void {
    if (!fields.has(target)) {
      fields.set(target, value);
      sent.set(target, { path, key });
    } else if (!isSame(fields.get(target), value)) {
      issues.push(disagreement(path, sent.get(target)));
    }
  }

  function take(key: string, value: unknown, path: readonly string[]): void {
    const name = nameOf(key);
    if (serverOwned.has(name)) return void issues.push(refusal(path, "server_owned", say("workflows.this-field-is-given-by-the-service")));
    const instead = Object.hasOwn(unsupported, name) ? unsupported[name] : undefined;
    if (instead !== undefined) {
      if (anyway[name]?.includes(value) !== true) issues.push(refusal(path, "unsupported_field", instead));
      return;
    }
    const field = known.has(name) ? name : aliasOf(name);
    if (known.has(field)) {
      if (!divided.has(field) || !isObject(value)) return put(field, translate(value), path, key);
      put(field, {}, path, key);
      for (const [inner, given] of Object.entries(value)) putPart(aliasOf(`${field}.${nameOf(inner)}`), given, [...path, inner]);
    } else if (field !== name && known.has(rootOf(field))) putPart(field, value, path);
    else {
      unknown.set(key, { path, key });
      put(key, value, path, key);
    }
  }

  function putPart(target: string, value: unknown, path: readonly string[]): void {
    const field = rootOf(target);
    parts.set(target, [field, target.slice(field.length + 1)]);
    put(target, translate(value), path, path.at(-1) ?? "");
  }
  for (const [key, value] of Object.entries(body)) {
    if (key === "payload" && isWrapped) continue;
    if (key === "payload") issues.push(refusal([key], "invalid_type", say("workflows.the-payload-is-an-object")));
    else take(key, value, [key]);
  }
  if (isWrapped) for (const [key, value] of Object.entries(payload)) take(key, value, ["payload", key]);
  for (const [target, [field, part]] of parts) {
    const [value, whole] = [fields.get(target), fields.get(field)];
    fields.delete(target);
    if (whole === undefined || isObject(whole)) fields.set(field, { ...whole, [part]: value });
    else issues.push(disagreement(sent.get(target)?.path ?? [], sent.get(field)));
  }
  for (const [place, instead] of Object.entries(unsupported)) {
    const [field = "", part] = place.split(".");
    const value = fields.get(field);
    if (part === undefined || !isObject(value) || value[part] === undefined || anyway[place]?.includes(value[part]) === true) continue;
    issues.push(refusal([...(sent.get(field)?.path ?? [field]), part], "unsupported_field", instead));
  }
  return { fields, sent, unknown, issues, wrapper };
}

/** The path of an issue as the client spelled it. A missing field gets the client's own style. */
export function sentPath(
  path: Path,
  sent: ReadonlyMap<string, Sent>,
  { body, wrapper }: { body: Record<string, unknown>; wrapper: readonly string[] },
): PropertyKey[] {
  const [field, ...further] = path.map(String);
  if (field === undefined) return [];
  // A part of a field may have been sent beside it, under a name of its own.
  const part = sent.get(`${field}.${further[0] ?? ""}`);
  const inner = part === undefined ? further : further.slice(1);
  const at = part ?? sent.get(field);
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

/** The field of the payload that a name stands for or belongs to: `discord` of `discord.guild_ids`. */
export function rootOf(name: string): string {
  return name.split(".")[0] ?? name;
}

/** Whether two names were given the same: one value is the same as a list of it, and the order of ids does not count. */
function isSame(one: unknown, other: unknown): boolean {
  const [left, right] = [one, other].map((value) =>
    JSON.stringify(Array.isArray(value) ? (value.every((item) => typeof item === "string") ? value.toSorted() : value) : [value]),
  );
  return left === right;
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

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function disagreement(path: readonly string[], other: Sent | undefined): Issue {
  return refusal(path, "conflicting_fields", say("workflows.this-and-name-the-same-thing-and", { path: other?.path.join("/") ?? "" }));
}

function refusal(path: readonly string[], code: string, message: string): Issue {
  return { code: "custom", path: [...path], message, params: { code }, input: undefined };
}
