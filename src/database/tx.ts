import type { tables } from "../generated/tables.ts";
import type { Call } from "../kernel/call.ts";
import type { TransactionClient } from "./models.ts";
import type { Dialect } from "./dialect.ts";
import type { KnownEnds, SeriesEnd } from "./known-ends.ts";

/** What work inside a transaction is given. */
export interface Tx {
  db: TransactionClient;
  dialect: Dialect;
  call: Call;
  /** One point in time for everything the transaction writes. */
  now: Date;
  /**
   * Insert rows of several tables, a table after those it refers to, without waiting for it: statements that follow see them, and the
   * transaction comes to nothing when one of them fails.
   */
  insert(inserts: readonly Insert[]): void;
  /** Add to a series: numbered and inserted when the work is done, with what is added to all other series. */
  append<Entry>(series: Series<Entry>, entry: Entry): void;
  /** Run when everything else is written, in order; it may still write rows. */
  beforeCommit(hook: () => Promise<void>): void;
  /** Run after the commit is acknowledged; never when the transaction came to nothing. */
  afterCommit(hook: () => void): void;
  /** Where the series end, by their names, once the transaction holds them; empty before. */
  seriesEnds: Map<SeriesName, SeriesEnd>;
  /** Where counters stand without being read; undefined where they always are. */
  knownEnds: KnownEnds | undefined;
  /** Say that what is deleted here is erased: after the commit, and before the write answers, nothing of it is left in the files of SQLite. */
  erases(): void;
  /** Wait for other transactions that hold one of the names, one after the other, and hold them until the end. */
  lock(...names: string[]): Promise<void>;
  /** Hold a name until the end together with other transactions that share it. A transaction that locks it waits for all of them, and they for it. */
  share(name: string): Promise<void>;
}

/** The series there are, in the order in which transactions wait for them. */
export const seriesNames = ["audit", "blacklist_changes", "events"] as const;
export type SeriesName = (typeof seriesNames)[number];

/**
 * A numbered list that transactions add to: the audit, the events, the feed of the blacklist. Its entries are in the order of commits and
 * without gaps, as a transaction takes its numbers last and holds them until it ends.
 */
export interface Series<Entry> {
  /** The name of its counter. */
  name: SeriesName;
  /**
   * The rows of the entries of one transaction.
   * @param last the end of the series before them
   */
  rowsOf(tx: Tx, entries: readonly Entry[], last: SeriesEnd): SeriesRows;
}

export interface SeriesRows {
  inserts: readonly Insert[];
  /** What is kept beside the last number from now on; absent: nothing is. */
  head?: string;
}

/** Rows of one model, all with the same fields; lists and objects are stored as JSON. */
export interface Insert {
  model: keyof typeof tables;
  rows: readonly object[];
}
