import { Prisma } from "../generated/sqlite/client.ts";
import { tables } from "../generated/tables.ts";
import type { ReadClient } from "./client.ts";
import type { Dialect } from "./dialect.ts";

type Model = keyof typeof tables;
type Row<M extends Model> = Prisma.TypeMap["model"][M]["payload"]["scalars"];
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

/** Checks that the fields of a part are those of its model. */
export const part = <M extends Model>(given: Part<M>): Part<M> => given;

type Parts = Readonly<Record<string, { readonly model: Model }>>;
/** A record with its parts. */
export type WithParts<Record, P extends Parts> = Record & { -readonly [Name in keyof P]: Row<P[Name]["model"]>[] };

/** Where rows are read: a transaction, or the database. */
export interface Source {
  db: Pick<ReadClient, "$queryRaw">;
  dialect: Dialect;
}

interface AnyPart {
  model: Model;
  of: string;
  orderBy: readonly string[];
  lastBy?: string;
}

/** SQLite is given at most 999 values. */
const idsAtOnce = 400;

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
  const found = new Map(records.map(({ id }) => [id, Object.fromEntries(all.map(([name]) => [name, [] as unknown[]]))]));
  for (let from = 0; from < records.length; from += idsAtOnce) {
    const ids = records.slice(from, from + idsAtOnce).map(({ id }) => id);
    const selects = all.map(([name, one]) => selectOf(dialect, name, one, ids));
    const rows = await db.$queryRaw<{ part: string; id: string; line: string }[]>(Prisma.join(selects, " UNION ALL "));
    for (const { part: name, id, line } of rows) found.get(id)?.[name]?.push(rowOf(parts[name]?.model, line));
  }
  for (const lists of found.values()) for (const [name, { orderBy }] of all) lists[name]?.sort(byFields(orderBy));
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

function selectOf(dialect: Dialect, name: string, { model, of, lastBy }: AnyPart, ids: readonly string[]): Prisma.Sql {
  const { table, columns } = tables[model];
  const column = (field: string): string => `t."${(columns as Columns)[field]?.[0] ?? field}"`;
  const values = Object.entries(columns as Columns).map(([field, [, type]]) =>
    dialect === "sqlite" && type === "Json" ? `json(${column(field)})` : column(field),
  );
  const list = Prisma.raw(`${array[dialect]}(${values.join(", ")})${dialect === "postgres" ? "::text" : ""}`);
  const id = Prisma.raw(column(of));
  const isLast =
    lastBy === undefined
      ? Prisma.empty
      : Prisma.raw(
          ` AND ${column(lastBy)} = (SELECT MAX(${column(lastBy).replace("t.", "o.")}) FROM "${table}" o WHERE ${column(of).replace("t.", "o.")} = ${column(of)})`,
        );
  return Prisma.sql`SELECT ${Prisma.raw(`'${name}'`)} AS part, ${id} AS id, ${list} AS line FROM ${Prisma.raw(`"${table}"`)} t WHERE ${id} IN (${Prisma.join(ids)})${isLast}`;
}

type Columns = Readonly<Record<string, readonly [column: string, type: string]>>;

/** A row as the client of the models gives it. */
function rowOf(model: Model | undefined, line: string): object {
  const columns = model === undefined ? {} : (tables[model].columns as Columns);
  const values = JSON.parse(line) as unknown[];
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
