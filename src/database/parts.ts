import { Prisma } from "../generated/sqlite/client.ts";
import { tables } from "../generated/tables.ts";
import { columnsOf } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import type { Model, ReadClient, Row } from "./models.ts";

type Field<M extends Model> = keyof Row<M> & string;

/** Rows of another table that belong to a record. */
export interface Part<M extends Model> {
  model: M;
  /** The field that holds the id of the record. */
  of: Field<M>;
  /** The fields they are in the order of, as text or as numbers. */
  orderBy: readonly Field<M>[];
  /** Only the row that is the last by this field. */
  lastBy?: Field<M>;
}

/** How many rows of another table belong to a record, for each value of one of their fields. */
export interface Count<M extends Model> {
  model: M;
  of: Field<M>;
  countBy: Field<M>;
}

export interface Counted {
  value: string;
  count: number;
}

/** Checks that the fields of a part are those of its model. */
export const part = <M extends Model>(given: Part<M>): Part<M> => given;
/** Checks that the fields of a count are those of its model. */
export const count = <M extends Model>(given: Count<M>): Count<M> => given;

type Parts = Readonly<Record<string, { readonly model: Model }>>;
/** A record with its parts. */
export type WithParts<Record, P extends Parts> = Record & {
  -readonly [Name in keyof P]: P[Name] extends { countBy: string } ? Counted[] : Row<P[Name]["model"]>[];
};

/** Where rows are read: a transaction, or the database. */
export interface Source {
  db: Pick<ReadClient, "$queryRaw">;
  dialect: Dialect;
}

interface AnyPart {
  model: Model;
  of: string;
  orderBy?: readonly string[];
  lastBy?: string;
  countBy?: string;
}

/**
 * Read what belongs to some records, of all tables in one statement; the client asks once for each table, and also where there are no records.
 * @param parts by the name that the rows get in the record
 */
export async function withParts<Record extends { id: string }, P extends Parts>(
  { db, dialect }: Source,
  records: readonly Record[],
  parts: P,
): Promise<WithParts<Record, P>[]> {
  const all = Object.entries(parts) as unknown as [string, AnyPart][];
  const byName = new Map(all);
  const found = new Map(records.map(({ id }) => [id, Object.fromEntries(all.map(([name]) => [name, [] as unknown[]]))]));
  if (records.length > 0) {
    const ids = records.map(({ id }) => id);
    const selects = all.map(([name, one]) => selectOf(dialect, name, one, ids));
    const rows = await db.$queryRaw<{ part: string; id: string; line: string }[]>(Prisma.join(selects, " UNION ALL "));
    for (const { part: name, id, line } of rows) found.get(id)?.[name]?.push(rowOf(byName.get(name), line));
  }
  for (const lists of found.values()) for (const [name, { orderBy = [] }] of all) lists[name]?.sort(byFields(orderBy));
  return records.map((record) => ({ ...record, ...found.get(record.id) }) as WithParts<Record, P>);
}

/** The same for one record; null for none. */
export async function withPartsOf<Record extends { id: string }, P extends Parts>(
  source: Source,
  record: Record | null,
  parts: P,
): Promise<WithParts<Record, P> | null> {
  return record === null ? null : ((await withParts(source, [record], parts))[0] ?? null);
}

const array = { sqlite: "json_array", postgres: "json_build_array" };
/** The same text however many ids there are, so that the statement is prepared once. */
const oneOf: Readonly<Record<Dialect, (ids: readonly string[]) => Prisma.Sql>> = {
  sqlite: (ids) => Prisma.sql`IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`,
  postgres: (ids) => Prisma.sql`= ANY(${ids}::text[])`,
};

function selectOf(dialect: Dialect, name: string, { model, of, lastBy, countBy }: AnyPart, ids: readonly string[]): Prisma.Sql {
  const { table } = tables[model];
  const columns = columnsOf(model);
  const column = (field: string): string => `t."${columns[field]?.[0] ?? field}"`;
  const id = Prisma.raw(column(of));
  const lineOf = (values: readonly string[]): Prisma.Sql =>
    Prisma.raw(`${array[dialect]}(${values.join(", ")})${dialect === "postgres" ? "::text" : ""}`);
  const start = (line: Prisma.Sql): Prisma.Sql =>
    Prisma.sql`SELECT ${Prisma.raw(`'${name}'`)} AS part, ${id} AS id, ${line} AS line FROM ${Prisma.raw(`"${table}"`)} t WHERE ${id} ${oneOf[dialect](ids)}`;
  if (countBy !== undefined) {
    const value = column(countBy);
    return Prisma.sql`${start(lineOf([value, "COUNT(*)"]))} GROUP BY ${id}, ${Prisma.raw(value)}`;
  }
  const values = Object.entries(columns).map(([field, [, type]]) =>
    dialect === "sqlite" && type === "Json" ? `json(${column(field)})` : column(field),
  );
  if (lastBy === undefined) return start(lineOf(values));
  const [last, own] = [column(lastBy), column(of)];
  const others = `SELECT MAX(${last.replace("t.", "o.")}) FROM "${table}" o WHERE ${own.replace("t.", "o.")} = ${own}`;
  return Prisma.sql`${start(lineOf(values))} AND ${Prisma.raw(`${last} = (${others})`)}`;
}

/** A row as the client of the models gives it. */
function rowOf(part: AnyPart | undefined, line: string): object {
  const values = JSON.parse(line) as unknown[];
  if (part?.countBy !== undefined) return { value: values[0], count: values[1] };
  const columns = part === undefined ? {} : columnsOf(part.model);
  return Object.fromEntries(Object.entries(columns).map(([field, [, type]], index) => [field, valueOf(type, values[index])]));
}

function valueOf(type: string, value: unknown): unknown {
  if (value === null) return null;
  if (type === "Boolean") return value === true || value === 1;
  // PostgreSQL keeps times without a zone, in UTC.
  if (type === "DateTime") return new Date(/[Z+]/.test(String(value)) ? String(value) : `${String(value)}Z`);
  return value;
}

function byFields(fields: readonly string[]) {
  return (one: unknown, other: unknown): number => {
    for (const field of fields) {
      const [a, b] = [one, other].map((row) => comparable((row as Record<string, unknown>)[field]));
      if (a !== undefined && b !== undefined && a !== b) return a < b ? -1 : 1;
    }
    return 0;
  };
}

function comparable(value: unknown): string | number {
  return value instanceof Date ? value.getTime() : (value as string | number);
}
