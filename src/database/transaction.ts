import type { IsolationLevel, SqlDriverAdapter, Transaction } from "@prisma/driver-adapter-utils";
import { ProblemError } from "../kernel/errors.ts";
import type { PrismaClient, TransactionClient } from "./models.ts";
import type { Dialect } from "./dialect.ts";
import type { Ticket } from "./known-ends.ts";
import { createRaw } from "./raw.ts";

/**
 * Run work in a transaction: committed when it is done, rolled back when it fails.
 * @throws ProblemError storage_busy past its time, UndecidedCommitError, and what the work throws
 */
export type Transact = <T>(work: (db: TransactionClient, ticket?: Ticket) => Promise<T>) => Promise<T>;

/** Others can wait for it, where it has a ticket. */
export type TicketedTransaction = Transaction & {
  ticket?: Ticket;
  /** After a commit that failed: undefined where nothing was committed for certain, otherwise waits until the database has decided. */
  undecided?: () => (() => Promise<void>) | undefined;
};

/** The commit was sent and failed: what the transaction has written may be in the database. */
export class UndecidedCommitError extends Error {
  override name = "UndecidedCommitError";
  /** Resolves once the database has either committed it or rolled it back. */
  readonly decided: () => Promise<void>;

  constructor(cause: unknown, decided: () => Promise<void>) {
    super("nobody knows whether the transaction was committed", { cause });
    this.decided = decided;
  }
}

/** How many transactions run at once on PostgreSQL; the rest wait in front of the pool, where waiting is fair and says when it gives up. */
export const concurrentTransactions = 8;

/** How long a transaction may take. */
const limitMs = 30_000;

/**
 * Transactions of our own. The client's have a client each, made anew, which costs more than the statements in it: here it is made only
 * for work that uses the models.
 */
export function createTransact(begin: () => Promise<TicketedTransaction>, dialect: Dialect, lend: Lend): Transact {
  return async (work) => {
    const transaction = await begin();
    const under = watch(transaction, dialect, lend);
    let limit: NodeJS.Timeout | undefined;
    const expired = new Promise<never>((_resolve, reject) => {
      limit = setTimeout(() => reject(expiry()), limitMs);
    });
    try {
      const value = await Promise.race([work(under.db, transaction.ticket), expired]);
      await under.end();
      await commit(transaction);
      return value;
    } catch (error) {
      await under.end();
      // What cannot be rolled back goes with its connection.
      await transaction.rollback().catch(() => undefined);
      throw error;
    } finally {
      clearTimeout(limit);
    }
  };
}

async function commit(transaction: TicketedTransaction): Promise<void> {
  try {
    await transaction.commit();
  } catch (error) {
    const decided = transaction.undecided?.();
    throw decided === undefined ? error : new UndecidedCommitError(error, decided);
  }
}

const expiry = (): ProblemError => new ProblemError("storage_busy", { retryAfter: 1, cause: new Error("a transaction took too long") });

/**
 * What the work is given, and how to let nothing of it come after its end. PostgreSQL is sent the end right after statements that nobody has
 * waited for: it does not commit when one of them fails.
 */
function watch(transaction: Transaction, dialect: Dialect, lend: Lend): { db: TransactionClient; end(): Promise<void> } {
  let isOpen = true;
  let models: Promise<Lent> | undefined;
  const running = new Set<Promise<unknown>>();

  /** @throws Error once the transaction has ended: the statement would be part of another one */
  function within<T>(statement: () => Promise<T>, isAwaited = true): Promise<T> {
    if (!isOpen) return Promise.reject(new Error("the transaction has ended; wait for each statement inside it"));
    const answer = statement();
    if (isAwaited) running.add(answer);
    const forget = (): void => void running.delete(answer);
    answer.then(forget, forget);
    return answer;
  }

  const isAwaited = dialect === "sqlite";
  const raw = createRaw(dialect, {
    queryRaw: (query) => within(() => transaction.queryRaw(query), isAwaited),
    executeRaw: (query) => within(() => transaction.executeRaw(query), isAwaited),
  });
  const model = (name: string): object =>
    new Proxy(raw, {
      get: (_raw, method) => (given: unknown) =>
        within(async () => {
          const { db } = await (models ??= lend(transaction));
          const owner: unknown = Reflect.get(db, name);
          return (Reflect.get(owner as object, method) as (given: unknown) => Promise<unknown>).call(owner, given);
        }),
    });
  const made: Record<string, unknown> = { ...raw };
  const db = new Proxy(made, { get: (_made, name) => (typeof name === "string" ? (made[name] ??= model(name)) : undefined) });
  return {
    db: db as unknown as TransactionClient,
    async end() {
      isOpen = false;
      await Promise.allSettled(running);
      await (await models?.catch(() => undefined))?.giveBack();
    },
  };
}

interface Lent {
  db: Omit<TransactionClient, "$select">;
  giveBack(): Promise<void>;
}

/** Has the client of the models work in a transaction that has begun. */
type Lend = (transaction: Transaction) => Promise<Lent>;

/** Longer than any transaction takes: its end is decided elsewhere. The level is that of SQLite, and says nothing to a transaction that has begun. */
const options = { timeout: 10 * limitMs, maxWait: 10 * limitMs, isolationLevel: "Serializable" } as const;

/**
 * The client begins transactions by itself alone; so it is handed one in the place of a new one.
 * @returns the adapter for the client, and what makes one of a transaction its own
 */
export function createLending(adapter: SqlDriverAdapter): { adapter: SqlDriverAdapter; lendFrom(client: PrismaClient): Lend } {
  let handed: Transaction | undefined;
  let turn: Promise<unknown> = Promise.resolve();

  /** The client asks for a level only where it is to work in the transaction handed over; some reads of several statements ask for one of their own. */
  async function startTransaction(level?: IsolationLevel): Promise<Transaction> {
    if (level === undefined) return adapter.startTransaction();
    const given = handed;
    handed = undefined;
    if (given === undefined) throw new Error("no transaction was handed over");
    return given;
  }

  function lend(client: PrismaClient, transaction: Transaction): Promise<Lent> {
    return new Promise((resolve, reject) => {
      handed = {
        ...transaction,
        options: { usePhantomQuery: true },
        commit: () => Promise.resolve(),
        rollback: () => Promise.resolve(),
      };
      const ended = client.$transaction(
        (db) =>
          new Promise<void>((giveBack) => {
            resolve({
              db,
              giveBack: () => {
                giveBack();
                return ended.catch(() => undefined);
              },
            });
          }),
        options,
      );
      ended.catch(reject);
    });
  }

  return {
    adapter: { ...adapter, startTransaction },
    // One after the other, so that each is handed its own.
    lendFrom: (client) => (transaction) => {
      const mine = turn.then(() => lend(client, transaction));
      turn = mine.catch(() => undefined);
      return mine;
    },
  };
}
