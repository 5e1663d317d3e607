import { choose, type CallsignWish } from "./choice.ts";
import type { CallsignReader } from "./keys.ts";
import { createCallsignRecords, type CallsignRecordsDeps } from "./records.ts";
import { createCallsignsSweep, type CallsignSweepDeps } from "./sweep.ts";
import { createCallsignsUndo } from "./undo.ts";
import { createCallsignsWithin } from "./within.ts";

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
export function createCallsignsService({ database, audit, events, lines, clock }: CallsignsDeps) {
  const records = createCallsignRecords({ audit, events, lines });
  return {
    records,
    /** Whether there is a pool of that key. */
    knowsPool: async (db: CallsignReader, key: string): Promise<boolean> =>
      (await db.callsignPool.findUnique({ where: { key }, select: { key: true } })) !== null,

    /**
     * What `allocateWithin` would give, without taking it.
     * @throws ProblemError invalid_transition when there is no such pool; pool_exhausted with `capacity`
     */
    async peekWithin(db: CallsignReader, wish: CallsignWish): Promise<CallsignPeek> {
      const { pool, number, callsign, own } = await choose(db, wish, clock.now());
      return { pool: pool.key, number, callsign, reused: own !== null };
    },

    ...createCallsignsWithin(records),
    ...createCallsignsUndo(records),
    ...createCallsignsSweep({ database, records, clock }),
  };
}
