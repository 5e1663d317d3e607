import { say } from "../kit/say.ts";
import { z } from "zod";
import { isTakenText, showText, unstorableText } from "./storable.ts";
import { fieldErrors, unstorableFields } from "./validation.ts";

/**
 * Schemas of what others write: lists, files, Discord, receivers, AI clients. They take what a column of either database keeps, and nothing
 * else, so that no write fails because of what somebody else has written.
 */

/** The largest number of a column of 32 bits. */
const maxInt4 = 2_147_483_647;
/** Longest part of a value that a report shows. */
const shownLength = 100;

/** A whole number that a column of 32 bits keeps. */
export function foreignInt(min = -maxInt4 - 1, max = maxInt4) {
  return z.int().min(min).max(max);
}

/** A text of at most so many characters that both databases keep as it is. */
export function foreignText(max: number, min = 0) {
  return z.string().min(min).max(max).refine(isTakenText, unstorableText);
}

/** A text of any length of which what cannot be stored is replaced: a name of Discord is kept, whatever it holds. */
export const shownText = z.string().transform(showText);

/** A point in time that both databases keep: from the year 1 to the year 8999, with or without an offset. */
export const ForeignTime = z.iso.datetime({ offset: true }).transform((text, context) => {
  const at = new Date(text);
  const year = at.getUTCFullYear();
  if (year >= 1 && year < 9000) return at;
  context.addIssue({ code: "custom", message: say("kernel.the-date-is-outside-the-years-1") });
  return z.NEVER;
});

/** What is wrong with a foreign value: the field and the reason. */
export interface ForeignFault {
  /** RFC 6901; empty for the value as a whole. */
  pointer: string;
  code: string;
  detail: string;
}

/**
 * A foreign value as its schema takes it, or what is wrong with it. Nothing is thrown.
 * @param isPart whether what is within it is read by itself, and not judged here
 */
export function readForeign<T extends z.ZodType>(
  schema: T,
  value: unknown,
  { isPart = false } = {},
): { data: z.output<T> } | { faults: readonly ForeignFault[] } {
  const parsed = schema.safeParse(value, { reportInput: true });
  const errors = parsed.success ? (isPart ? [] : unstorableFields(parsed.data, "body")) : fieldErrors(parsed.error.issues, "body");
  if (parsed.success && errors.length === 0) return { data: parsed.data };
  return { faults: errors.map(({ pointer, code, detail }) => ({ pointer, code, detail })) };
}

/** A foreign value as a report shows it: storable, on one line, and cut. */
export function shownValue(value: unknown): string {
  const text = typeof value === "object" && value !== null ? (Array.isArray(value) ? "[…]" : "{…}") : String(value);
  const line = showText(text.slice(0, shownLength * 2))
    .replaceAll(/\s+/g, " ")
    .trim();
  return line.length > shownLength ? `${line.slice(0, shownLength - 1).replace(/[\uD800-\uDBFF]$/, "")}…` : line;
}
