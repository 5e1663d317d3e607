import {
  DriverAdapterError,
  type SqlDriverAdapter,
  type SqlDriverAdapterFactory,
  type SqlQuery,
  type Transaction,
} from "@prisma/driver-adapter-utils";
import { withProblems } from "./problems.ts";

const poolSize = 10;

/** Connections that transactions never take, so that reads go on while many writes wait for one another. */
const keptForReads = 2;

/** How many transactions run at once; the rest wait in front of the pool, where waiting is fair and says when it gives up. */
export const concurrentTransactions = poolSize - keptForReads;

/** The stock PostgreSQL adapter; failures of the storage are ProblemErrors, and a commit that did not commit is an error. */
export async function createPostgresAdapter(url: string): Promise<SqlDriverAdapterFactory> {
  const { PrismaPg } = await import("@prisma/adapter-pg");
  const stock = new PrismaPg({
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    lock_timeout: 15_000,
    idle_in_transaction_session_timeout: 60_000,
  });
  return {
    provider: stock.provider,
    adapterName: stock.adapterName,
    connect: () => withProblems(async () => guardAdapter(await stock.connect())),
  };
}

function guardAdapter(stock: SqlDriverAdapter): SqlDriverAdapter {
  return {
    provider: stock.provider,
    adapterName: stock.adapterName,
    queryRaw: (query) => withProblems(() => stock.queryRaw(query)),
    executeRaw: (query) => withProblems(() => stock.executeRaw(query)),
    executeScript: (script) => withProblems(() => stock.executeScript(script)),
    startTransaction: (level) => withProblems(async () => guardTransaction(await stock.startTransaction(level))),
    getConnectionInfo: () => stock.getConnectionInfo?.() ?? { supportsRelationJoins: true },
    dispose: () => stock.dispose(),
  };
}

/**
 * After a failed statement PostgreSQL answers COMMIT with a rollback and no error. Work that has swallowed the failure would
 * then be acknowledged and gone.
 */
function guardTransaction(stock: Transaction): Transaction {
  let failure: unknown;
  let last: Promise<unknown> = Promise.resolve();

  /** One after the other: the client asks for several relations at once, which a connection can only queue. */
  function run<T>(statement: () => Promise<T>): Promise<T> {
    const answer = last.then(() => attempt(statement));
    last = answer.catch(() => undefined);
    return answer;
  }

  async function attempt<T>(statement: () => Promise<T>): Promise<T> {
    try {
      return await withProblems(statement);
    } catch (error) {
      failure ??= error;
      throw error;
    }
  }

  async function refuseCommit(query: SqlQuery): Promise<never> {
    await stock.executeRaw({ ...query, sql: "ROLLBACK" });
    throw new DriverAdapterError({ kind: "TransactionAlreadyClosed", cause: `a statement had failed: ${String(failure)}` });
  }

  return {
    provider: stock.provider,
    adapterName: stock.adapterName,
    options: stock.options,
    queryRaw: (query) => run(() => stock.queryRaw(query)),
    executeRaw: (query) => (query.sql === "COMMIT" && failure !== undefined ? refuseCommit(query) : run(() => stock.executeRaw(query))),
    createSavepoint: (name) => run(async () => stock.createSavepoint?.(name)),
    async rollbackToSavepoint(name) {
      await withProblems(async () => stock.rollbackToSavepoint?.(name));
      failure = undefined;
    },
    releaseSavepoint: (name) => run(async () => stock.releaseSavepoint?.(name)),
    commit: () => stock.commit(),
    rollback: () => stock.rollback(),
  };
}
