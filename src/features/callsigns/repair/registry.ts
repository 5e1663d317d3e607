import { setImmediate as nextTurn } from "node:timers/promises";
import type { ReadClient, TransactionClient } from "../../../database/database.ts";
import type { CallsignPool, CallsignSlot } from "../../../generated/sqlite/client.ts";

export type RegistryReader = Pick<ReadClient | TransactionClient, "callsignPool" | "callsignSlot" | "rosterEntry">;

/** Somebody who is on the roster. */
export interface Enlisted {
  userId: string;
  status: string;
  staffRole: string | null;
  department: string | null;
  revision: number;
}

/** Everything that counts in the registry, as it was read. */
export interface Registry {
  pools: ReadonlyMap<string, CallsignPool>;
  /** Those in force, and those that stand in the way of others; by id. */
  slots: readonly CallsignSlot[];
  /** By user id. */
  enlisted: ReadonlyMap<string, Enlisted>;
}

/** How many rows are read at a time. */
const slice = 500;
const counts = { OR: [{ state: { not: "ended" } }, { liveKey: { not: null } }, { holderKey: { not: null } }] };

/** Read the registry, in slices: others have their turn between two of them. @param isLive whether an entry counts */
export async function readRegistry(db: RegistryReader, isLive: (entry: { status: string }) => boolean): Promise<Registry> {
  const pools = await db.callsignPool.findMany({ orderBy: { key: "asc" } });
  const slots = await inSlices((after) =>
    db.callsignSlot.findMany({ where: { AND: [counts, { id: { gt: after } }] }, orderBy: { id: "asc" }, take: slice }),
  );
  const select = { id: true, userId: true, status: true, staffRole: true, department: true, revision: true };
  const entries = await inSlices((after) =>
    db.rosterEntry.findMany({ where: { id: { gt: after } }, select, orderBy: { id: "asc" }, take: slice }),
  );
  return {
    pools: new Map(pools.map((pool) => [pool.key, pool])),
    slots,
    enlisted: new Map(entries.filter(isLive).map((entry) => [entry.userId, entry])),
  };
}

async function inSlices<Row extends { id: string }>(read: (after: string) => Promise<Row[]>): Promise<Row[]> {
  const rows: Row[] = [];
  for (;;) {
    const part = await read(rows.at(-1)?.id ?? "");
    rows.push(...part);
    if (part.length < slice) return rows;
    await nextTurn();
  }
}
