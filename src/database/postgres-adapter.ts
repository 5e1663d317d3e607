import { randomInt } from "node:crypto";
import { PrismaPg } from "@prisma/adapter-pg";
import type { SqlDriverAdapterFactory, SqlQuery, SqlQueryable } from "@prisma/driver-adapter-utils";
import { LRUCache } from "lru-cache";
import pg from "pg";
import { noticeSoon } from "../cluster/connection.ts";
import type { Ticket } from "./known-ends.ts";
import { withProblems } from "./problems.ts";
import { concurrentTransactions, type TicketedTransaction } from "./transaction.ts";

/** Connections that transactions never take, so that reads go on while many writes wait for one another. */
const keptForReads = 2;

/** PostgreSQL names such a lock by two numbers of 32 bits with a sign. */
const lastNumber = 2 ** 31 - 1;

/** What the types of the driver leave out. */
type Client = pg.PoolClient & { connection: { stream: { cork(): void; uncork(): void } } };

/**
 * The stock PostgreSQL adapter with transactions of our own; failures of the storage are ProblemErrors.
 * @param isShared whether other processes wait for what a session of this one holds, also where its machine is gone without a word
 * @param before for tests: how many transactions there were
 */
export function createPostgresAdapter(url: string, isShared: boolean, before: number): SqlDriverAdapterFactory {
  const settings = {
    connectionString: url,
    max: concurrentTransactions + keptForReads,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    lock_timeout: 15_000,
    idle_in_transaction_session_timeout: 60_000,
    // Statements are sent without waiting for the answers to those before.
    pipeline: true,
  };
  const pool = new pg.Pool(settings);
  pool.on("connect", (client) => {
    // A connection that breaks fails its statements; nobody else has to hear of it.
    client.on("error", () => undefined);
    if (isShared) client.query(noticeSoon).catch(() => undefined);
  });
  const nameOf = createNames("read");
  const factory = new PrismaPg(pool, {
    disposeExternalPool: true,
    // A list is planned for the values it is asked for: what leads to few rows for one leads to half a table for another.
    statementNameGenerator: ((query: Statement) => (/ORDER BY|LIMIT/.test(query.sql) ? undefined : nameOf(query))) as Namer,
  });
  const lineOf = createLines();
  // The locks of other processes have another one, most likely; where they do not, somebody waits who need not.
  const space = randomInt(lastNumber);
  let number = before;
  /** Behind the last one the first comes again: nobody is left by then who waits for that. */
  const next = (): number => (number = number < lastNumber ? number + 1 : 1);
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    async connect() {
      const stock = await withProblems(() => factory.connect());
      return {
        provider: stock.provider,
        adapterName: stock.adapterName,
        queryRaw: (query) => withProblems(() => stock.queryRaw(query)),
        executeRaw: (query) => withProblems(() => stock.executeRaw(query)),
        executeScript: (script) => withProblems(() => stock.executeScript(script)),
        startTransaction: () =>
          withProblems(async () => {
            const client = (await pool.connect()) as Client;
            const line = await lineOf(client);
            if (isShared) return begin(client, line);
            const lock = { space, number: next() };
            // It is held to the end of the transaction, so that whoever gets it knows that the end has come.
            const wait = async () => void (await pool.query("SELECT pg_advisory_xact_lock_shared($1, $2)", [lock.space, lock.number]));
            return begin(client, line, lock, wait);
          }),
        getConnectionInfo: () => stock.getConnectionInfo(),
        dispose: () => stock.dispose(),
      };
    },
  };
}

/** The stock adapter on one connection, which it takes for a pool; made once for each. */
function createLines(): (client: Client) => Promise<SqlQueryable> {
  const nameOf = createNames("write");
  const known = new WeakMap<Client, Promise<SqlQueryable>>();
  return (client) => {
    const found = known.get(client);
    if (found !== undefined) return found;
    const pool = Object.assign(new pg.Pool(), { query: (query: pg.QueryConfig) => client.query(query) });
    const made = new PrismaPg(pool, { statementNameGenerator: nameOf as Namer }).connect();
    known.set(client, made);
    return made;
  };
}

/** How many statements of transactions, and of reads, each connection keeps prepared, and how often one comes before it is. */
const [namedAtMost, usesBefore] = [200, 5];

type Statement = Pick<SqlQuery, "sql">;
/** The types want a name for each statement; the driver does without. */
type Namer = (query: Statement) => string;

/** Names for statements that come again and again. PostgreSQL forgets none before the connection ends, so they are few. */
function createNames(prefix: "read" | "write"): (query: Statement) => string | undefined {
  const uses = new LRUCache<string, number>({ max: 1000 });
  const names = new Map<string, string>();
  return ({ sql }) => {
    const known = names.get(sql);
    if (known !== undefined || names.size >= namedAtMost) return known;
    const count = (uses.get(sql) ?? 0) + 1;
    uses.set(sql, count);
    if (count > usesBefore) names.set(sql, `provost_${prefix}_${names.size.toString()}`);
    return names.get(sql);
  };
}

/**
 * A transaction that begins with its first statement, and whose statements are sent without waiting for one another: to send and to wait
 * is most of what a statement costs here. After one has failed PostgreSQL refuses the rest, and answers COMMIT with a rollback and no
 * error; work that has swallowed the failure would then be acknowledged and gone.
 * @param waitForEnd until the transaction has ended, seen from another connection. Where processes share a database they hear of commits anyway
 */
function begin(client: Client, line: SqlQueryable, lock?: Lock, waitForEnd = (): Promise<void> => Promise.resolve()): TicketedTransaction {
  let state: "new" | "begun" | "ended" = "new";
  let failure: unknown;
  let isUndecided = false;
  let begun: Promise<unknown> | undefined;
  let last: Promise<unknown> | undefined;

  /** What is sent in one turn leaves in one piece. */
  function gather(): void {
    const { stream } = client.connection;
    stream.cork();
    process.nextTick(() => stream.uncork());
  }

  async function noted<T>(statement: () => Promise<T>): Promise<T> {
    try {
      return await withProblems(statement);
    } catch (error) {
      failure ??= error;
      // What comes after it is refused for its sake.
      throw failure;
    }
  }

  function start(): Promise<unknown> {
    state = "begun";
    const more = lock === undefined ? "" : `; SELECT pg_advisory_xact_lock(${lock.space.toString()}, ${lock.number.toString()})`;
    begun = noted(() => client.query(`BEGIN${more}`));
    begun.catch(() => undefined);
    return begun;
  }

  function send<T>(statement: () => Promise<T>): Promise<T> {
    gather();
    if (state === "new") void start();
    const answer = noted(statement);
    last = answer;
    return answer;
  }

  async function sendEnd(sql: "COMMIT" | "ROLLBACK"): Promise<pg.QueryResult> {
    try {
      return await client.query(sql);
    } catch (error) {
      isUndecided = sql === "COMMIT" && !isRefusal(error);
      throw error;
    }
  }

  /** The connection goes back whatever comes of it; one that is broken is not used again. @returns what PostgreSQL has done */
  async function finish(sql: "COMMIT" | "ROLLBACK"): Promise<string> {
    const before = state;
    state = "ended";
    if (before === "ended") return sql;
    let isBroken = false;
    try {
      if (before === "new") return sql;
      gather();
      return (await noted(() => sendEnd(sql))).command;
    } catch (error) {
      isBroken = true;
      throw error;
    } finally {
      client.release(isBroken);
    }
  }

  const savepoint = async (sql: string): Promise<void> => void (await send(() => line.executeRaw({ sql, args: [], argTypes: [] })));

  return {
    provider: line.provider,
    adapterName: line.adapterName,
    options: { usePhantomQuery: true },
    queryRaw: (query) => send(() => line.queryRaw(query)),
    executeRaw: (query) => send(() => line.executeRaw(query)),
    createSavepoint: (name) => savepoint(`SAVEPOINT ${name}`),
    async rollbackToSavepoint(name) {
      await savepoint(`ROLLBACK TO SAVEPOINT ${name}`);
      failure = undefined;
    },
    releaseSavepoint: (name) => savepoint(`RELEASE SAVEPOINT ${name}`),
    async commit() {
      const done = await finish(failure === undefined ? "COMMIT" : "ROLLBACK");
      if (done === "COMMIT") return;
      throw failure instanceof Error ? failure : new Error(`PostgreSQL has answered COMMIT with ${done}`);
    },
    rollback: async () => void (await finish("ROLLBACK")),
    undecided: () => (isUndecided ? waitForEnd : undefined),
    ...(lock !== undefined && {
      ticket: { ...lock, held: async () => void (await (begun ?? start())), answered: async () => void (await last) },
    }),
  };
}

type Lock = Pick<Ticket, "space" | "number">;

/**
 * Whether PostgreSQL says that it has rolled back: for a constraint, or in favour of another transaction. Whatever else comes in the place of
 * an answer to COMMIT, even the word that the server shuts down, may come after it has committed.
 */
function isRefusal(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(23|40(?!003))/.test(error.code ?? "");
}
