import { ColumnTypeEnum, type ArgType, type SqlQuery, type SqlQueryable } from "@prisma/driver-adapter-utils";
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
  const $queryRaw = async (query: Query, ...values: unknown[]): Promise<unknown> => {
    const { columnNames, columnTypes, rows } = await run.queryRaw(statementOf(dialect, query, values));
    const converts = columnTypes.map((type) => byColumnType[type]);
    return rows.map(readerOf(columnNames, converts));
  };
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
  const list = wanted.map(([, [column]]) => `t."${column}"`).join(", ");
  const names = wanted.map(([field]) => field);
  const converts = wanted.map(([, [, type]]) => byType[type]);
  const made: Selection = {
    head: Prisma.raw(`SELECT ${list} FROM "${table}" t `),
    // The generated readers of whole rows have objects of one shape; a list reads thousands of values.
    rowOf: fields === undefined ? (values) => rowReaders[model](values, conversions) : readerOf(names, converts),
  };
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

type Conversion = (value: unknown) => unknown;
const byType: Readonly<Record<string, Conversion | undefined>> = conversions;
const byColumnType: Readonly<Record<number, Conversion | undefined>> = {
  [ColumnTypeEnum.Int64]: conversions.BigInt,
  [ColumnTypeEnum.Boolean]: conversions.Boolean,
  [ColumnTypeEnum.DateTime]: conversions.DateTime,
  [ColumnTypeEnum.Json]: conversions.Json,
};

/** A row as an object by these names, each value of the kind that the client gives. */
function readerOf(names: readonly string[], converts: readonly (Conversion | undefined)[]): Selection["rowOf"] {
  return (values) =>
    Object.fromEntries(
      names.map((name, at) => {
        const [value, convert] = [values[at], converts[at]];
        return [name, value === null || convert === undefined ? value : convert(value)];
      }),
    );
}

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
