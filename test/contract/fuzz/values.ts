import fc from "fast-check";
import { snowflakePattern } from "../../../src/kernel/fields.ts";
import { hostileTexts } from "../../support/hostile.ts";
import { resolved, type Schema } from "../document.ts";

export type Text = fc.Arbitrary<string>;

/** What is usual, that many times as often as each of the others. */
export const often = <T>(weight: number, usual: fc.Arbitrary<T>, ...others: fc.Arbitrary<T>[]): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: usual }, ...others);
export const oneOf = fc.constantFrom<string[]>;

const times = ["2026-11-20T10:00:00.000Z", "2027-02-03T04:05:06.007Z", "1970-01-01T00:00:00.000Z", "8999-12-31T23:59:59.999Z"];
const wrongTimes = ["0000-01-01T00:00:00.000Z", "+275760-09-13T00:00:00.001Z", "2026-02-30T10:00:00Z", "yesterday"];
const uuids = ["0199f3a0-0000-7000-8000-000000000000", "0199F3A0-0000-7000-8000-00000000000F"];
const plainTexts = ["Three raids this month.", "30d", "P30D", "PT0S", "north", "moderator", "staff.suspend", "UTC", "BL-000001", "1"];

const deep = (levels: number): unknown => JSON.parse(`${"[".repeat(levels)}${"]".repeat(levels)}`);
const names = ['{"__proto__":{"a":1}}', '{"constructor":1}', '{"toString":"a"}', '{"":{"":{}}}'];
/** Stands for a place that is taken out. */
const gone = Symbol("gone");

/** What stands where something else is expected. */
const oddJson: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: fc.constant(gone) },
  { weight: 4, arbitrary: fc.constantFrom<unknown[]>(null, true, 0, -1, 1.5, 1e308, 2 ** 53, -(2 ** 63), 2_147_483_648, "", " ", [], {}) },
  { weight: 3, arbitrary: oneOf(...hostileTexts, "\0", "a\0b", "\ud800", "\u001b[2J", "\ufffe", ...wrongTimes, ...times, ...plainTexts) },
  { weight: 1, arbitrary: fc.constantFrom(deep(14), deep(500), "x".repeat(5000), "x".repeat(260_000), Array(3000).fill("a")) },
  { weight: 1, arbitrary: oneOf(...names).map((text): unknown => JSON.parse(text)) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
);

/** A value as a schema asks for it. */
export function fitting(given: Schema, ids: Text): fc.Arbitrary<unknown> {
  const schema = resolved(given);
  const forms = (schema["anyOf"] ?? schema["oneOf"]) as Schema[] | undefined;
  if (forms !== undefined) return fc.oneof(...forms.map((form) => fitting(form, ids)));
  if (schema["enum"] !== undefined) return fc.constantFrom(...(schema["enum"] as unknown[]));
  const types = [schema["type"] ?? "null"].flat() as string[];
  return fc.oneof(...types.map((type) => fittingType(type, schema, ids)));
}

function fittingType(type: string, schema: Schema, ids: Text): fc.Arbitrary<unknown> {
  switch (type) {
    case "boolean":
      return fc.boolean();
    case "integer":
    case "number":
      return fittingNumber(schema);
    case "string":
      return fittingText(schema, ids);
    case "array":
      return fittingList(schema, ids);
    case "object":
      return fittingObject(schema, ids);
    default:
      return fc.constant(null);
  }
}

function fittingNumber({ minimum: min = 0, maximum: max = 2_147_483_647 }: Schema): fc.Arbitrary<number> {
  return fc.oneof(fc.integer({ min, max: Math.min(max, min + 20) }), fc.integer({ min, max }));
}

function fittingList({ prefixItems, items = {}, minItems = 0, maxItems = 3 }: Schema, ids: Text): fc.Arbitrary<unknown[]> {
  if (prefixItems !== undefined) return fc.tuple(...(prefixItems as Schema[]).map((item) => fitting(item, ids)));
  return fc.array(fitting(items, ids), { minLength: minItems, maxLength: Math.max(minItems, Math.min(maxItems, 3)) });
}

function fittingObject({ properties = {}, required: requiredKeys = [] }: Schema, ids: Text): fc.Arbitrary<unknown> {
  const fields = Object.entries(properties as Record<string, Schema>).map(([name, field]) => [name, fitting(field, ids)]);
  return fc.record(Object.fromEntries(fields) as Record<string, fc.Arbitrary<unknown>>, { requiredKeys: requiredKeys as string[] });
}

function fittingText({ pattern, format, minLength = 0, maxLength = 3000 }: Schema, ids: Text): Text {
  if (format === "date-time") return oneOf(...times);
  if (format === "uuid") return oneOf(...uuids);
  if (pattern === snowflakePattern) return ids;
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern as string));
  const texts = [...plainTexts, ...hostileTexts].map((text) => text.slice(0, maxLength as number));
  return oneOf(...texts.filter(({ length }) => length >= minLength), "x".repeat(minLength as number));
}

/**
 * A value with up to three places in it taken out or made something else.
 * @param others what may stand there besides
 */
export function bent(value: fc.Arbitrary<unknown>, ...others: fc.Arbitrary<unknown>[]): fc.Arbitrary<unknown> {
  const edits = fc.array(fc.tuple(fc.nat(), fc.oneof(oddJson, ...others)), { minLength: 1, maxLength: 3 });
  return fc.tuple(value, edits).map(([whole, list]) => list.reduce<unknown>(bendOnce, whole));
}

function bendOnce(value: unknown, [at, odd]: readonly [number, unknown]): unknown {
  const places = placesIn(value);
  const [holder, name] = places[at % (places.length + 1)] ?? [];
  if (holder === undefined || name === undefined) return odd === gone ? value : odd;
  if (odd !== gone) holder[name] = structuredClone(odd);
  else if (Array.isArray(holder)) holder.splice(Number(name), 1);
  else delete holder[name];
  return value;
}

/** Every place in a value, with what it is in. */
function placesIn(value: unknown): [holder: Record<string, unknown>, name: string][] {
  if (typeof value !== "object" || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((name): ReturnType<typeof placesIn> => [[holder, name], ...placesIn(holder[name])]);
}
