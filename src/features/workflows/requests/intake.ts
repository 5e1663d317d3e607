import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { jsonObject } from "../../../kernel/parsing.ts";
import { pointer } from "../../../kernel/validation.ts";
import { CommonFields } from "./fields.ts";
import { collect, isObject, rootOf, sentPath } from "./intake-names.ts";
import { meantText, refusalOf } from "./unknown-names.ts";
import type { Kind } from "../kinds/kind.ts";
import type { Warning } from "./workflows.schema.ts";

/** A creation body, understood. */
export interface Intake {
  payload: Record<string, unknown>;
  common: CommonFields;
  /** What nobody here knows, kept as it was sent. */
  extra: Record<string, unknown>;
  warnings: Warning[];
  /** Where a field stands in the body, or would, as the client spells it. */
  pointerTo(path: readonly PropertyKey[]): string;
}

const maxExtraBytes = 4096;

/**
 * Understand a creation body: flat or wrapped in `payload`, camelCase or snake_case, with the kind's aliases. Unknown fields are kept,
 * but for those whose name speaks of a place, a person, a time, a length or an act: a client counts on them.
 * @throws ZodError whose paths are spelled as the client sent them
 */
export function understand(kind: Kind, body: unknown): Intake {
  const parsedBody = z.record(z.string(), z.unknown()).parse(body, { reportInput: true });
  const known = new Set([...Object.keys(kind.payload.shape), ...Object.keys(CommonFields.shape)]);
  const { fields, sent, unknown, issues, wrapper } = collect(parsedBody, kind, known);
  const spell = (path: readonly PropertyKey[]) => sentPath(path, sent, { body: parsedBody, wrapper });
  const warnings: Warning[] = [];
  kind.prepare?.(fields);
  for (const [field, value] of assume(kind, fields)) {
    warnings.push({
      code: "field_assumed",
      pointer: `/${[...wrapper, field].join("/")}`,
      detail: say("workflows.was-not-sent-is-assumed", { name: field, value: JSON.stringify(value) }),
    });
  }

  const pick = (names: readonly string[]) =>
    Object.fromEntries(names.filter((name) => fields.has(name)).map((name) => [name, fields.get(name)]));
  const payload = kind.payload.safeParse(pick(Object.keys(kind.payload.shape)), { reportInput: true });
  const common = CommonFields.safeParse(pick(Object.keys(CommonFields.shape)), { reportInput: true });
  const extra = Object.fromEntries([...unknown].map(([key]) => [key, fields.get(key)]));
  for (const [key, at] of unknown) {
    const refused = refusalOf(kind, key);
    if (refused !== undefined) issues.push(refusal(at.path, "unknown_field", refused));
  }
  if (Buffer.byteLength(JSON.stringify(extra)) > maxExtraBytes) {
    issues.push({
      code: "custom",
      path: [],
      message: say("workflows.the-fields-that-are-not-known-here"),
      params: { code: "too_large" },
      input: undefined,
    });
  }
  for (const issue of [...(payload.error?.issues ?? []), ...(common.error?.issues ?? [])]) {
    const keys = issue.code === "unrecognized_keys" ? { keys: issue.keys.map((key) => String(spell([...issue.path, key]).at(-1))) } : {};
    issues.push({ ...issue, ...keys, path: spell(issue.path) });
  }
  if (issues.length > 0 || !payload.success || !common.success) throw new z.ZodError(issues);
  for (const at of unknown.values()) {
    warnings.push({
      code: "unknown_field_kept",
      pointer: `/${at.path.join("/")}`,
      detail: say("workflows.this-field-is-not-known-here-it"),
    });
  }
  return { payload: payload.data, common: common.data, extra, warnings, pointerTo: (path) => pointer(spell(path)) };
}

/**
 * The whole payload after a change: what is sent replaces, under any of its names; null takes away. Who it is about stays.
 * @throws ZodError with paths below /payload, as the client spelled them
 */
export function understandAmendment(
  kind: Kind,
  before: Record<string, unknown>,
  changes: Record<string, unknown>,
): Record<string, unknown> {
  const { known, fields, sent, issues } = fieldsOf(kind, changes);
  const spell = (path: readonly PropertyKey[]) => ["payload", ...sentPath(path, sent, { body: changes, wrapper: [] })];
  // A part of a field that was sent under a name of its own leaves the other parts as they are.
  for (const [name, value] of fields)
    if (!sent.has(name) && isObject(value))
      fields.set(name, { ...withoutOtherPlace(kind, name, jsonObject(before[name]), value), ...value });
  const kept = Object.entries({ ...before, ...Object.fromEntries(fields) }).filter(
    ([name, value]) => known.has(name) && !(fields.has(name) && value === null && !isNullable(kind, name)),
  );
  const payload = kind.payload.safeParse(Object.fromEntries(kept), { reportInput: true });
  for (const issue of payload.error?.issues ?? []) issues.push({ ...issue, path: spell(issue.path) });
  if (payload.success) {
    const about = new Set(kind.subjects(payload.data).map(({ kind: what, id }) => `${what}:${id}`));
    if (kind.subjects(before).some(({ kind: what, id }) => !about.has(`${what}:${id}`)))
      issues.push(refusal(["payload"], "subject_changed", say("workflows.whom-a-request-is-about-stays-withdraw")));
  }
  if (issues.length > 0 || !payload.success) throw new z.ZodError(issues);
  return payload.data;
}

/** What a field was, without the servers where the changes say "everywhere", and without that where they name servers. */
function withoutOtherPlace({ place }: Kind, name: string, before: Record<string, unknown>, changes: Record<string, unknown>) {
  const [servers, everywhere] = [place?.servers, place?.everywhere].map((path) => path?.split("."));
  const isHere = servers?.[0] === name && everywhere?.[0] === name;
  const [some = "", all = ""] = isHere ? [servers[1], everywhere[1]] : [];
  const dropped = new Set([...(Object.hasOwn(changes, some) ? [all] : []), ...(changes[all] === true ? [some] : [])]);
  return Object.fromEntries(Object.entries(before).filter(([part]) => !dropped.has(part)));
}

/** Spells where a field of a payload stands in changes, or would. */
export function pointerIn(kind: Kind, changes: Record<string, unknown>): (path: readonly PropertyKey[]) => string {
  const { sent } = fieldsOf(kind, changes);
  return (path) => pointer(["payload", ...sentPath(path, sent, { body: changes, wrapper: [] })]);
}

/** Where some fields stand in changes of a payload, as the client spelled them. */
export function pointersTo(kind: Kind, changes: Record<string, unknown>, names: ReadonlySet<string>): string[] {
  return [...fieldsOf(kind, changes).sent].flatMap(([field, at]) => (names.has(rootOf(field)) ? [`/payload/${at.path.join("/")}`] : []));
}

/** Refuse changes to fields that no request of the kind has, whatever it is. @throws ZodError with paths below /payload */
export function requireKnownFields(kind: Kind, changes: Record<string, unknown>): void {
  const { issues } = fieldsOf(kind, changes);
  if (issues.length > 0) throw new z.ZodError(issues);
}

/** Changes by the names used here, and what is wrong with those names. */
function fieldsOf(kind: Kind, changes: Record<string, unknown>) {
  const known = new Set(Object.keys(kind.payload.shape));
  const { fields, sent, unknown, issues: wrongNames } = collect(changes, kind, known);
  const issues = wrongNames.map((issue) => ({ ...issue, path: ["payload", ...issue.path] }));
  for (const [key, at] of unknown) issues.push(refusal(["payload", ...at.path], "unknown_field", meantText(kind, key)));
  return { known, fields, sent, issues };
}

function refusal(path: readonly string[], code: string, message: string): z.core.$ZodIssue {
  return { code: "custom", path: [...path], message, params: { code }, input: undefined };
}

function isNullable(kind: Kind, name: string): boolean {
  const field = kind.payload.shape[name];
  return field instanceof z.ZodType && field.safeParse(null).success;
}

/** Fill what the kind assumes, in its order; returns what was filled. */
function assume(kind: Kind, fields: Map<string, unknown>): [string, unknown][] {
  const filled: [string, unknown][] = [];
  for (const [field, guess] of Object.entries(kind.assumed ?? {})) {
    if (fields.has(field)) continue;
    const value = guess(Object.fromEntries(fields));
    if (value === undefined) continue;
    fields.set(field, value);
    filled.push([field, value]);
  }
  return filled;
}
