import { parseDuration } from "../kernel/fields.ts";
import type { Given } from "./entry.ts";
import { textIn, typedTime } from "./given.ts";

/** `7d` is a length, everything else a time, as the verbs take it. */
export function endOf(given: Given): { duration?: string; until?: string } {
  const until = textIn(given, "until");
  if (until === undefined) return {};
  return parseDuration(until) === undefined ? { until: typedTime(until) } : { duration: until };
}

/** The same as a time, for verbs that take no length. @param now in milliseconds */
export function timeOf(text: string | undefined, now: number): string | undefined {
  const seconds = text === undefined ? undefined : parseDuration(text);
  if (seconds === undefined) return text === undefined ? undefined : typedTime(text);
  const at = new Date(now + seconds * 1000);
  return Number.isNaN(at.getTime()) ? text : at.toISOString();
}

/** A length as people type it, in any case; `permanent` is no end. What is none is left for the verb to refuse. */
export function durationIn(given: Given): { duration?: string | null } {
  const typed = textIn(given, "duration")?.trim();
  if (typed === undefined) return {};
  if (/^permanent$/i.test(typed)) return { duration: null };
  return { duration: [typed.toLowerCase(), typed.toUpperCase()].find((text) => parseDuration(text) !== undefined) ?? typed };
}

/** Seconds as people type a length: `3d`, `90m`. */
export function lengthText(seconds: number): string {
  const units = [
    ["d", 86_400],
    ["h", 3600],
    ["m", 60],
  ] as const;
  const unit = units.find(([, of]) => seconds >= of && seconds % of === 0);
  return unit === undefined ? `${seconds.toString()} s` : `${(seconds / unit[1]).toString()}${unit[0]}`;
}
