import { setTimeout as delay } from "node:timers/promises";
import { createSemaphore, type Semaphore } from "../kernel/semaphore.ts";

/** Where a series ends: its last number, 0 for none, and what it has kept beside it. */
export interface SeriesEnd {
  number: number;
  head: string | null;
}

/** What a transaction is waited for by: a lock that it holds from its begin to its end. */
export interface Ticket {
  /** The two numbers of the lock: that of the process, and that of the transaction in it. */
  space: number;
  number: number;
  /** Resolves once the lock is held. */
  held(): Promise<void>;
  /** Resolves once everything that was sent so far is answered. */
  answered(): Promise<void>;
}

/** Where a counter is expected to stand, and where it stands once the transaction is committed. */
export interface Move {
  name: string;
  from: SeriesEnd;
  to: SeriesEnd;
}

/** The counters of one transaction. */
export interface KnownEnds {
  /**
   * Take a counter when nothing is waited for any more but other counters: until {@link sent} nobody else of this process takes it.
   * @param isBehind whether it comes after the answers to all that was sent, locks among it
   * @returns where it stands once all that was sent before is committed; undefined: it has to be read
   */
  take(name: string, isBehind: boolean): Promise<SeriesEnd | undefined>;
  /** Have a counter read by everybody until this transaction ends, which reads it now and goes on with other work. */
  read(name: string): Promise<void>;
  /** Where a counter that was taken stands once this transaction is committed. */
  move(name: string, to: SeriesEnd): void;
  /** The moves of counters that were not read, and the transactions that they count on. */
  expected(): { moves: Move[]; after: Ticket[] };
  /** What moves the counters is on its way, so that others may count on it. */
  sent(): void;
  /** Whether it has numbers that it has not read. */
  counts(): boolean;
  /** `suspect`: for a reason that may be a number that was not read. */
  ended(how: "committed" | "refused" | "suspect"): void;
}

/** Where a counter stands once a transaction is committed that has sent so. */
interface Known {
  end: SeriesEnd;
  by: Ticket;
}

/** How long transactions are waited for that count on others. PostgreSQL finds out who waits for one another there, and ends it; here nobody does. */
const patienceMs = 1000;
/** How long all counters are read after one did not stand where it was expected: something else writes, too. */
const distrustMs = 1000;

/**
 * Where the counters stand once everything that this process has sent is committed. A transaction so has its numbers, and the hash of the
 * entry before its own, while the one ahead of it is still at work: PostgreSQL lets them follow one another with no answer of this process
 * in between. It compares what was expected, and takes the transaction back when it was something else; then it is tried again.
 */
export function createKnownEnds(): (ticket: Ticket) => KnownEnds {
  const known = new Map<string, Known>();
  const turns = new Map<string, Semaphore>();
  /** How many transactions at work have read a counter and go on. */
  const readers = new Map<string, number>();
  const open = new Set<Ticket>();
  /** Transactions that count on others, until they end. */
  const counting = new Map<Ticket, Promise<void>>();
  let distrustedUntil = -Infinity;

  /** Until those that count on others have ended, as they move counters. */
  async function countingEnd(): Promise<void> {
    if (counting.size === 0) return;
    const patience = new AbortController();
    const { signal } = patience;
    await Promise.race([Promise.all(counting.values()), delay(patienceMs, undefined, { signal, ref: false }).catch(() => undefined)]);
    patience.abort();
  }

  return (ticket) => {
    const taken = new Map<string, { from?: Known; to?: SeriesEnd }>();
    const reads = new Set<string>();
    const leaving: (() => void)[] = [];
    let tellEnded = (): void => undefined;
    let isSent = false;
    let isEnded = false;
    open.add(ticket);

    /** @returns how to let the next one in */
    async function enter(name: string): Promise<() => void> {
      const turn = turns.get(name) ?? createSemaphore({ waiting: 2000, timeoutMs: 15_000, refusal: "storage_busy" });
      turns.set(name, turn);
      const next = await turn.acquire();
      if (!isEnded) return next;
      // What has taken too long was rolled back meanwhile, and nobody else lets the next one in.
      next();
      throw new Error("the transaction has ended");
    }

    const counts = (): boolean => [...taken.values()].some(({ from }) => from !== undefined);

    function leave(): void {
      for (const next of leaving.splice(0)) next();
    }

    return {
      async take(name, isBehind) {
        if (reads.has(name)) return undefined;
        await ticket.held();
        // What reads waits behind what was sent before, which may wait for somebody: others would wait for both.
        if (isBehind || !known.has(name)) await ticket.answered();
        leaving.push(await enter(name));
        const isRead = performance.now() < distrustedUntil || (readers.get(name) ?? 0) > 0;
        const from = isRead ? undefined : known.get(name);
        taken.set(name, from === undefined ? {} : { from });
        if (from === undefined) await countingEnd();
        return from?.end;
      },
      async read(name) {
        if (reads.has(name)) return;
        const next = await enter(name);
        reads.add(name);
        known.delete(name);
        readers.set(name, (readers.get(name) ?? 0) + 1);
        next();
        await countingEnd();
      },
      move(name, to) {
        const one = taken.get(name);
        if (one !== undefined) one.to = to;
      },
      expected() {
        const all = [...taken].flatMap(([name, { from, to }]) => (from === undefined || to === undefined ? [] : [{ name, from, to }]));
        return {
          moves: all.map(({ name, from, to }) => ({ name, from: from.end, to })),
          after: [...new Set(all.map(({ from }) => from.by))].filter((one) => open.has(one)),
        };
      },
      sent() {
        if (isEnded) return;
        isSent = true;
        if (counts()) counting.set(ticket, new Promise((resolve) => (tellEnded = resolve)));
        for (const [name, { to }] of taken) if (to !== undefined) known.set(name, { end: to, by: ticket });
        leave();
      },
      counts,
      ended(how) {
        isEnded = true;
        open.delete(ticket);
        counting.delete(ticket);
        for (const name of reads) readers.set(name, (readers.get(name) ?? 1) - 1);
        if (how === "suspect" || (isSent && how !== "committed")) {
          known.clear();
          distrustedUntil = performance.now() + distrustMs;
        }
        leave();
        tellEnded();
      },
    };
  };
}
