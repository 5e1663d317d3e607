import type { GivenFile } from "./verbs.ts";
import type { Attachment } from "discord.js";
import type { FormInteraction, SlashInteraction } from "../discord/command.ts";
import type { CommandInput } from "./entry.ts";
import { partsOf, permanent } from "./typed-times.ts";

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

function fileOf({ id, name, size, url }: Attachment): GivenFile {
  return { id, name, bytes: size, url };
}

/** A length that was given; `permanent` is no end. */
export function durationIn(given: CommandInput, name = "duration"): { duration?: string | null } {
  const length = textIn(given, name);
  return length === undefined ? {} : { duration: length === permanent ? null : length };
}

/** An end that was given as a length or as a time. */
export function endOf(given: CommandInput): { duration?: string | null; until?: string } {
  const until = textIn(given, "until");
  if (until === undefined) return {};
  return until === permanent || partsOf(until) !== undefined ? durationIn(given, "until") : { until };
}
