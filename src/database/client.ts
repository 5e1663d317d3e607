import { PrismaClient as PostgresClient } from "../generated/postgres/client.ts";
import { PrismaClient, type Prisma } from "../generated/sqlite/client.ts";
import { dialectOf, sqliteFile } from "./dialect.ts";
import { createPostgresAdapter } from "./postgres-adapter.ts";
import { unwrapped } from "./problems.ts";
import { createSqliteAdapter } from "./sqlite-adapter.ts";

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

/** A client of the database the address names; nothing is opened yet. */
export function createClient(url: string, synchronous: "full" | "normal"): PrismaClient {
  if (dialectOf(url) === "sqlite") {
    return new PrismaClient({
      adapter: createSqliteAdapter({ file: sqliteFile(url), synchronous }),
      transactionOptions,
      errorFormat: "minimal",
    });
  }
  const client = new PostgresClient({ adapter: createPostgresAdapter(url), transactionOptions, errorFormat: "minimal" });
  return client as unknown as PrismaClient;
}
