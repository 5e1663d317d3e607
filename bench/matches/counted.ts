import type { TransactionClient } from "../../src/database/database.ts";

/** What a piece of work asked of the database. */
export interface Cost {
  statements: number;
  read: number;
  written: number;
}

/** The same client, with every call and its rows added up. */
export function counted(db: TransactionClient, cost: Cost): TransactionClient {
  return new Proxy(db, {
    get(target, name) {
      const part: unknown = Reflect.get(target, name);
      return typeof part === "function" ? (...args: unknown[]): unknown => Reflect.apply(part, target, args) : countedPart(part, cost);
    },
  });
}

function countedPart(part: unknown, cost: Cost): unknown {
  if (typeof part !== "object" || part === null) return part;
  return new Proxy(part, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function") return method;
      return async (...args: unknown[]): Promise<unknown> => {
        const result: unknown = await Reflect.apply(method, target, args);
        cost.statements += 1;
        if (Array.isArray(result)) cost.read += result.length;
        else if (typeof result === "object" && result !== null && "count" in result) cost.written += Number(result.count);
        return result;
      };
    },
  });
}
