import type { Tx } from "../../database/database.ts";
import type { CallsignPool, CallsignSlot } from "../../generated/sqlite/client.ts";
import { requirePermission } from "../../kernel/call.ts";
import { fieldError } from "../../kernel/errors.ts";
import { heldBy } from "./choice.ts";
import { isOver } from "./keys.ts";
import { numbersOf, type Numbers } from "./numbers.ts";
import { callsignsPolicy, refusedMove } from "./callsigns.policy.ts";
import { assignedAt } from "./records.ts";
import type { NextAsked } from "./callsigns.schema.ts";
import type { CallsignsService } from "./callsigns.service.ts";

interface Confirmed {
  slot: CallsignSlot;
  pool: CallsignPool;
  numbers: Numbers;
  /** It was reserved for them, or theirs already. */
  reused: boolean;
}

const action = "confirm_reservation";

/** Reservations that become callsigns. */
export function createConfirmations({ records }: Pick<CallsignsService, "records">) {
  /** The reservation and who it is for, with the person and the pool locked. */
  async function open(tx: Tx, input: NextAsked): Promise<{ row: CallsignSlot; userId: string }> {
    const where = { id: input.reservation_id ?? "" };
    const seen = await tx.db.callsignSlot.findUnique({ where });
    if (seen === null) throw fieldError("/reservation_id", "unknown_reservation", "There is no such reservation.");
    if (input.pool !== undefined && input.pool !== seen.pool)
      throw fieldError("/pool", "other_pool", "The reservation is one of another pool.");
    const userId = input.user_id ?? seen.userId;
    if (userId === null) throw fieldError("/user_id", "required", "Say who is to have it.");
    await records.lock(tx, { userId, pools: [seen.pool] });
    const row = await tx.db.callsignSlot.findUniqueOrThrow({ where });
    return { row, userId };
  }

  /** @throws ProblemError invalid_transition, permission_denied */
  async function requireConfirmable(tx: Tx, row: CallsignSlot, userId: string): Promise<void> {
    const { callsign, state } = row;
    if (row.reservedBy === null && state !== "reserved") throw refusedMove(state, action, callsign, `${callsign} is not reserved.`);
    if (state === "ended" || isOver(row, tx.now)) throw refusedMove("ended", action, callsign, `The reservation of ${callsign} is over.`);
    if (state !== "reserved") throw refusedMove(state, action, callsign, `${callsign} is not reserved any more.`);
    if (row.reservedBy !== (tx.call.actor?.id ?? null)) requirePermission(tx.call, callsignsPolicy.manage);
    if (row.userId !== null && row.userId !== userId)
      throw refusedMove(state, action, callsign, `${callsign} is reserved for somebody else.`);
    const other = await heldBy(tx.db, row.pool, userId, tx.now);
    if (other !== null && other.id !== row.id)
      throw refusedMove(state, action, callsign, `They have ${other.callsign} of the pool already.`);
  }

  return {
    /** @throws ProblemError validation_failed, invalid_transition, permission_denied */
    async confirm(tx: Tx, input: NextAsked): Promise<Confirmed> {
      const { row, userId } = await open(tx, input);
      const reused = row.userId === userId;
      const isTheirs = row.state === "assigned" && reused;
      // A reservation that is over may outlast its pool.
      if (!isTheirs) await requireConfirmable(tx, row, userId);
      const pool = await tx.db.callsignPool.findUniqueOrThrow({ where: { key: row.pool } });
      const numbers = numbersOf(pool);
      if (isTheirs) return { slot: row, pool, numbers, reused };
      const note = { causeReference: null, permission: callsignsPolicy.allocate, reason: input.reason };
      await records.clear(tx, { ...row, userId }, note);
      const slot = await records.change(tx, row, assignedAt(tx.now, note), note, userId);
      return { slot, pool, numbers, reused };
    },
  };
}
