import type { GivenFile } from "./verbs.ts";
import type { Attachment } from "discord.js";
import type { FormInteraction, SlashInteraction } from "../discord/command.ts";
import type { CommandInput } from "./entry.ts";
import { parseDuration } from "../kernel/fields.ts";
import type { Translate } from "./texts.ts";

const subcommandKinds = new Set([1, 2]);
/** Whatever else stands in an option is no value. */
const plain = new Set(["string", "number", "boolean"]);

/** What was typed and picked, as plain data. */
export function parseOptions(options: SlashInteraction["options"]): CommandInput {
  const values: Record<string, string | number | boolean> = {};
  const files: Record<string, readonly GivenFile[]> = {};
  const collect = (list: readonly (typeof options.data)[number][]): void => {
    for (const { name, type, value, attachment, options: inner } of list) {
      if (subcommandKinds.has(type)) collect(inner ?? []);
      else if (attachment !== undefined && attachment !== null) files[name] = [fileOf(attachment)];
      else if (plain.has(typeof value)) values[name] = value as string;
    }
  };
  collect(options.data);
  return { values, files };
}

/** What a form was filled in with; empty fields count as not given. */
export function parseForm({ fields }: FormInteraction): CommandInput {
  const values: Record<string, string | boolean | readonly string[]> = {};
  const files: Record<string, readonly GivenFile[]> = {};
  for (const [name, field] of fields.fields) {
    if ("attachments" in field) files[name] = [...field.attachments.values()].map(fileOf);
    else if ("values" in field) values[name] = field.values.length === 1 ? (field.values[0] ?? "") : field.values;
    else if (field.value !== null && field.value !== "") values[name] = field.value;
  }
  return { values: Object.fromEntries(Object.entries(values).filter(([, value]) => !Array.isArray(value) || value.length > 0)), files };
}

export function joined(first: CommandInput, second: CommandInput): CommandInput {
  return { ...first, values: { ...first.values, ...second.values }, files: { ...first.files, ...second.files } };
}

/** A value that was given as text; undefined when it was not given. */
export function textIn({ values }: CommandInput, name: string): string | undefined {
  const value = values[name];
  return value === undefined || Array.isArray(value) ? undefined : value.toString();
}

/** Several of the given values as they are, under the names of the fields they are sent as. */
export function picked({ values }: CommandInput, ...names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.flatMap((name) => (values[name] === undefined ? [] : [[name.replaceAll("-", "_"), values[name]]])));
}

/** A time that was typed, as the HTTP API takes it: `2026-11-20` is the midnight its day begins with, `2026-11-20 14:30` a minute, both in UTC. */
export function timeIn(given: CommandInput, name: string): string | undefined {
  const typed = textIn(given, name);
  return typed === undefined ? undefined : typedTime(typed);
}

/** As `timeIn`, of a text. What is no such time is left for the verb to refuse. */
export function typedTime(text: string): string {
  const typed = text.trim();
  const [, day, minute = "00:00"] = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d))?$/.exec(typed) ?? [];
  return day === undefined ? typed : `${day}T${minute}:00.000Z`;
}

function fileOf({ id, name, size, url }: Attachment): GivenFile {
  return { id, name, bytes: size, url };
}

/** `7d` is a length, everything else a time, as the verbs take it. */
export function endOf(given: CommandInput): { duration?: string; until?: string } {
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
export function durationIn(given: CommandInput, name = "duration"): { duration?: string | null } {
  const typed = textIn(given, name)?.trim();
  if (typed === undefined) return {};
  if (/^permanent$/i.test(typed)) return { duration: null };
  return { duration: [typed.toLowerCase(), typed.toUpperCase()].find((text) => parseDuration(text) !== undefined) ?? typed };
}

const lengths = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
] as const;

/** A length of time in words, in its two largest units: "23 minutes", "3 days 4 hours". */
export function lengthText(seconds: number, t: Translate): string {
  const whole = Math.max(0, Math.round(seconds));
  const first = lengths.findIndex(([, of]) => whole >= of);
  let left = whole;
  const parts = (first < 0 ? lengths.slice(-1) : lengths.slice(first, first + 2)).flatMap(([unit, of]) => {
    const count = Math.floor(left / of);
    left -= count * of;
    return count === 0 && whole > 0 ? [] : [t(count === 1 ? `length ${unit}` : `length ${unit}s`, { count })];
  });
  return parts.join(" ");
}
