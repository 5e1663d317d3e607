import { PrismaClient } from "../generated/sqlite/client.ts";
import { dialectOf, sqliteFile } from "./dialect.ts";
import { unwrapped, retryWhileBusy, withProblems } from "./problems.ts";
import type { SqlDriverAdapter, SqlDriverAdapterFactory, SqlQuery } from "@prisma/driver-adapter-utils";
import type { ReadClient } from "./models.ts";
import { createPace } from "./pace.ts";
import { createRaw } from "./raw.ts";
import { openSqliteConnection, type SqliteConnection, type SqliteOptions } from "./sqlite-connection.ts";
import { createWriter, sqliteIdentity } from "./sqlite-writer.ts";
import { createLending, createTransact, type Transact } from "./transaction.ts";

/** The reading half of a client, whose failures are problems again where the storage is the reason. */
function readsOf(client: PrismaClient, { $queryRaw, $select }: Pick<ReadClient, "$queryRaw" | "$select">): ReadClient {
  const models: object = wrap(client, (part) => wrap(part, (method) => translated(method, part)));
  const own: Readonly<Record<string | symbol, unknown>> = { $queryRaw, $select };
  return new Proxy(models, { get: (_models, name): unknown => own[name] ?? Reflect.get(models, name) }) as ReadClient;
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

/** A client whose transactions are begun by `transact`, and what reads outside of them. */
export interface Opened {
  client: PrismaClient;
  read: ReadClient;
  transact: Transact;
  /** Close every connection. */
  close(): Promise<void>;
}

interface ClientOptions extends Pick<SqliteOptions, "synchronous" | "logger"> {
  url: string;
  /** Whether other processes serve the same PostgreSQL database. */
  isShared: boolean;
  /** For tests: how many transactions there were, on PostgreSQL. */
  transactionsBefore: number;
}

/** Open the database the address names. */
export async function openClient({ url, isShared, transactionsBefore, ...options }: ClientOptions): Promise<Opened> {
  const dialect = dialectOf(url);
  const { Client, factory } =
    dialect === "sqlite" ? onSqlite({ file: sqliteFile(url), ...options }) : await onPostgres(url, isShared, transactionsBefore);
  const connected = await factory.connect();
  let disposed: Promise<void> | undefined;
  const adapter: SqlDriverAdapter = { ...connected, dispose: () => (disposed ??= connected.dispose()) };
  const lending = createLending(adapter);
  const client = new Client({ adapter: { ...factory, connect: () => Promise.resolve(lending.adapter) }, errorFormat: "minimal" });
  const transact = createTransact(() => adapter.startTransaction(), dialect, lending.lendFrom(client));
  return {
    client,
    read: readsOf(client, createRaw(dialect, adapter)),
    transact,
    async close() {
      await client.$disconnect();
      // A client that was never asked anything has not connected, and leaves the adapter open.
      await adapter.dispose();
    },
  };
}

interface Driver {
  Client: typeof PrismaClient;
  factory: SqlDriverAdapterFactory;
}

const onSqlite = (options: SqliteOptions): Driver => ({ Client: PrismaClient, factory: createSqliteAdapter(options) });

/** What only PostgreSQL needs is read only where it is used. */
async function onPostgres(url: string, isShared: boolean, before: number): Promise<Driver> {
  const [client, { createPostgresAdapter }] = await Promise.all([
    import("../generated/postgres/client.ts"),
    import("./postgres-adapter.ts"),
  ]);
  return { Client: client.PrismaClient as unknown as typeof PrismaClient, factory: createPostgresAdapter(url, isShared, before) };
}

/** How much of one turn of the event loop queries may take. */
const turnBudgetMs = 2;

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
    dispose: () => writer.close(reader),
  };
}
