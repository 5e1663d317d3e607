import { say } from "../kit/say.ts";
import { z } from "zod";
import type { FieldError } from "./errors.ts";
import { snowflakePattern } from "./fields.ts";
import { isAbsent, issueText, requiredText } from "./issue-texts.ts";
import { isTakenText, showText, unstorableText } from "./storable.ts";

// The library's own sentences speak of types and patterns; they reach neither people nor clients.
z.config({ localeError: issueText });

type Issue = z.core.$ZodIssue;

/** The wrong fields behind a schema's issues, with RFC 6901 pointers. */
export function fieldErrors(issues: readonly Issue[], where: FieldError["in"]): FieldError[] {
  return issues.flatMap((issue) => {
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) =>
        fieldErrorAt([...issue.path, key], where, "unknown_field", say("kernel.this-field-is-not-known-here")),
      );
    }
    return fieldErrorAt(issue.path, where, codeOf(issue), detailOf(issue));
  });
}

function fieldErrorAt(path: readonly PropertyKey[], where: FieldError["in"], code: string, detail: string): FieldError {
  return { pointer: pointer(path), in: where, code, detail };
}

/** An RFC 6901 pointer; a name that cannot be stored stands in it as it is shown. */
export function pointer(path: readonly PropertyKey[]): string {
  return path.map((step) => `/${showText(String(step)).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

const tooBig: Readonly<Record<string, string>> = { string: "too_long", array: "too_many", set: "too_many", map: "too_many" };
const tooSmall: Readonly<Record<string, string>> = { string: "too_short", array: "too_few", set: "too_few", map: "too_few" };
const ofIds: ReadonlySet<string> = new Set([say("kernel.send-ids-as-strings-of-17-20"), say("kernel.send-ids-as-strings-of-17-20-2")]);

function codeOf(issue: Issue): string {
  if (isAbsent(issue)) return "required";
  if (ofIds.has(issue.message)) return "invalid_snowflake";
  switch (issue.code) {
    case "invalid_type":
      return "invalid_type";
    case "too_big":
      return tooBig[issue.origin] ?? "too_large";
    case "too_small":
      return tooSmall[issue.origin] ?? "too_small";
    case "invalid_format":
      return issue.format === "regex" ? regexCode(issue.pattern) : `invalid_${issue.format}`;
    case "custom":
      return typeof issue.params?.["code"] === "string" ? issue.params["code"] : "invalid_value";
    default:
      return "invalid_value";
  }
}

function regexCode(pattern: string | undefined): string {
  return pattern?.includes(snowflakePattern) === true ? "invalid_snowflake" : "invalid_format";
}

function detailOf(issue: Issue): string {
  return isAbsent(issue) ? requiredText : issue.message;
}

/**
 * Parse one part of a request; what is wrong joins `errors`, so that a caller sees everything at once.
 * @param byLine fields whose texts whoever reads them judges
 */
export function check(
  schema: z.ZodType,
  value: unknown,
  where: FieldError["in"],
  errors: FieldError[],
  byLine: readonly string[] = [],
): unknown {
  const parsed = schema.safeParse(value);
  const judged = byLine.length === 0 ? value : without(value, byLine);
  const isText = isStorable(judged);
  if (parsed.success && isText) return parsed.data;
  const unstorable = isText ? [] : unstorableFields(judged, where);
  const reported = parsed.success ? [] : (schema.safeParse(value, { reportInput: true }).error?.issues ?? []);
  const others = fieldErrors(reported, where).filter((error) => !unstorable.some((known) => known.pointer === error.pointer));
  errors.push(...unstorable, ...others);
  return undefined;
}

function without(value: unknown, fields: readonly string[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !fields.includes(name)));
}

/** Neither in values nor in keys; no database of ours keeps U+0000 or broken surrogate pairs as they are. */
function isStorable(value: unknown): boolean {
  if (typeof value === "string") return isTakenText(value);
  if (typeof value !== "object" || value === null) return true;
  for (const key in value) if (!isTakenText(key) || !isStorable((value as Record<string, unknown>)[key])) return false;
  return true;
}

/** The fields of a value that no database of ours keeps as they are. */
export const unstorableFields = (value: unknown, where: FieldError["in"]): FieldError[] => textErrors(value, where, []);

function textErrors(value: unknown, where: FieldError["in"], path: readonly string[]): FieldError[] {
  if (typeof value === "string") return isTakenText(value) ? [] : [unstorable(path, where)];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    isTakenText(key) ? textErrors(inner, where, [...path, key]) : unstorable([...path, key], where),
  );
}

function unstorable(path: readonly string[], where: FieldError["in"]): FieldError {
  return { pointer: pointer(path), in: where, code: "invalid_characters", detail: unstorableText };
}
