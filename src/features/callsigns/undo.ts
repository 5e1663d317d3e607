import { resting, isHolding, SlotStand, standOf, type CallsignNote, type CallsignRecords } from "./records.ts";
import type { Undone } from "../../kernel/undo.ts";
import { z } from "zod";
import type { Tx } from "../../database/database.ts";
import type { CallsignSlot } from "../../generated/sqlite/client.ts";
import { isFree } from "./choice.ts";
import { holderKeyOf } from "./keys.ts";

/** What a change of a person's callsigns left behind, so that it can be taken back. Plain JSON. */
export const CallsignUndo = z.object({
  user_id: z.string(),
  slots: z.array(
    z.object({
      slot_id: z.string(),
      /** How the change left it. */
      left: SlotStand,
      /** How it stood before; null when the number was free. */
      before: SlotStand.nullable(),
    }),
  ),
});
export type CallsignUndo = z.infer<typeof CallsignUndo>;
type SlotUndo = CallsignUndo["slots"][number];

/** Taking back what was done to callsigns. */
export function createCallsignsUndo(records: CallsignRecords) {
  /** @returns the callsign if it could not be put back */
  async function putBack(tx: Tx, row: CallsignSlot, { left, before }: SlotUndo, note: CallsignNote): Promise<string | null> {
    if (isBack(row, before)) return null;
    if (!(await canPutBack(tx, row, left, before))) return row.callsign;
    await records.change(tx, row, before ?? (await resting(tx, row)), note);
    return null;
  }

  return {
    /**
     * Take back what `allocateWithin` or `holdAllWithin` did: what was given rests, what rests is given back while its number and its
     * person are free for it. What somebody else changed since is left as it is. Harmless the second time.
     * @param undo as it was stored
     */
    async undoWithin(tx: Tx, undo: unknown, note: CallsignNote): Promise<Undone> {
      const { user_id: userId, slots } = CallsignUndo.parse(undo);
      const where = { id: { in: slots.map((slot) => slot.slot_id) }, userId };
      await records.lock(tx, { userId, pools: [] });
      const found = await tx.db.callsignSlot.findMany({ where, select: { pool: true } });
      await records.lock(tx, { pools: found.map(({ pool }) => pool) });
      const rows = new Map((await tx.db.callsignSlot.findMany({ where })).map((row) => [row.id, row]));
      const stayed: string[] = [];
      for (const slot of slots) {
        const row = rows.get(slot.slot_id);
        const callsign = row === undefined ? "one that is gone" : await putBack(tx, row, slot, note);
        if (callsign !== null) stayed.push(callsign);
      }
      if (stayed.length > 0) return { restored: false, detail: `Changed since and left as they are: ${stayed.join(", ")}.` };
      return { restored: true, detail: "Every callsign stands as before, or rests." };
    },
  };
}

/** Whether nothing is left to do: a number that was free is not theirs any more, another is in the state it had. */
function isBack(row: CallsignSlot, before: SlotStand | null): boolean {
  return before === null ? !isHolding(row.state) : row.state === before.state;
}

async function canPutBack({ db }: Tx, row: CallsignSlot, left: SlotStand, before: SlotStand | null): Promise<boolean> {
  const now = standOf(row);
  const isAsLeft = now.state === left.state && now.since === left.since && now.origin_reference === left.origin_reference;
  const hasRested = left.state === "held" && now.state === "ended" && (await isFree(db, row.pool, row.number));
  if (!isAsLeft && !hasRested) return false;
  if (before === null || !isHolding(before.state) || row.userId === null) return true;
  const other = await db.callsignSlot.findUnique({ where: { holderKey: holderKeyOf(row.pool, row.userId) }, select: { id: true } });
  return other === null || other.id === row.id;
}
