import { say } from "../../kit/say.ts";
import { resting, assignedAt, standingAs, standOf, type CallsignNote, type SlotDraft, type SlotStand } from "./records.ts";
import type { PermissionKey } from "../../kernel/permissions.ts";
import type { Database, Tx } from "../../database/database.ts";
import { WriteConflictError } from "../../database/problems.ts";
import type { CallsignSlot } from "../../generated/sqlite/client.ts";
import { requireWrite, type Call } from "../../kernel/call.ts";
import { fieldError, ProblemError } from "../../kernel/errors.ts";
import { requireRevision } from "../../kernel/revision.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import { heldBy } from "./choice.ts";
import { createFinder, type Located } from "./find.ts";
import { callsignsPolicy, presentSlot, refusedMove, requireMove, stateAt, type Move } from "./callsigns.policy.ts";
import { ReleaseInput, RetireInput, TransferInput, type CallsignQuery, type SlotView } from "./callsigns.schema.ts";
import type { CallsignsService } from "./callsigns.service.ts";

export interface MoveDeps {
  database: Database;
  access: Pick<AccessDirectory, "of" | "roles">;
  permissions: Pick<PermissionsService, "requireRankAbove">;
  callsigns: Pick<CallsignsService, "records">;
}

/** The callsign a change is about, and how the caller read it. */
export interface Named extends CallsignQuery {
  callsign: string;
  ifMatch: number | undefined;
}

/** Changes of one callsign. Nobody takes one from those at or above their own rank. */
export function createMoves({ database, access, permissions, callsigns }: MoveDeps) {
  const { records } = callsigns;
  const { locate } = createFinder(access);

  /**
   * What a callsign is, with its people (the one who gets it included) and its pool locked.
   * @throws ProblemError validation_failed; WriteConflictError where it changed hands meanwhile, so that all is tried again
   */
  async function loadForUpdate(tx: Tx, named: Named, receiver?: string): Promise<Located> {
    const seen = await locate(tx.db, named, tx.now);
    const pool = seen.slot?.pool ?? seen.place?.pool;
    if (pool === undefined) throw fieldError("/callsign", "unknown_callsign", say("callsigns.no-pool-has-such-a-callsign"), "path");
    const people = new Set([seen.slot?.userId, receiver].filter((id): id is string => typeof id === "string"));
    for (const userId of [...people].toSorted()) await records.lock(tx, { userId, pools: [] });
    await records.lock(tx, { pools: [pool] });
    const found = await locate(tx.db, { ...named, pool }, tx.now);
    if (found.slot?.id === seen.slot?.id && found.slot?.userId === seen.slot?.userId) return found;
    throw new WriteConflictError("it changed hands");
  }

  /** @throws ProblemError precondition_failed, hierarchy_violation, invalid_transition */
  function requireMayMove(tx: Tx, { slot }: Located, { callsign, ifMatch }: Named, move: Move): void {
    requireRevision(ifMatch, slot?.revision ?? 0);
    if (slot !== null && slot.userId !== null) permissions.requireRankAbove(tx.call, access.of(slot.userId).rank);
    requireMove(slot === null ? "free" : stateAt(slot, tx.now), move, slot?.callsign ?? callsign);
  }

  /** A number nobody has, written down. What time has freed is cleared first. @throws ProblemError storage_busy */
  async function place(tx: Tx, draft: SlotDraft, stand: SlotStand, note: CallsignNote): Promise<CallsignSlot> {
    await records.clear(tx, draft, note);
    const made = await records.place(tx, draft, stand, note);
    if (made === null) throw new ProblemError("storage_busy", { detail: say("callsigns.somebody-has-just-taken-it"), retryAfter: 1 });
    return made;
  }

  /** What every change has in common. */
  function move(
    call: Call,
    permission: PermissionKey,
    reason: string,
    work: (tx: Tx, note: CallsignNote) => Promise<CallsignSlot>,
  ): Promise<SlotView> {
    const note = { causeReference: null, permission, reason };
    return database.write(call, async (tx) => presentSlot(await work(tx, note), access, tx.now));
  }

  async function releaseInTx(tx: Tx, named: Named, days: number | undefined, note: CallsignNote): Promise<CallsignSlot> {
    const located = await loadForUpdate(tx, named);
    requireMayMove(tx, located, named, "release");
    const slot = existing(located);
    if (slot.state === "reserved" || days === 0) return await records.change(tx, slot, { ...standOf(slot), state: "ended" }, note);
    if (slot.state === "held")
      throw refusedMove(
        slot.state,
        "release",
        slot.callsign,
        say("callsigns.rests-already-rest-days-0-frees-it", { callsign: slot.callsign }),
      );
    return await records.change(tx, slot, await resting(tx, slot, days), note);
  }

  async function transferInTx(tx: Tx, named: Named, userId: string, note: CallsignNote): Promise<CallsignSlot> {
    const located = await loadForUpdate(tx, named, userId);
    requireMayMove(tx, located, named, "transfer");
    const slot = existing(located);
    const { pool, number, callsign, state } = slot;
    const other = await heldBy(tx.db, pool, userId, tx.now);
    if (other !== null)
      throw refusedMove(state, "transfer", callsign, say("callsigns.they-have-of-the-pool-already", { callsign: other.callsign }));
    const { revision } = await records.change(tx, slot, { ...standOf(slot), state: "ended" }, note);
    // A tag of the slot before is none of this one.
    return await place(tx, { pool, number, callsign, userId, revision: revision + 1 }, assignedAt(tx.now, note), note);
  }

  async function retireInTx(tx: Tx, named: Named, note: CallsignNote): Promise<CallsignSlot> {
    const located = await loadForUpdate(tx, named);
    requireMayMove(tx, located, named, "retire");
    const { slot, place: free } = located;
    if (slot !== null) return await records.change(tx, slot, standingAs("retired", tx.now, slot.originReference), note);
    const draft = { ...(free ?? { pool: "", number: 0 }), callsign: named.callsign, userId: null };
    return await place(tx, draft, standingAs("retired", tx.now), note);
  }

  return {
    place,

    /** Take a callsign from its holder; it rests. @throws ProblemError validation_failed, precondition_failed, hierarchy_violation, invalid_transition */
    async release(call: Call, named: Named, given: ReleaseInput): Promise<SlotView> {
      requireWrite(call, callsignsPolicy.release);
      const { reason, rest_days: days } = ReleaseInput.parse(given);
      if (days === 0) requireWrite(call, callsignsPolicy.manage);
      return await move(call, callsignsPolicy.release, reason, (tx, note) => releaseInTx(tx, named, days, note));
    },

    /** Take a callsign from its holder and give it to somebody else. @throws ProblemError as `release` */
    async transfer(call: Call, named: Named, given: TransferInput): Promise<SlotView> {
      requireWrite(call, callsignsPolicy.manage);
      const { user_id: userId, reason } = TransferInput.parse(given);
      return await move(call, callsignsPolicy.manage, reason, (tx, note) => transferInTx(tx, named, userId, note));
    },

    /** Never give a callsign again. @throws ProblemError as `release` */
    async retire(call: Call, named: Named, given: RetireInput): Promise<SlotView> {
      requireWrite(call, callsignsPolicy.manage);
      const { reason } = RetireInput.parse(given);
      return await move(call, callsignsPolicy.manage, reason, (tx, note) => retireInTx(tx, named, note));
    },

    /** Let a retired callsign be given again. @throws ProblemError as `release` */
    async unretire(call: Call, named: Named, given: RetireInput): Promise<SlotView> {
      requireWrite(call, callsignsPolicy.manage);
      const { reason } = RetireInput.parse(given);
      return await move(call, callsignsPolicy.manage, reason, async (tx, note) => {
        const located = await loadForUpdate(tx, named);
        requireMayMove(tx, located, named, "unretire");
        const slot = existing(located);
        return await records.change(tx, slot, { ...standOf(slot), state: "ended" }, note);
      });
    },
  };
}

/** Of a callsign whose state was looked at: a state other than free has a slot. */
function existing({ slot }: Located): CallsignSlot {
  if (slot === null) throw new ProblemError("storage_busy", { retryAfter: 1 });
  return slot;
}
