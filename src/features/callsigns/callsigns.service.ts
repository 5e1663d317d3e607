import type { Deps } from "../deps.ts";
import { earliestOf } from "../../database/earliest.ts";
import type { CallsignSlot } from "../../generated/sqlite/client.ts";
import { choose, type CallsignWish } from "./choice.ts";
import type { CallsignReader } from "./keys.ts";
import { createCallsignRecords, standOf, timeIsOver, type CallsignRecordsDeps, type CallsignRecords } from "./records.ts";
import { createCallsignsUndo, createCallsignsInTx } from "./in-tx.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { sweepIsolated } from "../../kernel/isolated.ts";

export type CallsignsService = ReturnType<typeof createCallsignsService>;

export type CallsignsDeps = CallsignRecordsDeps & Omit<CallsignSweepDeps, "records">;

/** What somebody would be given if it were done now. */
export interface CallsignPeek {
  pool: string;
  number: number;
  callsign: string;
  reused: boolean;
}

/** Callsigns from pools of numbers: a number has one holder, and a person one callsign of a pool. */
export function createCallsignsService({ database, audit, events, lines, clock, logger }: CallsignsDeps) {
  const records = createCallsignRecords({ audit, events, lines });
  return {
    records,
    /** Whether there is a pool of that key. */
    knowsPool: async (db: CallsignReader, key: string): Promise<boolean> =>
      (await db.callsignPool.findUnique({ where: { key }, select: { key: true } })) !== null,

    /**
     * What `allocateInTx` would give, without taking it.
     * @throws ProblemError invalid_transition when there is no such pool; pool_exhausted with `capacity`
     */
    async peekInTx(db: CallsignReader, wish: CallsignWish): Promise<CallsignPeek> {
      const { pool, number, callsign, own } = await choose(db, wish, clock.now());
      return { pool: pool.key, number, callsign, reused: own !== null };
    },

    ...createCallsignsInTx(records),
    ...createCallsignsUndo(records),
    ...createCallsignsSweep({ database, records, clock, logger }),
  };
}

const batch = 100;
const permission = "system.act";

export interface CallsignSweepDeps extends Deps<"database" | "clock" | "logger"> {
  records: CallsignRecords;
}

type DueSlot = Pick<CallsignSlot, "id" | "pool">;

/** What time does to callsigns. */
export function createCallsignsSweep({ database, records, clock, logger }: CallsignSweepDeps) {
  const due = () => ({ state: { in: ["reserved", "held"] }, until: { lte: clock.now() } });

  const findDue = (after: DueSlot | undefined): Promise<DueSlot[]> =>
    database.read.callsignSlot.findMany({
      where: { ...due(), ...(after !== undefined && { id: { gt: after.id } }) },
      select: { id: true, pool: true },
      orderBy: { id: "asc" },
      take: batch,
    });

  const freeAll = (call: Call, found: readonly DueSlot[]): Promise<number> =>
    database.write(call, async (tx) => {
      await records.lock(tx, { pools: found.map(({ pool }) => pool) });
      const rows = await tx.db.callsignSlot.findMany({
        where: { ...due(), id: { in: found.map(({ id }) => id) } },
        orderBy: { id: "asc" },
      });
      for (const row of rows) {
        const stand = { ...standOf(row), state: "ended" } as const;
        await records.change(tx, row, stand, { causeReference: null, permission, reason: timeIsOver });
      }
      return rows.length;
    });

  return {
    /** Free the numbers whose reservation or rest is over. For the job that runs each minute. @returns how many */
    async sweep(call: Call): Promise<number> {
      requirePermission(call, permission);
      return await sweepIsolated({
        size: batch,
        find: findDue,
        work: (found) => freeAll(call, found),
        logger,
        failure: "a number whose reservation or rest is over could not be freed; it is tried again in a minute",
        idsOf: ({ id }) => ({ callsign_slot: id }),
      });
    },

    /** When the next reservation or rest ends. */
    nextDue: (): Promise<Date | null> => earliestOf(database.read, "CallsignSlot", "until", [{ state: "reserved" }, { state: "held" }]),
  };
}
