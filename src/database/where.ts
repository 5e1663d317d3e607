import { Prisma } from "../generated/sqlite/client.ts";
import type { Order } from "../kernel/keyset.ts";
import type { Position } from "../kernel/page.ts";
import { tables } from "../generated/tables.ts";
import { columnsOf, relationsOf } from "./columns.ts";
import type { Model, ReadClient, Row } from "./models.ts";

type Value = string | number | boolean | Date;
interface Test<V, Empty> {
  equals?: V;
  in?: V[];
  notIn?: V[];
  not?: V | Empty;
  lt?: V;
  lte?: V;
  gt?: V;
  gte?: V;
}

type Relations<M extends Model> = (typeof tables)[M]["relations"];
/** The fields that are compared, which those with objects are not. */
type Compared<M extends Model, Columns = (typeof tables)[M]["columns"]> = {
  [Field in keyof Columns & keyof Row<M>]: Columns[Field] extends readonly [string, "Json"] ? never : Field;
}[keyof Columns & keyof Row<M>];
/** Of some rows that belong to one: that there is one, or that there is none. Of the one that a row belongs to: what it is like. */
type Related<Relation> = Relation extends readonly [infer Many, infer R extends Model, string, string]
  ? Many extends "many"
    ? { some?: ClientWhere<R>; none?: ClientWhere<R> }
    : { is?: ClientWhere<R> }
  : never;

type Conditions<M extends Model> = {
  [Field in Compared<M>]?: Row<M>[Field] | Test<NonNullable<Row<M>[Field]>, Extract<Row<M>[Field], null>>;
} & { [Name in keyof Relations<M>]?: Related<Relations<M>[Name]> };

/** Conditions that are the same to the client of the models and to {@link conditionOf}. */
export type ClientWhere<M extends Model> = Conditions<M> & { AND?: ClientWhere<M>[]; OR?: ClientWhere<M>[]; NOT?: ClientWhere<M> };

/** The conditions of the client that are made into SQL here. `sql` says, about `t`, what they cannot. */
export type Where<M extends Model> = Conditions<M> & {
  AND?: readonly Where<M>[];
  OR?: readonly Where<M>[];
  NOT?: Where<M>;
  sql?: Prisma.Sql;
};

const signs = { lt: "<", lte: "<=", gt: ">", gte: ">=", equals: "=", not: "<>" } as const;

/**
 * Conditions as the client of the models takes them, as SQL about the table `t`: for lists that are asked for often, as the client makes
 * a row of the answer three times as dear. One that says nothing holds, which inside `OR` the client sees otherwise.
 */
export function conditionOf<M extends Model>(model: M, where: Where<M>, depth = 0): Prisma.Sql {
  const columns = columnsOf(model);
  const relations = relationsOf(model);
  const each = (all: readonly Where<M>[]): Prisma.Sql[] => all.map((one) => conditionOf(model, one, depth));
  const parts = Object.entries(where).flatMap(([field, test]: [string, unknown]): Prisma.Sql[] => {
    if (test === undefined) return [];
    if (field === "AND") return each(test as Where<M>[]);
    if (field === "OR") return [joined(each(test as Where<M>[]), " OR ", never)];
    if (field === "sql") return [test as Prisma.Sql];
    if (field === "NOT") return [Prisma.sql`NOT ${conditionOf(model, test as Where<M>, depth)}`];
    const relation = relations[field];
    if (relation !== undefined) return relatedOf(model, relation, test as object, depth);
    if (columns[field] === undefined) throw new Error(`${model} has no column for ${field}`);
    return testsOf(column(model, field, depth), test);
  });
  return joined(
    parts.filter((part) => part !== always),
    " AND ",
    always,
  );
}

/** How many rows of a table meet conditions. */
export async function countOf<M extends Model>(db: Pick<ReadClient, "$queryRaw">, model: M, where: Where<M>): Promise<number> {
  const [row] = await db.$queryRaw<{ count: number | bigint }[]>`
    SELECT COUNT(*) AS count FROM ${Prisma.raw(`"${tables[model].table}"`)} AS t WHERE ${conditionOf(model, where)}`;
  return Number(row?.count ?? 0);
}

/**
 * Related rows are looked up for each row that is come by: a list ends after few of them. The `OFFSET` keeps PostgreSQL from reading all
 * rows that meet the conditions of the relation at once, which are as many as the store is large.
 */
function relatedOf(model: Model, [, other, there, here]: Relation, test: object, depth: number): Prisma.Sql[] {
  return Object.entries(test).map(([name, where]: [string, ClientWhere<Model>]) => {
    if (!["some", "none", "is"].includes(name)) throw new Error(`no SQL for the condition ${name} of a relation`);
    const table = Prisma.raw(`"${tables[other].table}" AS ${tableAt(depth + 1)}`);
    const belongs = Prisma.sql`${column(other, there, depth + 1)} = ${column(model, here, depth)}`;
    const found = Prisma.sql`EXISTS (SELECT 1 FROM ${table} WHERE ${belongs} AND ${conditionOf(other, where, depth + 1)} LIMIT 1 OFFSET 0)`;
    return name === "none" ? Prisma.sql`NOT ${found}` : found;
  });
}

type Relation = ReturnType<typeof relationsOf>[string];

const tableAt = (depth: number): string => (depth === 0 ? "t" : `t${depth.toString()}`);

function column(model: Model, field: string, depth = 0): Prisma.Sql {
  return Prisma.raw(`${tableAt(depth)}."${columnsOf(model)[field]?.[0] ?? field}"`);
}

/** An order of a list as SQL about the table `t`. */
export interface SqlOrder<M extends Model> {
  by: Prisma.Sql;
  after(position: Position): Where<M>;
  upTo(position: Position): Where<M>;
}

/**
 * An order for lists that are read by SQL. Both columns are compared at once, so that an index of them is entered at the position however
 * many rows have the same value.
 */
export function sqlOrderOf<M extends Model>(
  model: M,
  { column: field, direction, valueOf }: Pick<Order<string>, "column" | "direction" | "valueOf">,
): SqlOrder<M> {
  const name = column(model, field);
  const [onwards, back, way] = direction === "asc" ? [">", "<=", "ASC"] : ["<", ">=", "DESC"];
  const compared = (sign: string, position: Position): Where<M> => {
    const sql = Prisma.sql`(${name}, t.id) ${Prisma.raw(sign)} (${valueOf(position)}, ${position[1]})`;
    return { sql } as Where<Model> as Where<M>;
  };
  return {
    by: Prisma.sql`${name} ${Prisma.raw(way)}, t.id ${Prisma.raw(way)}`,
    after: (position) => compared(onwards, position),
    upTo: (position) => compared(back, position),
  };
}

const always = Prisma.sql`(1 = 1)`;
const never = Prisma.sql`(1 = 0)`;

function joined(parts: readonly Prisma.Sql[], by: string, none: Prisma.Sql): Prisma.Sql {
  const [only] = parts;
  if (only === undefined) return none;
  return parts.length === 1 ? only : Prisma.sql`(${Prisma.join([...parts], by)})`;
}

function testsOf(name: Prisma.Sql, test: unknown): Prisma.Sql[] {
  if (test === null) return [Prisma.sql`${name} IS NULL`];
  if (typeof test !== "object" || test instanceof Date) return [Prisma.sql`${name} = ${test}`];
  return Object.entries(test).map(([kind, value]: [string, unknown]) => {
    if (kind === "in" || kind === "notIn") {
      const values = value as Value[];
      if (values.length === 0) return kind === "in" ? never : always;
      return Prisma.sql`${name} ${Prisma.raw(kind === "in" ? "IN" : "NOT IN")} (${Prisma.join(values)})`;
    }
    const sign = signs[kind as keyof typeof signs];
    if (sign === undefined) throw new Error(`no SQL for the condition ${kind}`);
    if (kind === "not" && value === null) return Prisma.sql`${name} IS NOT NULL`;
    return Prisma.sql`${name} ${Prisma.raw(sign)} ${value}`;
  });
}
