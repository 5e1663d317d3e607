import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Makes both Prisma clients (`src/generated/sqlite`, `src/generated/postgres`) from the one schema, without the network, by the packages that
 * `prisma generate` itself runs: the command line would bring 200 MB that nothing here uses.
 * Does nothing when neither the schema, Prisma nor this script has changed since the last run.
 */
const root = fileURLToPath(new URL("..", import.meta.url));
const require = createRequire(import.meta.url);
const schemaFile = join(root, "prisma/schema.prisma");
const generated = join(root, "src/generated");
/** The schema of PostgreSQL, which the tools of migrations read. */
const postgresFile = join(generated, "postgres.prisma");
/** Tables and columns by models and fields, for statements that are written by hand. */
const tablesFile = join(generated, "tables.ts");
/** How a row of each table becomes an object: written out for its columns, so that all of its objects have one shape from the start. */
const rowsFile = join(generated, "rows.ts");
const stampFile = join(generated, "stamp");

/** @returns {string | undefined} undefined when only the production packages are installed */
function findGenerator() {
  try {
    return require("@prisma/client-generator-ts") && require("@prisma/engines-version/package.json").version;
  } catch {
    return undefined;
  }
}

/**
 * @param {string} schema text of `schema.prisma`
 * @param {string} output folder of the client
 */
async function generate(schema, output) {
  const { PrismaClientTsGenerator } = require("@prisma/client-generator-ts");
  const { enginesVersion } = require("@prisma/engines-version");
  const { getDMMF } = require("@prisma/get-dmmf");
  const { get_config: getConfig } = require("@prisma/prisma-schema-wasm");
  const prismaSchema = [[schemaFile, schema]];
  const { config, errors } = JSON.parse(
    getConfig(JSON.stringify({ prismaSchema, datasourceOverrides: {}, ignoreEnvVarErrors: true, env: {} })),
  );
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join("\n"));
  const dmmf = getDMMF({ datamodel: prismaSchema });
  if ("error" in dmmf) throw dmmf.error;
  writeFileSync(tablesFile, tablesOf(dmmf.datamodel));
  writeFileSync(rowsFile, rowsOf(dmmf.datamodel));
  const [generator] = config.generators;
  await new PrismaClientTsGenerator().generate({
    generator: { ...generator, isCustomOutput: true, output: { fromEnvVar: null, value: output } },
    otherGenerators: [],
    schemaPath: schemaFile,
    dmmf,
    datasources: config.datasources,
    datamodel: schema,
    version: enginesVersion,
  });
}

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

/** @param {string} schema */
function forPostgres(schema) {
  const provider = 'provider = "sqlite"';
  if (schema.split(provider).length !== 2) throw new Error(`prisma/schema.prisma must hold ${provider} exactly once`);
  return schema.replace(provider, 'provider = "postgresql"');
}

async function main() {
  const version = findGenerator();
  if (version === undefined) {
    console.log("generate: Prisma's generator is not installed here, the database clients are kept as they are");
    return;
  }
  const schema = readFileSync(schemaFile, "utf8");
  const stamp = createHash("sha256")
    .update(`${version}\n${schema}\n${readFileSync(fileURLToPath(import.meta.url), "utf8")}`)
    .digest("hex");
  const isCurrent = existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp;
  if (
    isCurrent &&
    existsSync(join(generated, "sqlite/client.ts")) &&
    existsSync(join(generated, "postgres/client.ts")) &&
    existsSync(tablesFile) &&
    existsSync(rowsFile)
  )
    return;

  mkdirSync(generated, { recursive: true });
  writeFileSync(postgresFile, forPostgres(schema));
  await generate(schema, join(generated, "sqlite"));
  await generate(forPostgres(schema), join(generated, "postgres"));
  writeFileSync(stampFile, stamp);
  console.log("generate: wrote the database clients for SQLite and PostgreSQL");
}

try {
  await main();
  await import("./text-types.js");
} catch (error) {
  console.error(`generate: the database clients could not be made\n${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
