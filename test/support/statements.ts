import { AsyncLocalStorage } from "node:async_hooks";
import { Server } from "node:http";
import BetterSqlite3 from "better-sqlite3";
import pg from "pg";

/** What reached the driver of a database. */
export interface Statements {
  /** The statements of each transaction, BEGIN and COMMIT among them, in the order in which they began. */
  transactions: string[][];
  /** Statements outside of transactions, in their order. */
  single: string[];
}

/** The statements that some work makes, itself or by requests to the service; those of jobs that run beside it are left out. */
export async function statementsOf(work: () => Promise<unknown>): Promise<Statements> {
  const found: Statements = { transactions: [], single: [] };
  const open = new Map<unknown, string[]>();
  const working = new AsyncLocalStorage<true>();
  const note = (connection: unknown, text: unknown): void => {
    if (working.getStore() === undefined) return;
    const line = String(text).replaceAll(/\s+/g, " ").trim();
    // With each statement our SQLite connection asks whether the schema has changed.
    if (/^PRAGMA schema_version$|FROM sqlite_schema/.test(line)) return;
    const begun = open.get(connection);
    if (line.startsWith("BEGIN")) {
      const transaction = [line];
      open.set(connection, transaction);
      found.transactions.push(transaction);
    } else if (begun === undefined) found.single.push(line);
    else begun.push(line);
    if (/^(COMMIT|ROLLBACK)/.test(line)) open.delete(connection);
  };
  const memory = new BetterSqlite3(":memory:");
  const statement = Object.getPrototypeOf(memory.prepare("SELECT 1")) as object;
  memory.close();
  const restores = [
    replace(
      Server.prototype,
      "emit",
      (emit) =>
        function emitInWork(this: unknown, ...given) {
          return given[0] === "request" ? working.run(true, () => emit.apply(this, given)) : emit.apply(this, given);
        },
    ),
    ...["run", "get", "all", "iterate"].map((name) =>
      watch(statement, name, (self) => {
        const { database, source } = self as { database: unknown; source: string };
        note(database, source);
      }),
    ),
    watch(BetterSqlite3.prototype, "exec", (self, [text]) => note(self, text)),
    watch(pg.Client.prototype, "query", (self, [query]) =>
      note(self, typeof query === "string" ? query : (query as { text: string }).text),
    ),
  ];
  try {
    await working.run(true, work);
  } finally {
    for (const restore of restores) restore();
  }
  return found;
}

type Method = (this: unknown, ...given: unknown[]) => unknown;

/** See each call of a method until the result is called. */
function watch(owner: object, name: string, see: (self: unknown, given: readonly unknown[]) => void): () => void {
  return replace(
    owner,
    name,
    (original) =>
      function watched(this: unknown, ...given: unknown[]) {
        see(this, given);
        return original.apply(this, given);
      },
  );
}

/** Put another method in the place of one until the result is called. */
function replace(owner: object, name: string, by: (original: Method) => Method): () => void {
  const descriptor = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, { configurable: true, writable: true, value: by(Reflect.get(owner, name) as Method) });
  return () => {
    if (descriptor === undefined) Reflect.deleteProperty(owner, name);
    else Object.defineProperty(owner, name, descriptor);
  };
}
