import { z } from "zod";
import { parseDuration } from "../kernel/fields.ts";
import type { RouteSpec } from "../operations/route.ts";
import type { Entry, FieldSpec, OptionSpec, TimeSpec } from "./entry.ts";

/** What is read of the JSON Schema of a field. */
export interface FieldSchema {
  $ref?: string;
  type?: string;
  format?: string;
  enum?: readonly string[];
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  items?: FieldSchema;
  properties?: Readonly<Record<string, FieldSchema>>;
  anyOf?: readonly FieldSchema[];
  $defs?: Readonly<Record<string, FieldSchema>>;
}

export type Bounds = Pick<OptionSpec, "choices" | "min" | "max" | "time">;

const maxChoices = 25;
const maxTyped = 40;
/** What a field of a form takes at most; a text given as an option may stand in one. */
const maxText = 4000;

/** The schema behind a reference and a nullable field, with the name of the type it refers to. */
export function resolved(schema: FieldSchema, defs: FieldSchema["$defs"] = schema.$defs): FieldSchema & { of?: string } {
  const { $ref, anyOf } = schema;
  if (anyOf !== undefined) return resolved(anyOf[0] ?? {}, defs);
  const of = $ref?.split("/").at(-1);
  return of === undefined ? schema : { ...defs?.[of], of };
}

/** What Discord can check of a field before it is sent: the values to choose from, the least and the most. */
export function boundsOf({
  of,
  type,
  enum: choices,
  minimum: min,
  maximum: max,
  minLength,
  maxLength,
}: ReturnType<typeof resolved>): Bounds {
  if (choices !== undefined) return choices.length > maxChoices ? {} : { choices };
  if (of === "Timestamp" || of === "Duration") return { max: maxTyped };
  if (type === "integer" || type === "number")
    return { ...(min !== undefined && { min }), ...(max !== undefined && max < Number.MAX_SAFE_INTEGER && { max }) };
  if (type !== "string") return {};
  return { ...(minLength !== undefined && minLength > 1 && { min: minLength }), ...(maxLength !== undefined && { max: maxLength }) };
}

/**
 * The bounds of an entry's options and form fields, from the input of the route it calls; what an option says itself stays.
 * An option is a field of the query or the body of the same name, with hyphens for underscores.
 */
export function withBounds(entry: Entry, specOf: (operation: string) => RouteSpec | undefined): Entry {
  const specs = [entry.operation, ...(entry.operations ?? [])].flatMap((operation) => specOf(operation) ?? []);
  const shapes = specs.flatMap(({ request }) => [
    ...shapesOf(request?.query).map((shape) => ({ shape, isFilter: true })),
    ...shapesOf(request?.body).map((shape) => ({ shape, isFilter: false })),
  ]);
  const known = (option: string): Bounds => {
    const name = option.replaceAll("-", "_");
    const found = shapes.find(({ shape }) => shape[name] !== undefined || shape[secondsOf(name)] !== undefined);
    if (found === undefined) return {};
    const { shape, isFilter } = found;
    const time = timeOf(shape, name, isFilter);
    const field = shape[name];
    return { ...(field === undefined ? { max: maxTyped } : inputBounds(field)), ...(time !== undefined && { time }) };
  };
  const bounded = <Spec extends OptionSpec | FieldSpec>(one: Spec): Spec =>
    isBounded(one) ? { ...forKind(one, known(one.name)), ...one } : one;
  const { options, form } = entry;
  return { ...entry, ...(options && { options: options.map(bounded) }), ...(form && { form: form.map(bounded) }) };
}

type Shape = Readonly<Record<string, z.ZodType>>;

/** A length that a route takes in seconds is typed as a length. */
const secondsOf = (name: string): string => `${name}_seconds`;

/** Whether a field is a length or a time. A time that narrows a list is past; one that a record gets is ahead. */
export function timeOf(shape: Shape, name: string, isFilter: boolean): TimeSpec | undefined {
  const [field, seconds] = [shape[name], shape[secondsOf(name)]];
  if (field === undefined) {
    const isTaken = (value: string): boolean => seconds?.safeParse(parseDuration(value)).success === true;
    return seconds === undefined ? undefined : { kind: "length", accepts: isTaken };
  }
  const { of } = schemaOf(field);
  const length = of === "Duration" ? field : of === "Timestamp" && name === "until" ? shape["duration"] : undefined;
  const accepts = (value: string): boolean => field.safeParse(value).success || length?.safeParse(value).success === true;
  if (length !== undefined) return { kind: of === "Duration" ? "length" : "end", canBePermanent: length.safeParse(null).success, accepts };
  return of === "Timestamp" ? { kind: isFilter ? "past" : "time", accepts } : undefined;
}

/** By field, as many fields are the same in many routes. */
const schemas = new WeakMap<z.ZodType, ReturnType<typeof resolved>>();

function schemaOf(field: z.ZodType): ReturnType<typeof resolved> {
  const known = schemas.get(field) ?? resolved(z.toJSONSchema(field, { io: "input", unrepresentable: "any" }) as FieldSchema);
  schemas.set(field, known);
  return known;
}

const inputBounds = (field: z.ZodType): Bounds => boundsOf(schemaOf(field));

function shapesOf(schema: z.ZodType | undefined): Shape[] {
  if (schema instanceof z.ZodObject) return [schema.shape];
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((one) => shapesOf(one as z.ZodType));
  return [];
}

const boundedKinds = new Set<string>(["text", "line", "paragraph", "integer", "number", "choice"]);

/** Whether Discord has bounds for this kind of option or field; a text that has choices already needs none. */
const isBounded = ({ kind, choices }: OptionSpec | FieldSpec): boolean => boundedKinds.has(kind) && choices === undefined;

/** Those bounds of a field that Discord has for this kind of option or field. What is completed while it is typed has no choices. */
function forKind(spec: OptionSpec | FieldSpec, { choices, ...bounds }: Bounds): Bounds {
  const { kind } = spec;
  const isCompleted = "completes" in spec && spec.completes !== undefined;
  if (choices !== undefined) return !isCompleted && (kind === "text" || kind === "choice") ? { choices } : {};
  const { time, ...sizes } = bounds;
  const isTime = time !== undefined && !isCompleted && (kind === "text" || kind === "line");
  return {
    ...sizes,
    ...(isTime && { time }),
    ...(bounds.max !== undefined && kind !== "integer" && { max: Math.min(bounds.max, maxText) }),
  };
}
