import { ColumnTypeEnum, type ArgType, type SqlQuery, type SqlQueryable, type SqlResultSet } from "@prisma/driver-adapter-utils";
import { Prisma } from "../generated/sqlite/client.ts";
import { rowReaders, type Conversions } from "../generated/rows.ts";
import { tables } from "../generated/tables.ts";
import { columnsOf } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import type { Model, Selects, TransactionClient } from "./models.ts";

export type Raw = Pick<TransactionClient, "$queryRaw" | "$executeRaw"> & Selects;

/**
 * SQL without the client of the models, which makes the same statement three to five times as dear. What fails is an error of the driver,
 * or the problem behind it.
 * @param run what reaches the database
 */
export function createRaw(dialect: Dialect, run: Pick<SqlQueryable, "queryRaw" | "executeRaw">): Raw {
  const $queryRaw = async (query: Query, ...values: unknown[]): Promise<unknown> =>
    objectsOf(await run.queryRaw(statementOf(dialect, query, values)));
  const $executeRaw = (query: Query, ...values: unknown[]): Promise<number> => run.executeRaw(statementOf(dialect, query, values));
  const $select = async (model: Model, rest: Prisma.Sql, fields?: readonly string[]): Promise<object[]> => {
    const { head, rowOf } = selectionOf(model, fields);
    const { rows } = await run.queryRaw(statementOf(dialect, Prisma.sql`${head}${rest}`));
    return rows.map(rowOf);
  };
  // The client's own methods give promises with more to them, which is used nowhere.
  return { $queryRaw, $executeRaw, $select } as unknown as Raw;
}

interface Selection {
  head: Prisma.Sql;
  rowOf(values: readonly unknown[]): object;
}

const selections = new Map<string, Selection>();

function selectionOf(model: Model, fields?: readonly string[]): Selection {
  const name = fields === undefined ? model : `${model} ${fields.join()}`;
  const known = selections.get(name);
  if (known !== undefined) return known;
  const { table } = tables[model];
  const columns = columnsOf(model);
  const wanted = (fields ?? Object.keys(columns)).flatMap((field) =>
    columns[field] === undefined ? [] : [[field, columns[field]] as const],
  );
  const names = wanted.map(([, [column]]) => `t."${column}"`).join(", ");
  const types = wanted.map(([field, [, type]]) => [field, type] as const);
  const made: Selection = { head: Prisma.raw(`SELECT ${names} FROM "${table}" t `), rowOf: readerOf(model, types, fields === undefined) };
  selections.set(name, made);
  return made;
}

/** What becomes of a column that does not hold what its value is in JavaScript. */
const conversions = {
  BigInt: (value) => BigInt(value as string | number),
  Boolean: (value) => value === true || value === 1,
  DateTime: (value) => new Date(value as string),
  // Most lists are empty.
  Json: (value) => (value === "[]" ? [] : (JSON.parse(value as string) as unknown)),
} satisfies Conversions;

const byType: Readonly<Record<string, ((value: unknown) => unknown) | undefined>> = conversions;
const byColumnType: Readonly<Record<number, ((value: unknown) => unknown) | undefined>> = {
  [ColumnTypeEnum.Int64]: conversions.BigInt,
  [ColumnTypeEnum.Boolean]: conversions.Boolean,
  [ColumnTypeEnum.DateTime]: conversions.DateTime,
  [ColumnTypeEnum.Json]: conversions.Json,
};

/** The readers that are generated for whole rows have objects of one shape; a list reads thousands of values. */
function readerOf(model: Model, types: readonly (readonly [field: string, type: string])[], isWhole: boolean): Selection["rowOf"] {
  if (isWhole) return (values) => rowReaders[model](values, conversions);
  const readers = types.map(([field, type]) => [field, byType[type]] as const);
  return (values) => Object.fromEntries(readers.map(([field, read], at) => [field, converted(read, values[at])]));
}

const converted = (read: ((value: unknown) => unknown) | undefined, value: unknown): unknown =>
  value === null || read === undefined ? value : read(value);

type Query = Prisma.Sql | TemplateStringsArray;

function statementOf(dialect: Dialect, query: Query, values: unknown[] = []): SqlQuery {
  const sql = "raw" in query ? Prisma.sql(query, ...values) : query;
  const args = sql.values.map(storable);
  return { sql: dialect === "sqlite" ? sql.sql : sql.text, args, argTypes: args.map(typeOf) };
}

function storable(value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  return typeof value === "object" && value !== null && !(value instanceof Date) && !Array.isArray(value) ? JSON.stringify(value) : value;
}

/** As the client says it, so that a value is stored in the same form whichever way it comes. */
function typeOf(value: unknown): ArgType {
  if (Array.isArray(value)) return { scalarType: "string", arity: "list" };
  if (typeof value === "string") return { scalarType: "string", arity: "scalar" };
  if (typeof value === "number") return { scalarType: "decimal", arity: "scalar" };
  return { scalarType: value instanceof Date ? "datetime" : "unknown", arity: "scalar" };
}

/** Rows as objects by the names of their columns, each value of the kind that the client gives. */
function objectsOf({ columnNames, columnTypes, rows }: SqlResultSet): Record<string, unknown>[] {
  const readers = columnTypes.map((type) => byColumnType[type]);
  return rows.map((row) => Object.fromEntries(columnNames.map((name, at) => [name, converted(readers[at], row[at])])));
}
