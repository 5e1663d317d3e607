import { readFileSync } from "node:fs";
import { specPath } from "../sandbox/openapi-judge.ts";

interface Schema {
  $ref?: string;
  type?: string | readonly string[];
  format?: string;
  enum?: readonly unknown[];
  const?: unknown;
  oneOf?: readonly Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
}

/** A value in a sample that is found nowhere else in it. */
export interface Leaf {
  /** `Schema.property`, and where it is in the sample. */
  of: string;
  at: string;
  value: string | number;
}

export interface Sample {
  value: Record<string, unknown>;
  leaves: Leaf[];
  /** Where it has each `Schema.property`. */
  places: { of: string; at: string }[];
}

/**
 * An object with every property that Discord's document names for a schema, and one item of each kind in each list.
 * @param variant which of several forms a single property has
 */
export function sampleOf(name: string, variant = 0): Sample {
  const { schemas } = (JSON.parse(readFileSync(specPath, "utf8")) as { components: { schemas: Record<string, Schema> } }).components;
  const leaves: Leaf[] = [];
  const places: Sample["places"] = [];
  let count = 0;

  function resolve(schema: Schema, owner: string): { schema: Schema; owner: string } {
    const target = schema.$ref?.split("/").at(-1);
    return target === undefined ? { schema, owner } : { schema: schemas[target] ?? {}, owner: target };
  }

  function make(given: Schema, of: string, at: string, owner: string): unknown {
    const { schema, owner: named } = resolve(given, owner);
    const fixed = schema.enum?.[0] ?? schema.const;
    if (fixed !== undefined) return fixed;
    const forms = schema.oneOf?.filter(({ type }) => type !== "null");
    if (forms !== undefined) return make(forms[variant % forms.length] ?? {}, of, at, named);
    if (schema.properties !== undefined) return makeObject(schema.properties, named, at);
    const type = [schema.type].flat().find((one) => one !== "null");
    if (type === "array") return makeList(schema.items ?? {}, of, at, named);
    if (type === "object") {
      const inner = schema.additionalProperties;
      return typeof inner === "object" ? { "80351110224678900": make(inner, of, `${at}/80351110224678900`, named) } : {};
    }
    if (type === "boolean") return of !== "UserResponse.bot";
    const value = leaf(type, schema.format);
    leaves.push({ of, at, value });
    return value;
  }

  function makeList(items: Schema, of: string, at: string, owner: string): unknown[] {
    const { schema, owner: named } = resolve(items, owner);
    const forms = schema.oneOf?.some(({ $ref }) => $ref !== undefined) === true ? schema.oneOf : [items];
    return forms.map((form, index) => make(form, of, `${at}/${index.toString()}`, named));
  }

  function makeObject(given: Record<string, Schema>, owner: string, at: string): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(given).map(([property, schema]) => {
        const of = `${owner}.${property}`;
        const place = `${at}/${property}`;
        places.push({ of, at: place });
        return [property, make(schema, of, place, owner)];
      }),
    );
  }

  function leaf(type: string | undefined, format: string | undefined): string | number {
    count += 1;
    if (type === "integer" || type === "number") return 7_000_000 + count;
    if (format === "snowflake") return (80_351_110_224_670_000n + BigInt(count)).toString();
    if (format === "date-time") return new Date(Date.UTC(2024, 0, 1) + count * 61_000).toISOString();
    return `said-${count.toString()}-here`;
  }

  return { value: make({ $ref: `#/components/schemas/${name}` }, name, "", name) as Record<string, unknown>, leaves, places };
}
