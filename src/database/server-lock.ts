import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { dirname, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import type { Logger } from "pino";
import { lockFile } from "./data-lock.ts";
import { dialectOf, sqliteFile } from "./dialect.ts";
import { DatabaseError } from "./errors.ts";
import { noticeSoon } from "../cluster/connection.ts";
import { databaseRefusal, placeOf } from "./refusals.ts";

/** That this is the one server of a database. */
export interface ServerLock {
  release(): Promise<void>;
}

export interface ServerLockOptions {
  url: string;
  /** What its own lock keeps for one server already. */
  dataDir: string;
  /** Whether other servers that say the same may have the database, too. PostgreSQL alone. */
  isShared?: boolean;
  logger: Logger;
  /** Another server has the database, because the connection that held the lock was lost: this one must stop. */
  onLost: (error: DatabaseError) => void;
  /** For tests: milliseconds between two looks at the connection. */
  beatMs?: number;
  /** For tests: milliseconds until the one that has the lock counts as another server, and not as this one's own lost connection. */
  patienceMs?: number;
}

/** A server that was killed a moment ago may still be connected, as PostgreSQL sees it. */
const patienceAtStartMs = 3000;
const retryMs = 200;

/**
 * Make this the one server of a database: two that share one would not hear of each other's changes, such as a permission that was taken away.
 * The lock ends with the process, however that ends.
 * @throws DatabaseError database_served, naming the server that has it
 */
export async function acquireServerLock(options: ServerLockOptions): Promise<ServerLock> {
  return dialectOf(options.url) === "sqlite" ? lockSqlite(options) : lockPostgres(options);
}

async function lockSqlite({ url, dataDir }: ServerLockOptions): Promise<ServerLock> {
  const file = sqliteFile(url);
  if (resolve(dirname(file)) === resolve(dataDir)) return { release: async () => {} };
  const taken = lockFile(`${file}-server.lock`, `${file}-server.pid`);
  if ("release" in taken) return { release: async () => taken.release() };
  throw new DatabaseError("database_served", `The database ${file} is served by ${taken.holder}, or give this one a database of its own.`);
}

/** In `pg_stat_activity`, which cuts names after 63 bytes; the last part tells this server from an earlier one of the same process id. */
const ownName = (): string => `provost ${process.pid.toString()} ${randomBytes(4).toString("hex")} ${hostname().slice(0, 32)}`;

/** One for each schema, as several installations can share a database. */
const lockKey = "hashtextextended('provost server ' || current_schema(), 0)";

/** The session that holds an advisory lock of two halves of 64 bits, if it may be seen. */
const holderQuery = `SELECT a.application_name AS name, a.backend_start AS since, host(a.client_addr) AS address
  FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
  WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (l.classid::bigint << 32 | l.objid::bigint) = ${lockKey}`;

interface Holder {
  name: string;
  since: Date | null;
  address: string | null;
}

async function lockPostgres({
  url,
  isShared = false,
  logger,
  onLost,
  beatMs = 5000,
  patienceMs = 30_000,
}: ServerLockOptions): Promise<ServerLock> {
  const name = ownName();
  let isOver = false;
  let client = await take(patienceAtStartMs);
  let beat = setTimeout(look, beatMs).unref();

  /** @throws DatabaseError database_served when another server has the lock; what the driver reports, in words */
  async function take(patience: number): Promise<pg.Client> {
    const { Client } = await import("pg");
    const taking = new Client({ connectionString: url, connectionTimeoutMillis: 10_000, query_timeout: 10_000, keepAlive: true });
    // A broken connection also rejects the running query; without a listener it would end the process.
    taking.on("error", () => undefined);
    try {
      await taking.connect();
      const end = performance.now() + patience;
      while (!(await tryLock(taking, name, isShared))) {
        const holder = await holderOf(taking);
        if (performance.now() > end) throw served(url, holder, isShared);
        await delay(retryMs);
      }
      return taking;
    } catch (error) {
      await taking.end().catch(() => undefined);
      throw databaseRefusal(url, error);
    }
  }

  function look(): void {
    void client
      .query("SELECT 1")
      .catch(takeAgain)
      .finally(() => {
        if (!isOver) beat = setTimeout(look, beatMs).unref();
      });
  }

  /** Until this server has the lock again, or another has it. */
  async function takeAgain(): Promise<void> {
    await client.end().catch(() => undefined);
    while (!isOver)
      try {
        const taken = await take(patienceMs);
        if (isOver) return await taken.end();
        client = taken;
        return logger.warn("the connection that keeps a second server away from the database was lost, and is back");
      } catch (error) {
        if (error instanceof DatabaseError && error.reason === "database_served") {
          isOver = true;
          return onLost(error);
        }
        await delay(beatMs, undefined, { ref: false });
      }
  }

  return {
    async release() {
      isOver = true;
      clearTimeout(beat);
      await client.end().catch(() => undefined);
    },
  };
}

async function tryLock(client: pg.Client, name: string, isShared: boolean): Promise<boolean> {
  const lock = isShared ? "pg_try_advisory_lock_shared" : "pg_try_advisory_lock";
  const text = `SET application_name = ${client.escapeLiteral(name)}; ${noticeSoon}; SELECT ${lock}(${lockKey}) AS taken`;
  // Several statements have a result each, of which the driver's types know nothing.
  const results = (await client.query(text)) as unknown as pg.QueryResult<{ taken: boolean }>[];
  return results.at(-1)?.rows[0]?.taken === true;
}

async function holderOf(client: pg.Client): Promise<Holder | undefined> {
  return (await client.query<Holder>(holderQuery)).rows[0];
}

function served(url: string, holder: Holder | undefined, isShared: boolean): DatabaseError {
  const [, pid, host = holder?.address ?? "another machine"] = /^provost (\d+) \w+ (.+)$/.exec(holder?.name ?? "") ?? [];
  const since = holder?.since?.toISOString();
  const who = pid === undefined ? "another server" : `process ${pid} on ${host}`;
  return new DatabaseError(
    "database_served",
    `The database ${placeOf(url)} is served by ${who}${since === undefined ? "" : ` since ${since}`}. ${isShared ? "Start that server with `CLUSTER=on`, too" : "Stop that server, or give this one a database of its own"}.`,
  );
}
