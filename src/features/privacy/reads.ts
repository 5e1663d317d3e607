import type { Deps } from "../deps.ts";
import { LRUCache } from "lru-cache";
import type { Logger, Tx } from "../../database/database.ts";
import type { DataRead } from "../../generated/sqlite/client.ts";
import { processCall, type Call } from "../../kernel/call.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { Erasures } from "./erasures.ts";

/** What of a person's information can be looked at. */
export type ReadKind = "authorization" | "servers" | "matches" | "timeline" | "export";

/** The looks with their upkeep, for the feature itself. */
export interface DataReadsUpkeep {
  /** Note a look of staff or of a client; one's own is not noted. Costs the caller nothing and never fails. */
  note(call: Call, userId: string, what: ReadKind): void;
  flush(): Promise<void>;
  /** The looks at a person were deleted: what is noted from now on is written, even where it was within this hour. */
  forget(userId: string): void;
  close(): Promise<void>;
}
/** What other features tell it. */
export type DataReads = Pick<DataReadsUpkeep, "note">;

export interface DataReadsDeps extends Deps<"database" | "clock"> {
  erasures: Pick<Erasures, "erasedAt">;
  logger: Logger;
  /** How many looks wait in memory while the database refuses them, the oldest going first; 10,000 by default. */
  maxWaiting?: number;
}

const hourMs = 3_600_000;
/** How many looks of this hour are known as written; one that is forgotten costs a statement, not a second row. */
const maxKnown = 50_000;
const batchSize = 500;
/** Held by anyone who writes or deletes looks. */
export const readsLock = "data-reads";

/** Remembers who looked at what of whom, so that the person can see it. */
export function createDataReads({ database, erasures, clock, logger, maxWaiting = 10_000 }: DataReadsDeps): DataReadsUpkeep {
  const known = new LRUCache<string, true>({ maxSize: maxKnown, sizeCalculation: () => 1 });
  const waiting = new Map<string, DataRead>();
  let running: Promise<void> | undefined;
  let isRefused = false;
  let isScheduled = false;

  async function drain(): Promise<void> {
    while (waiting.size > 0) {
      const batch = [...waiting].slice(0, batchSize);
      const looks = batch.map(([, look]) => look);
      await database.write(processCall(uuid7()), (tx) => insert(tx, looks, erasures));
      for (const [key] of batch) waiting.delete(key);
      isRefused = false;
    }
  }

  /** Write what was noted so far. A database that refuses is asked again later. */
  function flush(): Promise<void> {
    running ??= drain()
      .catch((error: unknown) => {
        if (!isRefused) logger.warn({ err: error, waiting: waiting.size }, "who looked at what could not be written; it is tried again");
        isRefused = true;
      })
      .finally(() => {
        running = undefined;
      });
    return running;
  }

  /** Looks of the same turn share a transaction. While the database refuses, the job that runs each minute asks it again. */
  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      if (!isRefused) void flush();
    });
  }

  return {
    note(call: Call, userId: string, what: ReadKind): void {
      const look = lookOf(call, userId, what, clock.now());
      if (look === undefined) return;
      const key = keyOf(look);
      if (known.has(key)) return;
      known.set(key, true);
      waiting.set(key, look);
      const [oldest] = waiting.keys();
      if (waiting.size > maxWaiting && oldest !== undefined) waiting.delete(oldest);
      schedule();
    },
    flush,
    forget(userId: string): void {
      for (const key of known.keys()) if (key.startsWith(`${userId}:`)) known.delete(key);
    },
    close: flush,
  };
}

/** Jobs and the operator's command line look at nobody. */
function lookOf({ client, actor, via }: Call, userId: string, what: ReadKind, at: Date): DataRead | undefined {
  if (actor?.id === userId || via === "job" || via === "cli") return undefined;
  const hour = new Date(Math.floor(at.getTime() / hourMs) * hourMs);
  return { userId, what, readerId: actor?.id ?? "", clientId: client?.id ?? "", hour, at };
}

function keyOf({ userId, what, readerId, clientId, hour }: DataRead): string {
  return [userId, what, readerId, clientId, hour.getTime()].join(":");
}

/**
 * Another process, or this one before it forgot, may have written some of them already; and what waited while the person had
 * everything deleted is not brought back.
 */
async function insert(tx: Tx, looks: readonly DataRead[], erasures: DataReadsDeps["erasures"]): Promise<void> {
  await tx.lock(readsLock);
  const userIds = [...new Set(looks.map((look) => look.userId))];
  const erased = await erasures.erasedAt(tx.db, userIds);
  const where = {
    userId: { in: userIds },
    hour: { in: [...new Set(looks.map(({ hour }) => hour))] },
  };
  const there = new Set((await tx.db.dataRead.findMany({ where })).map((row) => keyOf(row)));
  const isErased = ({ userId, at }: DataRead): boolean => at <= (erased.get(userId) ?? new Date(0));
  const fresh = looks.filter((look) => !there.has(keyOf(look)) && !isErased(look));
  if (fresh.length > 0) await tx.db.dataRead.createMany({ data: fresh });
}
