import { AsyncLocalStorage } from "node:async_hooks";
import { Server } from "node:http";
import BetterSqlite3 from "better-sqlite3";

/** Statements that reached SQLite. */
export interface Statements {
  /** By what an HTTP request set off, however much later. */
  byRequests: number;
  /** By timers and everything else. */
  otherwise: number;
}

/** Watches the driver of SQLite, below everything of ours and of Prisma's, in this whole process. */
export interface DriverTrace {
  /** Statements since the last time this was asked. */
  take(): Statements;
  /** When the last transaction was committed, on the clock of `performance`. */
  committedAt(): number;
  end(): void;
}

type Method = (this: unknown, ...given: unknown[]) => unknown;

export function startDriverTrace(): DriverTrace {
  const requests = new AsyncLocalStorage<true>();
  let counted: Statements = { byRequests: 0, otherwise: 0 };
  let committedAt = Number.NaN;
  const count = (): void => void (counted[requests.getStore() === true ? "byRequests" : "otherwise"] += 1);

  const memory = new BetterSqlite3(":memory:");
  const statement: object = Object.getPrototypeOf(memory.prepare("SELECT 1")) as object;
  memory.close();
  const counting = (original: Method): Method =>
    function counted(...given) {
      count();
      return original.apply(this, given);
    };
  const restores = [
    ...["run", "get", "all", "iterate"].map((name) => replace(statement, name, counting)),
    replace(BetterSqlite3.prototype, "exec", (original) => {
      return function exec(...given) {
        count();
        const result = original.apply(this, given);
        if (given[0] === "COMMIT") committedAt = performance.now();
        return result;
      };
    }),
    replace(Server.prototype, "emit", (original) => {
      return function emit(...given) {
        return given[0] === "request" ? requests.run(true, () => original.apply(this, given)) : original.apply(this, given);
      };
    }),
  ];

  return {
    take() {
      const taken = counted;
      counted = { byRequests: 0, otherwise: 0 };
      return taken;
    },
    committedAt: () => committedAt,
    end() {
      for (const restore of restores) restore();
    },
  };
}

/** Replace a method until the result is called; one that was inherited is inherited again. */
function replace(owner: object, name: string, wrap: (original: Method) => Method): () => void {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  const original = Reflect.get(owner, name) as Method;
  Object.defineProperty(owner, name, { value: wrap(original), configurable: true, writable: true });
  return () => {
    if (before === undefined) Reflect.deleteProperty(owner, name);
    else Object.defineProperty(owner, name, before);
  };
}
