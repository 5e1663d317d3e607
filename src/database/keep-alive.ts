import type BetterSqlite3 from "better-sqlite3";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

/**
 * Node 24.19 and later 24.x abort the process when the garbage collector frees a native object of an addon that was compiled against
 * their headers (nodejs/node#65446). What is never freed cannot abort: there, connections and their statements are kept permanently.
 * Their number is bounded by the texts of statements there are.
 */
const mustKeep = major === 24 && minor >= 19;
const kept: object[] = [];

interface Native {
  prepare(...given: unknown[]): object;
}

/** Keep a connection and every statement it prepares from now on, where freeing them would end the process. */
export function keepAlive(db: BetterSqlite3.Database): BetterSqlite3.Database {
  const native = mustKeep ? nativeOf(db) : undefined;
  if (native === undefined) return db;
  const prepare = native.prepare.bind(native);
  native.prepare = (...given) => {
    const statement = prepare(...given);
    kept.push(statement);
    return statement;
  };
  kept.push(native, db);
  return db;
}

/** The library's object wraps the addon's under a symbol of its own. */
function nativeOf(db: object): Native | undefined {
  return Object.getOwnPropertySymbols(db)
    .map((symbol) => (db as Record<symbol, unknown>)[symbol])
    .find((value): value is Native => typeof value === "object" && value !== null && "prepare" in value);
}
