import type { z } from "zod";
import type { FieldError } from "../kernel/errors.ts";
import { fieldErrors, pointer } from "./validation.ts";

/** Parse one part of a request; what is wrong joins `errors`, so that a caller sees everything at once. */
export function check(schema: z.ZodType, value: unknown, where: FieldError["in"], errors: FieldError[]): unknown {
  const parsed = schema.safeParse(value);
  const isText = isStorable(value);
  if (parsed.success && isText) return parsed.data;
  const unstorable = isText ? [] : textErrors(value, where, []);
  const reported = parsed.success ? [] : (schema.safeParse(value, { reportInput: true }).error?.issues ?? []);
  const others = fieldErrors(reported, where).filter((error) => !unstorable.some((known) => known.pointer === error.pointer));
  errors.push(...unstorable, ...others);
  return undefined;
}

const unstorableCharacter = /[\0\p{Cs}]/u;

/** No database of ours keeps U+0000 or broken surrogate pairs as they are; neither in values nor in keys. */
function isStorable(value: unknown): boolean {
  if (typeof value === "string") return isStorableText(value);
  if (typeof value !== "object" || value === null) return true;
  for (const key in value) if (!isStorableText(key) || !isStorable((value as Record<string, unknown>)[key])) return false;
  return true;
}

function isStorableText(text: string): boolean {
  return !unstorableCharacter.test(text);
}

/** A text with every character that cannot be stored replaced. */
export function showText(text: string): string {
  return isStorableText(text) ? text : text.replace(/[\0\p{Cs}]/gu, "\u{fffd}");
}

function textErrors(value: unknown, where: FieldError["in"], path: readonly string[]): FieldError[] {
  if (typeof value === "string") return isStorableText(value) ? [] : [unstorable(path, where)];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    isStorableText(key) ? textErrors(inner, where, [...path, key]) : unstorable([...path, showText(key)], where),
  );
}

function unstorable(path: readonly string[], where: FieldError["in"]): FieldError {
  return { pointer: pointer(path), in: where, code: "invalid_characters", detail: "The text holds a character that cannot be stored." };
}
