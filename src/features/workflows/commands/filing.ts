import { boundsOf, resolved as resolve, timeOf, type FieldSchema } from "../../../commands/bounds.ts";
import type { FieldSpec, CommandInput, OptionSpec } from "../../../commands/entry.ts";
import { durationIn, picked, textIn } from "../../../commands/input.ts";
import { type WorkflowKind, workflowKinds } from "../../../kernel/vocabulary.ts";
import type { FilingOption } from "../kinds/kind.ts";
import { filingOperation, kinds, schemaAtTop } from "../kinds/kinds.ts";
import { everywhereValue, serversOption } from "./servers.ts";
import { linesOf } from "./moves.ts";

/** What a kind of request is filed with in Discord. */
export interface Filing {
  /** The sub-command. */
  path: string;
  operation: string;
  options: readonly OptionSpec[];
  form: readonly FieldSpec[];
  /** The fields of the kind, under the names of the HTTP routes. */
  fields: (given: CommandInput) => object;
}

/** The longest text that is an option; a longer one has a field of the form. */
const maxOption = 100;
const maxOptions = 23;
const maxParagraph = 4000;
const maxFormFields = 5;
/** What every kind takes. */
const commonOptions: readonly OptionSpec[] = [
  { name: "priority", kind: "text" },
  { name: "urgent", kind: "boolean" },
];
const commonFields: Readonly<Record<string, FieldSpec>> = {
  summary: { name: "summary", kind: "paragraph" },
  evidence: { name: "evidence", kind: "paragraph", max: maxParagraph },
};
const hyphened = (field: string): string => field.replaceAll("_", "-");

/** Every kind of request, as `/request` files it: options, minima, maxima and choices come from the schema of its payload. */
export const filings: readonly Filing[] = workflowKinds.map(filingOf);

function filingOf(type: WorkflowKind): Filing {
  const { payload, filing, assumed = {} } = kinds[type];
  const { $defs = {}, required = [], ...top } = schemaAtTop(payload) as FieldSchema & { required?: readonly string[] };

  const resolved = (schema: FieldSchema = {}) => resolve(schema, $defs);
  const schemaOf = (path: string): FieldSchema & { of?: string } =>
    resolved(
      path
        .split(".")
        .reduce<FieldSchema>((schema, part) => (/^\d+$/.test(part) ? schema.items : resolved(schema).properties?.[part]) ?? {}, top),
    );
  const isLong = (field: string): boolean => schemaOf(field).type === "string" && (schemaOf(field).maxLength ?? 0) > maxOption;
  const isSimple = (field: string): boolean => {
    const { type: of, items } = schemaOf(field);
    return of !== "object" && (of !== "array" || resolved(items).type === "string");
  };
  const fields = Object.keys(top.properties ?? {}).toSorted((a, b) => Number(required.includes(b)) - Number(required.includes(a)));
  const {
    path = type,
    options,
    form,
    fields: further,
  } = filing ?? {
    options: fields.filter((field) => isSimple(field) && !isLong(field)).slice(0, maxOptions),
    form: [...fields.filter(isLong).slice(0, maxFormFields - 2), "summary", "evidence"],
  };
  const asks = form.map((one) => (typeof one === "string" ? { name: hyphened(one), field: one } : one));
  const asked = options.map((option): FilingOption => (typeof option === "string" ? { field: option } : option));
  const fieldsOf = ({ field }: FilingOption): readonly string[] => (typeof field === "string" ? [field] : field);
  const nameOf = (option: FilingOption): string => option.name ?? hyphened(fieldsOf(option)[0] ?? "");

  function optionOf(option: FilingOption): OptionSpec {
    const [field = ""] = fieldsOf(option);
    const isRequired = option.required ?? (required.includes(field) && assumed[field] === undefined);
    const { completes, isPast, max } = option;
    const time = option.time ?? timeOf(payload.shape, field, isPast === true);
    const spec = { name: nameOf(option), ...valueOf(option.as, field), ...(max !== undefined && { max }) };
    return {
      ...spec,
      ...(time !== undefined && { time }),
      ...(completes !== undefined && { completes }),
      ...(isRequired && { required: true }),
    };
  }

  function valueOf(as: FilingOption["as"], field: string): Omit<OptionSpec, "name"> {
    const schema = schemaOf(field);
    const { of, type: what } = schema;
    if (as === "server" || (of === "Snowflake" && field.includes("server"))) return { kind: "text", min: 17, max: 20 };
    if (as === "user" || of === "Snowflake") return { kind: "user" };
    if (as === "boolean" || what === "boolean") return { kind: "boolean" };
    if (what === "array") return { kind: "text", max: 500 };
    if (what === "integer") return { kind: "integer", ...boundsOf(schema) };
    return { kind: "text", ...(schema.enum === undefined && { max: maxOption }), ...boundsOf(schema) };
  }

  function fieldOf({ name, field }: { name: string; field: string }): FieldSpec {
    const { minLength: min = 0, maxLength = maxParagraph } = schemaOf(field);
    const isRequired = required.includes(field.split(".")[0] ?? "");
    return (
      commonFields[name] ?? {
        name,
        kind: "paragraph",
        max: Math.min(maxLength, maxParagraph),
        ...(min > 1 && { min }),
        ...(isRequired && { required: true }),
      }
    );
  }

  function read(given: CommandInput, name: string, field: string): unknown {
    const { of, type: what } = schemaOf(field);
    if (name === serversOption && Array.isArray(given.values[name]))
      return given.values[name].length === 0 ? undefined : given.values[name];
    const text = textIn(given, name);
    if (text === undefined) return undefined;
    if (what === "array") return text.split(/[\s,]+/).filter((id) => id !== "");
    return of === "Duration" ? durationIn(given, name).duration : given.values[name];
  }

  const filled = [
    ...asked.flatMap((option) => fieldsOf(option).map((field) => ({ name: nameOf(option), field }))),
    ...asks.filter(({ name }) => commonFields[name] === undefined),
  ];
  return {
    path,
    operation: filingOperation(type),
    options: [...asked.map(optionOf), ...commonOptions],
    form: asks.map(fieldOf),
    fields(given) {
      const body = {};
      for (const { name, field } of filled) write(body, field.split("."), read(given, name, field));
      return { ...body, ...further?.(given.values) };
    },
  };
}

/** Puts a value into an object, making what stands on the way; a list takes what it lacks. */
function write(into: Record<string, unknown> | unknown[], [part = "", ...rest]: readonly string[], value: unknown): void {
  if (value === undefined) return;
  const target = into as Record<string, unknown>;
  const found = target[part];
  if (rest.length > 0) write((target[part] ??= /^\d+$/.test(rest[0] ?? "") ? [] : {}) as Record<string, unknown>, rest, value);
  else target[part] = Array.isArray(value) ? [...new Set([...((found as unknown[] | undefined) ?? []), ...(value as unknown[])])] : value;
}

/** The body of a filing: its own fields, and what every kind takes. */
export function filingBody({ fields }: Pick<Filing, "fields">, given: CommandInput, guildId: string | undefined): object {
  const lines = linesOf(textIn(given, "evidence"));
  return {
    ...picked(given, "reason", "summary", "priority", "urgent"),
    ...fields(given),
    ...picked(given, everywhereValue),
    ...(lines.length > 0 && { evidence: lines }),
    ...(given.channel !== undefined && { origin: { channel_id: given.channel, guild_id: guildId } }),
  };
}
