import { Prisma } from "../generated/sqlite/client.ts";
import { columnsOf } from "./columns.ts";
import type { Model, Row } from "./models.ts";

type Value = string | number | boolean | Date;
interface Test<V> {
  equals?: V;
  in?: readonly V[];
  notIn?: readonly V[];
  not?: V;
  lt?: V;
  lte?: V;
  gt?: V;
  gte?: V;
}

/** The conditions of the client that are made into SQL here: about the columns of one table. `sql` says, about `t`, what they cannot. */
export type Where<M extends Model> = {
  readonly [Field in keyof Row<M>]?: Row<M>[Field] | Test<NonNullable<Row<M>[Field]>> | undefined;
} & {
  readonly AND?: readonly Where<M>[];
  readonly OR?: readonly Where<M>[];
  readonly NOT?: Where<M> | undefined;
  readonly sql?: Prisma.Sql;
};

const signs = { lt: "<", lte: "<=", gt: ">", gte: ">=", equals: "=", not: "<>" } as const;

/**
 * Conditions as the client of the models takes them, as SQL about the table `t`: for lists that are asked for often, as the client makes
 * a row of the answer three times as dear. One that says nothing holds, which inside `OR` the client sees otherwise.
 */
export function conditionOf<M extends Model>(model: M, where: Where<M>): Prisma.Sql {
  const columns = columnsOf(model);
  const each = (all: readonly Where<M>[]): Prisma.Sql[] => all.map((one) => conditionOf(model, one));
  const parts = Object.entries(where).flatMap(([field, test]: [string, unknown]): Prisma.Sql[] => {
    if (test === undefined) return [];
    if (field === "AND") return each(test as Where<M>[]);
    if (field === "OR") return [joined(each(test as Where<M>[]), " OR ", never)];
    if (field === "sql") return [test as Prisma.Sql];
    if (field === "NOT") return [Prisma.sql`NOT ${conditionOf(model, test as Where<M>)}`];
    const [name] = columns[field] ?? [];
    if (name === undefined) throw new Error(`${model} has no column for ${field}`);
    return testsOf(Prisma.raw(`t."${name}"`), test);
  });
  return joined(
    parts.filter((part) => part !== always),
    " AND ",
    always,
  );
}

const always = Prisma.sql`(1 = 1)`;
const never = Prisma.sql`(1 = 0)`;

function joined(parts: readonly Prisma.Sql[], by: string, none: Prisma.Sql): Prisma.Sql {
  const [only] = parts;
  if (only === undefined) return none;
  return parts.length === 1 ? only : Prisma.sql`(${Prisma.join([...parts], by)})`;
}

function testsOf(column: Prisma.Sql, test: unknown): Prisma.Sql[] {
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
    return Prisma.sql`${column} ${Prisma.raw(sign)} ${value}`;
  });
}
