import type { Tx } from "../../database/database.ts";
import type { CallsignSlot } from "../../generated/sqlite/client.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { choose } from "./callsigns.choice.ts";
import type { CallsignWish } from "./callsigns.choice.ts";
import { assignedAt, standOf } from "./callsigns.records.ts";
import type { CallsignNote, CallsignRecords, SlotStand } from "./callsigns.records.ts";
import type { CallsignUndo } from "./callsigns.undo.ts";

const daySeconds = 86_400;
/** Of a pool that says nothing else. */
const usualHoldDays = 90;

export interface Allocation {
  slot: CallsignSlot;
  /** Whether it is a callsign that they had, or that still rested after them. */
  reused: boolean;
  /** What `undoWithin` takes back. Plain JSON. */
  undo: CallsignUndo;
}

export interface HeldCallsigns {
  /** How many now rest. */
  held: number;
  callsigns: string[];
  undo: CallsignUndo;
}

/** Callsigns inside another room's transaction. The caller has checked rights, ranks and conflicts. */
export function createCallsignsWithin(records: CallsignRecords) {
  return {
    /**
     * Give somebody a callsign of a pool; who has one keeps it.
     * @throws ProblemError invalid_transition when there is no such pool; pool_exhausted with `capacity`
     */
    async allocateWithin(tx: Tx, wish: CallsignWish & CallsignNote): Promise<Allocation> {
      const { userId, pool } = wish;
      await records.lock(tx, { userId, pools: [pool] });
      const choice = await choose(tx.db, wish);
      const { own } = choice;
      if (own?.state === "assigned") return { slot: own, reused: true, undo: { user_id: userId, slots: [] } };
      const slot =
        own === null ? await records.insert(tx, choice, userId, wish) : await records.change(tx, own, assignedAt(tx.now, wish), wish);
      const left = standOf(slot);
      const before = own === null ? null : standOf(own);
      return { slot, reused: own !== null, undo: { user_id: userId, slots: [{ slot_id: slot.id, left, before }] } };
    },

    /**
     * Let every callsign of a person rest: nobody else gets its number meanwhile.
     * @param note `days` it rests; as long as each pool says unless told
     */
    async holdAllWithin(tx: Tx, userId: string, note: CallsignNote & { days?: number | undefined }): Promise<HeldCallsigns> {
      await records.lock(tx, { userId, pools: [] });
      const where = { userId, state: "assigned" };
      const found = await tx.db.callsignSlot.findMany({ where, select: { pool: true } });
      await records.lock(tx, { pools: found.map(({ pool }) => pool) });
      const rows = await tx.db.callsignSlot.findMany({ where, orderBy: [{ pool: "asc" }, { number: "asc" }] });
      const slots: CallsignUndo["slots"] = [];
      for (const row of rows) {
        const before = standOf(row);
        const changed = await records.change(tx, row, await resting(tx, row, note.days), note);
        slots.push({ slot_id: row.id, left: standOf(changed), before });
      }
      return { held: rows.length, callsigns: rows.map(({ callsign }) => callsign), undo: { user_id: userId, slots } };
    },
  };
}

/** How a slot stands that begins to rest now. @param days for how long; as its pool says unless told */
export async function resting(tx: Tx, { pool, originReference }: CallsignSlot, days?: number): Promise<SlotStand> {
  const known = days ?? (await tx.db.callsignPool.findUnique({ where: { key: pool }, select: { holdDays: true } }))?.holdDays;
  const until = addSeconds(tx.now, (known ?? usualHoldDays) * daySeconds);
  return { state: "held", since: tx.now.toISOString(), until: until.toISOString(), origin_reference: originReference };
}
