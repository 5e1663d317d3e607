import { ColumnTypeEnum, type ArgType, type SqlQuery, type SqlQueryable, type SqlResultSet } from "@prisma/driver-adapter-utils";
import { Prisma } from "../generated/sqlite/client.ts";
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
  const readers = wanted.map(([field, [, type]]) => [field, columnTypes[type]] as const);
  const made: Selection = {
    head: Prisma.raw(`SELECT ${names} FROM "${table}" t `),
    rowOf(values) {
      const row: Record<string, unknown> = {};
      let at = 0;
      for (const [field, type] of readers) {
        const value = values[at++];
        row[field] = value === null || type === undefined ? value : valueOf(type, value);
      }
      return row;
    },
  };
  selections.set(name, made);
  return made;
}

/** What a column holds that is not what its value is in JavaScript. */
const columnTypes: Readonly<Record<string, number>> = {
  BigInt: ColumnTypeEnum.Int64,
  Boolean: ColumnTypeEnum.Boolean,
  DateTime: ColumnTypeEnum.DateTime,
  Json: ColumnTypeEnum.Json,
};

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
  return rows.map((row) =>
    Object.fromEntries(columnNames.map((name, index) => [name, row[index] === null ? null : valueOf(columnTypes[index], row[index])])),
  );
}

function valueOf(type: number | undefined, value: unknown): unknown {
  if (type === ColumnTypeEnum.Int64) return BigInt(value as string | number);
  if (type === ColumnTypeEnum.DateTime) return new Date(value as string);
  if (type === ColumnTypeEnum.Boolean) return value === true || value === 1;
  if (type !== ColumnTypeEnum.Json) return value;
  // Most lists are empty.
  return value === "[]" ? [] : JSON.parse(value as string);
}
