import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import helper from "@prisma/generator-helper";

/**
 * The second generator of `prisma/schema.prisma`. Into its output go the schema of PostgreSQL, which the tools of migrations read too, its client, and
 * what statements that are written by hand need of the models: `tables.ts` and `rows.ts`.
 */
helper.generatorHandler({
  onManifest: () => ({ prettyName: "the client of PostgreSQL, tables and rows", defaultOutput: "../src/generated" }),
  onGenerate({ dmmf, datamodel, generator }) {
    const output = generator.output?.value ?? "";
    mkdirSync(output, { recursive: true });
    writeFileSync(join(output, "tables.ts"), tablesOf(dmmf.datamodel));
    writeFileSync(join(output, "rows.ts"), rowsOf(dmmf.datamodel));
    const schema = join(output, "postgres.prisma");
    writeFileSync(schema, forPostgres(datamodel));
    const prisma = createRequire(import.meta.url).resolve("prisma/build/index.js");
    execFileSync(process.execPath, [prisma, "generate", "--schema", schema, "--generator", "client"], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    return Promise.resolve();
  },
});
/** @typedef {{ name: string, kind: string, type: string, dbName?: string | null, isList?: boolean, relationName?: string | null, relationFromFields?: readonly string[] | null, relationToFields?: readonly string[] | null }} Field */
/** @typedef {{ models: readonly { name: string, dbName?: string | null, fields: readonly Field[] }[] }} Datamodel */

/** @param {Datamodel} datamodel */
function tablesOf({ models }) {
  const tables = models.map(({ name, dbName, fields }) => {
    const columns = scalars(fields).map((field) => [field.name, [field.dbName ?? field.name, field.type]]);
    const children = fields
      .filter(({ kind, isList }) => kind === "object" && isList)
      .flatMap((field) => {
        const parent = parentFieldOf(models, field);
        return parent === undefined ? [] : [[field.name, [field.type, parent]]];
      });
    return [name, { table: dbName ?? name, columns: Object.fromEntries(columns), children: Object.fromEntries(children) }];
  });
  return `export const tables = ${JSON.stringify(Object.fromEntries(tables), null, 1)} as const;\n`;
}

/**
 * The field of the rows on the other side of a relation that holds the id of this one; undefined where they are held by something else.
 * @param {Datamodel["models"]} models
 * @param {Field} relation
 */
function parentFieldOf(models, { type, relationName }) {
  const child = models.find(({ name }) => name === type);
  const back = child?.fields.find((field) => field.relationName === relationName && (field.relationFromFields ?? []).length > 0);
  return back?.relationToFields?.join() === "id" ? back.relationFromFields?.[0] : undefined;
}

/** Types of columns that hold something else than what their value is in JavaScript. */
const converted = new Set(["BigInt", "Boolean", "DateTime", "Json"]);

/** @param {Datamodel} datamodel */
function rowsOf({ models }) {
  const readers = models.map(({ name, fields }) => {
    const columns = scalars(fields);
    const values = columns.map(({ name, type }, at) =>
      converted.has(type) ? `${name}: v[${at}] === null ? null : c.${type}(v[${at}])` : `${name}: v[${at}]`,
    );
    const parameters = columns.some(({ type }) => converted.has(type)) ? "v, c" : "v";
    return `  ${name}: (${parameters}) => ({ ${values.join(", ")} }),\n`;
  });
  const conversions = [...converted].map((type) => `${type}(value: unknown): unknown`).join("; ");
  return `import type { tables } from "./tables.ts";
export interface Conversions { ${conversions} }
/** The values of a row in the order of the columns, as an object by fields. */
export type RowReader = (v: readonly unknown[], c: Conversions) => object;
export const rowReaders: { readonly [Model in keyof typeof tables]: RowReader } = {\n${readers.join("")}};\n`;
}

/** @param {readonly Field[]} fields */
function scalars(fields) {
  return fields.filter(({ kind }) => kind === "scalar");
}

/**
 * The same models with what differs on PostgreSQL.
 * @param {string} schema
 */
function forPostgres(schema) {
  const differences = [
    ['provider = "sqlite"', 'provider = "postgresql"'],
    ['"../src/generated/sqlite"', '"./postgres"'],
  ];
  return differences.reduce((text, [here, there]) => {
    if (text.split(here).length !== 2) throw new Error(`prisma/schema.prisma must hold ${here} exactly once`);
    return text.replace(here, there);
  }, schema);
}
