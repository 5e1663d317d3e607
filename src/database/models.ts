import type { PrismaClient, Prisma } from "../generated/sqlite/client.ts";
import type { tables } from "../generated/tables.ts";

/** Both databases are spoken to through the types of the SQLite client: the models are the same. */
export type { PrismaClient };
export type TransactionClient = Omit<Prisma.TransactionClient, "$executeRawUnsafe" | "$queryRawUnsafe"> & Selects;

type ReadMethod = "findUnique" | "findUniqueOrThrow" | "findFirst" | "findFirstOrThrow" | "findMany" | "count" | "aggregate" | "groupBy";
type ModelKey = Uncapitalize<Prisma.ModelName>;

/** A client without the methods that change anything. */
export type ReadClient = Pick<PrismaClient, "$queryRaw"> &
  Selects & {
    readonly [Model in ModelKey]: Pick<PrismaClient[Model], Extract<keyof PrismaClient[Model], ReadMethod>>;
  };

export type Model = keyof typeof tables;
export type Row<M extends Model> = Prisma.TypeMap["model"][M]["payload"]["scalars"];

/** What the client of the models lacks. */
export interface Selects {
  /**
   * Rows of a model as `findMany` gives them.
   * @param rest what follows the table, which is called `t`: `WHERE t.status = …`, with the names of the columns
   */
  $select<M extends Model>(model: M, rest: Prisma.Sql): Promise<Row<M>[]>;
  /** @param fields those wanted */
  $select<M extends Model, F extends keyof Row<M>>(model: M, rest: Prisma.Sql, fields: readonly F[]): Promise<Pick<Row<M>, F>[]>;
}
