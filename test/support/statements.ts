import BetterSqlite3 from "better-sqlite3";
import pg from "pg";

/** The texts of statements that reached the driver while the work ran, in their order, of both databases. */
export async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
  const found: string[] = [];
  const memory = new BetterSqlite3(":memory:");
  const statement = Object.getPrototypeOf(memory.prepare("SELECT 1")) as object;
  memory.close();
  const noted = (text: unknown): void => {
    const line = String(text).replaceAll(/\s+/g, " ").trim();
    // With each statement our SQLite connection asks whether the schema has changed.
    if (!/^PRAGMA schema_version$|FROM sqlite_schema/.test(line)) found.push(line);
  };
  const restores = [
    ...["run", "get", "all", "iterate"].map((name) => watch(statement, name, (self) => noted((self as { source: string }).source))),
    watch(BetterSqlite3.prototype, "exec", (_self, [text]) => noted(text)),
    watch(pg.Client.prototype, "query", (_self, [query]) => noted(typeof query === "string" ? query : (query as { text: string }).text)),
  ];
  try {
    await work();
  } finally {
    for (const restore of restores) restore();
  }
  return found;
}

type Method = (this: unknown, ...given: unknown[]) => unknown;

/** See each call of a method until the result is called. */
function watch(owner: object, name: string, see: (self: unknown, given: readonly unknown[]) => void): () => void {
  const original = Reflect.get(owner, name) as Method;
  const descriptor = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, {
    configurable: true,
    writable: true,
    value: function watched(this: unknown, ...given: unknown[]) {
      see(this, given);
      return original.apply(this, given);
    },
  });
  return () => {
    if (descriptor === undefined) Reflect.deleteProperty(owner, name);
    else Object.defineProperty(owner, name, descriptor);
  };
}
