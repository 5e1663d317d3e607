import type { SqlDriverAdapter, SqlDriverAdapterFactory, SqlQuery } from "@prisma/driver-adapter-utils";
import { createPace } from "./pace.ts";
import { retryWhileBusy, withProblems } from "./problems.ts";
import { openSqliteConnection, type SqliteConnection, type SqliteOptions } from "./sqlite-connection.ts";
import { createWriter, sqliteIdentity } from "./sqlite-writer.ts";

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
