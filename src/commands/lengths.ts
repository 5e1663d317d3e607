import { parseDuration } from "../kernel/fields.ts";
import type { Given } from "./entry.ts";
import { textIn } from "./given.ts";

/** `7d` is a length, everything else a time, as the verbs take it. */
export function endOf(given: Given): { duration?: string; until?: string } {
  const until = textIn(given, "until");
  if (until === undefined) return {};
  return parseDuration(until) === undefined ? { until } : { duration: until };
}

/** The same as a time, for verbs that take no length. @param now in milliseconds */
export function timeOf(text: string | undefined, now: number): string | undefined {
  const seconds = text === undefined ? undefined : parseDuration(text);
  if (seconds === undefined) return text;
  const at = new Date(now + seconds * 1000);
  return Number.isNaN(at.getTime()) ? text : at.toISOString();
}
