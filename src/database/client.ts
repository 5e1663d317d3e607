import { PrismaClient, type Prisma } from "../generated/sqlite/client.ts";
import { dialectOf, sqliteFile } from "./dialect.ts";
import { createPostgresAdapter } from "./postgres-adapter.ts";
import { unwrapped, retryWhileBusy, withProblems } from "./problems.ts";
import type { SqlDriverAdapter, SqlDriverAdapterFactory, SqlQuery } from "@prisma/driver-adapter-utils";
import { createPace } from "./pace.ts";
import { openSqliteConnection, type SqliteConnection, type SqliteOptions } from "./sqlite-connection.ts";
import { createWriter, sqliteIdentity } from "./sqlite-writer.ts";

/** Both databases are spoken to through the types of the SQLite client: the models are the same. */
export type { PrismaClient };
export type TransactionClient = Prisma.TransactionClient;

type ReadMethod = "findUnique" | "findUniqueOrThrow" | "findFirst" | "findFirstOrThrow" | "findMany" | "count" | "aggregate" | "groupBy";
type ModelKey = Uncapitalize<Prisma.ModelName>;

/** A client without the methods that change anything. */
export type ReadClient = Pick<PrismaClient, "$queryRaw"> & {
  readonly [Model in ModelKey]: Pick<PrismaClient[Model], Extract<keyof PrismaClient[Model], ReadMethod>>;
};

/** The reading half of a client, whose failures are problems again where the storage is the reason. */
export function readsOf(client: PrismaClient): ReadClient {
  return wrap(client, (part) => (typeof part === "function" ? translated(part, client) : wrap(part, (method) => translated(method, part))));
}

/** The same object whose functions and objects are others, each made once. */
function wrap<T extends object>(owner: T, make: (part: object) => unknown): T {
  const made = new WeakMap<object, unknown>();
  return new Proxy(owner, {
    get(_owner, name) {
      const part: unknown = Reflect.get(owner, name);
      if ((typeof part !== "object" && typeof part !== "function") || part === null) return part;
      if (!made.has(part)) made.set(part, make(part));
      return made.get(part);
    },
  });
}

function translated(method: object, owner: object): unknown {
  return async (...args: unknown[]) => {
    try {
      return await (Reflect.apply(method as (...given: unknown[]) => unknown, owner, args) as Promise<unknown>);
    } catch (error) {
      throw unwrapped(error);
    }
  };
}

/** How long a transaction may take and, longer than the queue in front of SQLite, how long it may wait for its start. */
const transactionOptions = { timeout: 30_000, maxWait: 20_000 };

/** A client of the database the address names; nothing is opened yet. What only PostgreSQL needs is read only where it is used. */
export async function createClient(url: string, synchronous: "full" | "normal"): Promise<PrismaClient> {
  if (dialectOf(url) === "sqlite") {
    return new PrismaClient({
      adapter: createSqliteAdapter({ file: sqliteFile(url), synchronous }),
      transactionOptions,
      errorFormat: "minimal",
    });
  }
  const { PrismaClient: PostgresClient } = await import("../generated/postgres/client.ts");
  const client = new PostgresClient({ adapter: await createPostgresAdapter(url), transactionOptions, errorFormat: "minimal" });
  return client as unknown as PrismaClient;
}

/** How much of one turn of the event loop queries may take. */
const turnBudgetMs = 10;

/**
 * The stock SQLite adapter, isolated: reads outside transactions go to a read-only connection of their own, and every write,
 * alone or in a transaction, waits its turn on the other one. Failures of the storage are ProblemErrors.
 */
export function createSqliteAdapter(options: SqliteOptions): SqlDriverAdapterFactory {
  return { ...sqliteIdentity, connect: () => withProblems(() => connect(options)) };
}

async function connect(options: SqliteOptions): Promise<SqlDriverAdapter> {
  const pace = createPace(turnBudgetMs);
  const writer = await createWriter(options, pace);
  const reader = await openSqliteConnection(options, "reader");

  async function route<T>(query: SqlQuery, run: (connection: SqliteConnection) => Promise<T>): Promise<T> {
    const since = performance.now();
    await pace();
    const isRead = (): boolean => {
      try {
        return reader.isReadOnly(query.sql);
      } catch {
        // A statement that cannot be prepared fails where it is run, with an error Prisma knows.
        return true;
      }
    };
    return isRead() ? retryWhileBusy(since, () => run(reader)) : writer.alone(since, run);
  }

  return {
    ...sqliteIdentity,
    queryRaw: (query) => withProblems(() => route(query, (connection) => connection.queryRaw(query))),
    executeRaw: (query) => withProblems(() => route(query, (connection) => connection.executeRaw(query))),
    executeScript: (script) => withProblems(() => writer.alone(performance.now(), async (connection) => connection.exec(script))),
    startTransaction: () => withProblems(() => writer.begin()),
    async dispose() {
      // The last connection to close folds the write-ahead log in and removes it; a read-only one cannot.
      reader.close();
      await writer.close();
    },
  };
}
