import type { ReadClient, TransactionClient } from "./models.ts";
import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as delay } from "node:timers/promises";
import type { Call, IdempotencyClaim } from "../kernel/call.ts";
import type { Clock } from "../kernel/clock.ts";
import { ProblemError } from "../kernel/errors.ts";
import type { Dialect } from "./dialect.ts";
import { findOrMakeRoom, keptAnswer, type createClaims } from "./idempotency.ts";
import type { createKnownEnds, KnownEnds, Move, SeriesEnd, Ticket } from "./known-ends.ts";
import { isOfUnique, unwrapped, WriteConflictError } from "./problems.ts";
import { insertAll } from "./insert.ts";
import { UndecidedCommitError, type Transact } from "./transaction.ts";
import { type Tx, seriesNames, type Insert, type Series, type SeriesName } from "./tx.ts";
import type { Semaphore } from "../kernel/semaphore.ts";
import { Prisma } from "../generated/sqlite/client.ts";
import { holdSeries } from "./counter.ts";

/** What a transaction adds to its series, by their names, until it is written. */
type Appended = Map<SeriesName, { series: Series<never>; entries: unknown[] }>;

/**
 * Number everything that was added, and insert it, in two statements on PostgreSQL, or in one when the transaction holds the ends of the
 * series. They are taken in one order, so that two transactions never wait for each other.
 * @param more further rows, inserted in the same statement
 * @returns what inserts it
 */
async function numberSeries(tx: Tx, appended: Appended, more: readonly Insert[]): Promise<() => Promise<void>> {
  await holdSeries(
    tx,
    seriesNames.filter((name) => appended.has(name)),
  );
  const inserts: Insert[] = [];
  const ends = new Map<SeriesName, SeriesEnd>();
  for (const [name, { series, entries }] of appended) {
    const last = tx.seriesEnds.get(name) as SeriesEnd;
    const { inserts: rows, head = null } = (series as unknown as Series<unknown>).rowsOf(tx, entries, last);
    inserts.push(...rows);
    const end = { number: last.number + entries.length, head };
    tx.knownEnds?.move(name, end);
    ends.set(name, end);
  }
  const { moves = [], after = [] } = tx.knownEnds?.expected() ?? {};
  for (const { name } of moves) ends.delete(name as SeriesName);
  return async () => {
    const moved = moves.length === 0 ? undefined : moveFrom(tx, moves, after);
    const inserted = insertAll(tx, [...inserts, ...more], ends.size === 0 ? [] : [moveTo(ends)]);
    tx.knownEnds?.sent();
    await Promise.all([moved, inserted]);
  };
}

/** Move counters that the transaction has read, and so holds. */
function moveTo(ends: ReadonlyMap<SeriesName, SeriesEnd>): Prisma.Sql {
  const values = [...ends].map(([name, { number, head }]) => Prisma.sql`(${name}, ${number}, ${head})`);
  return Prisma.sql`INSERT INTO counters (name, value, head) VALUES ${Prisma.join(values)}
    ON CONFLICT (name) DO UPDATE SET value = excluded.value, head = excluded.head`;
}

/** Move counters that stand where they are expected once others have ended. PostgreSQL takes the transaction back where one does not. */
async function moveFrom(tx: Tx, moves: readonly Move[], after: readonly Ticket[]): Promise<void> {
  const [space = 0] = after.map((one) => one.space);
  const rows = moves.map(({ name, from, to }) => ({
    name,
    from_value: from.number,
    from_head: from.head,
    value: to.number,
    head: to.head,
  }));
  const numbers = after.map(({ number }) => number);
  await tx.db.$executeRaw`SELECT provost_move_counters(${space}::integer, ${JSON.stringify(numbers)}::json, ${JSON.stringify(rows)}::json)`;
}

/** The id of an installation, which its database carries from its first start on. */
export interface Instance {
  /** The id that the database carries now; undefined in a new one. */
  find(): Promise<string | undefined>;
  /** The id, made where there is none yet. */
  id(): Promise<string>;
  /** @throws ProblemError storage_readonly when the database is that of another installation than at the start; asked at most once a second */
  assertSame(db: Pick<ReadClient, "$select">): Promise<void>;
}

export interface Logger {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** How a try at a transaction ended. */
export interface EndedTransaction {
  /** `conflict`: the database took it back, and it may be tried again. */
  outcome: "committed" | "rolled_back" | "conflict";
  waitedMs: number;
  /** Undefined when it never began. */
  ranMs: number | undefined;
}

export interface WriteOptions {
  transact: Transact;
  dialect: Dialect;
  clock: Clock;
  idempotencySeconds: number;
  claims: ReturnType<typeof createClaims>;
  /** Where counters stand, for transactions that others can wait for. */
  knownEnds: ReturnType<typeof createKnownEnds>;
  /** Where transactions wait for their turn. SQLite's adapter has its own queue, for single statements too. */
  transactionSlots?: Semaphore;
  logger: Logger | undefined;
  instance: Pick<Instance, "assertSame">;
  /** Fold the log of the database into its file, and empty it. */
  emptyLog(): Promise<void>;
  /** Whether a write inside a write is found out. */
  watchNesting: boolean;
  /** The epoch in which this process leads or has led; undefined where it never did, or is the only one. */
  epoch?: (() => number | undefined) | undefined;
  /** Has memory follow what this process cannot know of its own commits; without it nobody holds anything in memory. */
  memory?: FollowingMemory | undefined;
  /** Called with how each transaction ended; without it nothing is measured. */
  onTransaction?: ((ended: EndedTransaction) => void) | undefined;
}

/** What is held in memory of the database, as far as writes care. */
export interface FollowingMemory {
  /** It may be behind: a commit was not answered, or its hooks have failed. @param decided resolves once the database has decided about the commit */
  follow(decided: () => Promise<void>): void;
  /** Resolves when it is in step as far as is known, or after a moment. */
  caughtUp(): Promise<unknown>;
}

export type Write = <T>(call: Call, work: (tx: Tx) => Promise<T>) => Promise<T>;

interface Outcome<T> {
  value: T;
  isReplay: boolean;
  isErasure: boolean;
  afterCommit: (() => void)[];
}

const maxAttempts = 8;
/** Empty, and free of charge, where nesting is not watched. */
const running = new AsyncLocalStorage<{ isOpen: boolean }>();

/** The one way to change the database. */
export function createWrite(options: WriteOptions): Write {
  return async (call, work) => {
    if (running.getStore()?.isOpen === true) throw new Error("a write inside a write would wait for itself: pass the transaction on");
    const claim = options.claims.take(call);
    try {
      const outcome = await attempt(options, call, claim, work);
      if (outcome.isReplay) {
        call.replayed = true;
        await options.memory?.caughtUp();
      }
      for (const hook of outcome.afterCommit) runHook(hook, options);
      if (outcome.isErasure) await options.emptyLog();
      return outcome.value;
    } catch (error) {
      if (claim !== null) options.claims.giveBack(call);
      throw unwrapped(error);
    }
  };
}

/** Try until the database does not take the transaction back in favour of another one. */
async function attempt<T>(
  options: WriteOptions,
  call: Call,
  claim: IdempotencyClaim | null,
  work: (tx: Tx) => Promise<T>,
): Promise<Outcome<T>> {
  for (let tries = 1; ; tries += 1) {
    const watch = options.onTransaction && createWatch(options.onTransaction);
    const endTurn = await options.transactionSlots?.acquire();
    try {
      const outcome = await inTransaction(options, call, claim, work, watch?.begun);
      watch?.end("committed");
      return outcome;
    } catch (error) {
      watch?.end(error instanceof WriteConflictError ? "conflict" : "rolled_back");
      if (!(error instanceof WriteConflictError)) throw error;
      if (tries === maxAttempts) throw new ProblemError("storage_busy", { retryAfter: 1, cause: error });
    } finally {
      endTurn?.();
    }
    await delay(Math.random() * Math.min(200, 5 * 2 ** tries));
  }
}

/** Measures one transaction: its wait ends when it begins. */
function createWatch(tell: (ended: EndedTransaction) => void) {
  const since = performance.now();
  let begunAt: number | undefined;
  return {
    begun: (): void => void (begunAt = performance.now()),
    end(outcome: EndedTransaction["outcome"]): void {
      const now = performance.now();
      tell({ outcome, waitedMs: (begunAt ?? now) - since, ranMs: begunAt === undefined ? undefined : now - begunAt });
    },
  };
}

async function inTransaction<T>(
  options: WriteOptions,
  call: Call,
  claim: IdempotencyClaim | null,
  work: (tx: Tx) => Promise<T>,
  onBegin?: () => void,
): Promise<Outcome<T>> {
  const state = { isOpen: true };
  const watched = <R>(run: () => R): R => (options.watchNesting ? running.run(state, run) : run());
  let knownEnds: KnownEnds | undefined;
  const transaction = options.transact((db, ticket) =>
    watched(async () => {
      knownEnds = ticket && options.knownEnds(ticket);
      onBegin?.();
      const appended: Appended = new Map();
      const ahead: Promise<void>[] = [];
      const beforeCommit: (() => Promise<void>)[] = [];
      const afterCommit: (() => void)[] = [];
      let isErasure = false;
      const tx: Tx = {
        db,
        dialect: options.dialect,
        call,
        now: options.clock.now(),
        insert(inserts) {
          const inserted = insertAll(tx, inserts);
          inserted.catch(() => undefined);
          ahead.push(inserted);
        },
        append(series, entry) {
          const added = appended.get(series.name);
          if (added === undefined) appended.set(series.name, { series, entries: [entry] });
          else added.entries.push(entry);
        },
        beforeCommit: (hook) => void beforeCommit.push(hook),
        afterCommit: (hook) => void afterCommit.push(hook),
        seriesEnds: new Map(),
        knownEnds,
        erases: () => void (isErasure = true),
        lock: (...names) => lock(db, options.dialect, names),
        share: (name) => share(db, options.dialect, name),
      };
      await options.instance.assertSame(db);
      await requireLeader(options, db, call);
      if (claim !== null) {
        await tx.lock(`idem:${claim.scope}`);
        const stored = await findOrMakeRoom(db, claim, tx.now);
        if (stored !== undefined) return { value: stored.value as T, isReplay: true, isErasure: false, afterCommit: [] };
      }
      if (call.within !== undefined) await call.within(tx as never);
      const value = await work(tx);
      const insert = await numberSeries(tx, appended, claim === null ? [] : keptAnswer(claim, value, tx.now, options.idempotencySeconds));
      ahead.push(insert());
      const inserted = Promise.all(ahead);
      // PostgreSQL is sent the COMMIT with it, which fails when this does.
      if (options.dialect === "postgres" && beforeCommit.length === 0) inserted.catch(() => undefined);
      else await inserted;
      for (const hook of beforeCommit) await hook();
      return { value, isReplay: false, isErasure, afterCommit };
    }),
  );
  try {
    const outcome = await transaction;
    knownEnds?.ended("committed");
    return outcome;
  } catch (caught) {
    if (caught instanceof UndecidedCommitError) options.memory?.follow(caught.decided);
    const error = caught instanceof UndecidedCommitError ? caught.cause : caught;
    // What was to be inserted under a number that was not read can be there already.
    const isSuspect = knownEnds?.counts() === true && isOfUnique(error);
    knownEnds?.ended(isSuspect ? "suspect" : "refused");
    throw isSuspect ? new WriteConflictError("a number that was not read", { cause: error }) : error;
  } finally {
    state.isOpen = false;
  }
}

/**
 * What only the leader may write is written while it is the leader: the row is held until the end of the transaction, and the next leader
 * waits for it. Requests are of any process.
 * @throws ProblemError shutting_down once another process leads
 */
async function requireLeader({ epoch }: WriteOptions, db: TransactionClient, { via, isOfProcess }: Call): Promise<void> {
  const own = epoch?.();
  if (own === undefined || isOfProcess === true || via === "rest" || via === "web") return;
  const rows = await db.$queryRaw<unknown[]>`SELECT 1 AS held FROM leadership WHERE epoch = ${own} FOR SHARE`;
  if (rows.length === 0) throw new ProblemError("shutting_down", { retryAfter: 1, cause: new Error("another process leads") });
}

/** On SQLite every write transaction is alone already. */
async function lock(db: TransactionClient, dialect: Dialect, names: readonly string[]): Promise<void> {
  if (dialect === "sqlite" || names.length === 0) return;
  await db.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(name, 0)) FROM unnest(${names}::text[]) AS name`;
}

async function share(db: TransactionClient, dialect: Dialect, name: string): Promise<void> {
  if (dialect === "postgres") await db.$executeRaw`SELECT pg_advisory_xact_lock_shared(hashtextextended(${name}, 0))`;
}

/** What is written is written: a hook that fails cannot make the write fail. What it was to set in memory is read from the database. */
function runHook(hook: () => void, { logger, memory }: Pick<WriteOptions, "logger" | "memory">): void {
  try {
    hook();
  } catch (error) {
    logger?.warn({ err: error }, "a hook failed after its transaction was committed");
    memory?.follow(() => Promise.resolve());
  }
}
