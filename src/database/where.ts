import { Prisma } from "../generated/sqlite/client.ts";
import { tables } from "../generated/tables.ts";
import type { Order } from "../kernel/keyset.ts";
import type { Position } from "../kernel/page.ts";
import { columnsOf } from "./columns.ts";
import type { Model, ReadClient, Row, Selects } from "./models.ts";

type Value = string | number | boolean | Date;
interface Test<V> {
  equals?: V;
  in?: readonly V[];
  notIn?: readonly V[];
  not?: V | null;
  lt?: V;
  lte?: V;
  gt?: V;
  gte?: V;
}

type Children<M extends Model> = (typeof tables)[M]["children"];
type ChildOf<M extends Model, Relation extends keyof Children<M>> = Children<M>[Relation] extends readonly [
  infer Child extends Model,
  ...unknown[],
]
  ? Where<Child>
  : never;

/**
 * The conditions of the client that are made into SQL here: about the columns of one table, and about whether it has rows of another.
 * `sql` says, about `t`, what they cannot; what is `kept` no index serves.
 */
export type Where<M extends Model> = {
  readonly [Field in keyof Row<M>]?: Row<M>[Field] | Test<NonNullable<Row<M>[Field]>> | undefined;
} & {
  readonly [Relation in keyof Children<M>]?: { readonly some: ChildOf<M, Relation> } | { readonly none: ChildOf<M, Relation> };
} & {
  readonly AND?: readonly Where<M>[];
  readonly OR?: readonly Where<M>[];
  readonly NOT?: Where<M> | undefined;
  readonly kept?: Where<M>;
  readonly sql?: Prisma.Sql;
};

type ModelWithId = { [M in Model]: Row<M> extends { id: string } ? M : never }[Model];

const signs = { lt: "<", lte: "<=", gt: ">", gte: ">=", equals: "=", not: "<>" } as const;

/**
 * Conditions as the client of the models takes them, as SQL about the table `t`: for lists that are asked for often, as the client makes
 * a row of the answer three times as dear. One that says nothing holds, which inside `OR` the client sees otherwise.
 * @param isNamed whether rows are named by their ids beside this condition: a flag must then not lead SQLite, which without statistics takes
 * every index for one that finds ten rows, to all rows that have the flag
 */
export function conditionOf<M extends Model>(model: M, where: Where<M>, alias = "t", isNamed = isSet(where)): Prisma.Sql {
  const columns = columnsOf(model);
  const children: Readonly<Record<string, readonly [child: string, parent: string]>> = tables[model].children;
  const each = (all: readonly Where<M>[]): Prisma.Sql[] => all.map((one) => conditionOf(model, one, alias, isNamed || isSet(one)));
  const parts = Object.entries(where).flatMap(([field, test]: [string, unknown]): Prisma.Sql[] => {
    if (test === undefined) return [];
    if (field === "AND") return each(test as Where<M>[]);
    if (field === "OR") return [joined(each(test as Where<M>[]), " OR ", never)];
    if (field === "sql") return [test as Prisma.Sql];
    // Neither database looks for an index beneath it, and PostgreSQL still expects of it as many rows as of the condition alone.
    if (field === "kept") return [Prisma.sql`(${conditionOf(model, test as Where<M>, alias, true)}) IS TRUE`];
    if (field === "NOT") return [Prisma.sql`NOT ${conditionOf(model, test as Where<M>, alias, isNamed)}`];
    if (children[field] !== undefined) return [childrenOf(children[field], test as { some?: object; none?: object }, alias)];
    const [name] = columns[field] ?? [];
    if (name === undefined) throw new Error(`${model} has no column for ${field}`);
    return testsOf(Prisma.raw(`${alias}."${name}"`), test, isNamed);
  });
  return joined(
    parts.filter((part) => part !== always),
    " AND ",
    always,
  );
}

const isSet = (where: { readonly AND?: readonly object[] }): boolean =>
  ("id" in where && where.id !== undefined) || (where.AND?.some(isSet) ?? false);

/**
 * Whether a row has some, or none, of the rows of another table that meet a condition. They are looked up for each row that is come by: for
 * `EXISTS` PostgreSQL would rather read all that meet the condition, whosever they are, and a page would cost more the more are stored.
 */
function childrenOf(
  [child, parent]: readonly [string, string],
  { some, none }: { some?: object; none?: object },
  alias: string,
): Prisma.Sql {
  const inner = `${alias}x`;
  const column = columnsOf(child as Model)[parent]?.[0] ?? parent;
  const from = Prisma.raw(`SELECT 1 FROM "${tables[child as Model].table}" ${inner} WHERE ${inner}."${column}" = ${alias}.id AND `);
  const found = Prisma.sql`(${from}${conditionOf(child as Model, some ?? none ?? {}, inner)} LIMIT 1)`;
  return Prisma.sql`(${found} ${Prisma.raw(some === undefined ? "IS NULL" : "IS NOT NULL")})`;
}

/** The ids of the rows of a model that meet a condition. */
export async function selectIds<M extends Model & ModelWithId>(db: Selects, model: M, where: Where<M>): Promise<string[]> {
  const rows = await db.$select(model, Prisma.sql`WHERE ${conditionOf(model, where)}`, ["id" as keyof Row<M>]);
  return (rows as unknown as { id: string }[]).map(({ id }) => id);
}

/** How many rows of a model meet a condition. */
export async function countOf<M extends Model>(db: Pick<ReadClient, "$queryRaw">, model: M, where: Where<M>): Promise<number> {
  const from = Prisma.raw(`FROM "${tables[model].table}" t`);
  const [row] = await db.$queryRaw<{ count: number | bigint }[]>`SELECT COUNT(*) AS count ${from} WHERE ${conditionOf(model, where)}`;
  return Number(row?.count ?? 0);
}

/** An order of a list as SQL about the table `t`. */
export interface SqlOrder {
  by: Prisma.Sql;
  after(position: Position): { sql: Prisma.Sql };
  upTo(position: Position): { sql: Prisma.Sql };
}

/**
 * An order for lists that are read by SQL. Both columns are compared at once, so that an index of them is entered at the position however
 * many rows have the same value.
 */
export function sqlOrderOf(
  model: Model,
  { column, direction, valueOf }: Pick<Order<string>, "column" | "direction" | "valueOf">,
): SqlOrder {
  const name = Prisma.raw(`t."${columnsOf(model)[column]?.[0] ?? column}"`);
  const [onwards, back, way] = direction === "asc" ? [">", "<=", "ASC"] : ["<", ">=", "DESC"];
  const compared = (sign: string, position: Position) => ({
    sql: Prisma.sql`(${name}, t.id) ${Prisma.raw(sign)} (${valueOf(position)}, ${position[1]})`,
  });
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

function testsOf(column: Prisma.Sql, test: unknown, isNamed: boolean): Prisma.Sql[] {
  // No index answers `IS TRUE`.
  if (isNamed && typeof test === "boolean") return [Prisma.sql`${column} IS ${Prisma.raw(test ? "TRUE" : "FALSE")}`];
  if (test === null) return [Prisma.sql`${column} IS NULL`];
  if (typeof test !== "object" || test instanceof Date) return [Prisma.sql`${column} = ${test}`];
  return Object.entries(test).map(([name, value]: [string, unknown]) => {
    if (name === "in" || name === "notIn") {
      const values = value as Value[];
      if (values.length === 0) return name === "in" ? never : always;
      return Prisma.sql`${column} ${Prisma.raw(name === "in" ? "IN" : "NOT IN")} (${Prisma.join(values)})`;
    }
    const sign = signs[name as keyof typeof signs];
    if (sign === undefined) throw new Error(`no SQL for the condition ${name}`);
    if (name === "not" && value === null) return Prisma.sql`${column} IS NOT NULL`;
    return Prisma.sql`${column} ${Prisma.raw(sign)} ${value}`;
  });
}
