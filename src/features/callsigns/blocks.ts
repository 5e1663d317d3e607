import type { Database, Tx } from "../../database/database.ts";
import type { CallsignPool } from "../../generated/sqlite/client.ts";
import { requireWrite, type Call } from "../../kernel/call.ts";
import { fieldError, validationProblem, type FieldError } from "../../kernel/errors.ts";
import type { Standings } from "../permissions/standing/standing.ts";
import { liveKeyOf } from "./keys.ts";
import type { createMoves } from "./moves.ts";
import { isWithin, numbersOf } from "./numbers.ts";
import { callsignsPolicy, presentNothing, presentSlot, requireMove, stateAt } from "./callsigns.policy.ts";
import { standingAs, standOf } from "./records.ts";
import { BlockInput, type BlockView, type SlotView } from "./callsigns.schema.ts";
import type { CallsignsService } from "./callsigns.service.ts";
import { writeCallsign } from "./template.ts";

export interface BlockDeps {
  database: Database;
  standing: Pick<Standings, "of">;
  callsigns: Pick<CallsignsService, "records">;
  moves: Pick<ReturnType<typeof createMoves>, "place">;
}

type Block = "block" | "unblock";

/** Numbers that are not given for now. */
export function createBlocks({ database, standing, callsigns: { records }, moves }: BlockDeps) {
  async function one(tx: Tx, pool: CallsignPool, number: number, to: Block, reason: string): Promise<SlotView> {
    const note = { causeReference: null, permission: callsignsPolicy.manage, reason };
    const slot = await tx.db.callsignSlot.findUnique({ where: { liveKey: liveKeyOf(pool.key, number) } });
    const callsign = slot?.callsign ?? writeCallsign(pool, { n: number });
    const state = slot === null ? "free" : stateAt(slot, tx.now);
    const isFree = state === "free" || state === "ended";
    requireMove(isFree ? "free" : state, to, callsign);
    if (to === "block" && isFree) {
      const draft = { pool: pool.key, number, callsign: writeCallsign(pool, { n: number }), userId: null };
      return presentSlot(await moves.place(tx, draft, standingAs("blocked", tx.now), note), standing, tx.now);
    }
    if (to === "block" && slot !== null) return presentSlot(slot, standing, tx.now);
    if (slot !== null && !isFree) await records.change(tx, slot, { ...standOf(slot), state: "ended" }, note);
    return presentNothing(callsign, { pool: pool.key, number });
  }

  async function all(call: Call, given: BlockInput, to: Block): Promise<BlockView> {
    requireWrite(call, callsignsPolicy.manage);
    const { pool: key, numbers, reason } = BlockInput.parse(given);
    return await database.write(call, async (tx) => {
      await records.lock(tx, { pools: [key] });
      const pool = await tx.db.callsignPool.findUnique({ where: { key } });
      if (pool === null) throw fieldError("/pool", "unknown_pool", "There is no such pool of callsigns.");
      const { spans } = numbersOf(pool);
      const outside = [...numbers.entries()].filter(([, number]) => !isWithin(spans, number));
      if (outside.length > 0 && to === "block") throw validationProblem(outside.map(([index]) => outsideAt(index)));
      const slots: SlotView[] = [];
      for (const number of new Set(numbers)) slots.push(await one(tx, pool, number, to, reason));
      return { pool: key, slots };
    });
  }

  return {
    /** Keep free numbers from being given. All or none. @throws ProblemError validation_failed, invalid_transition */
    block: (call: Call, given: BlockInput): Promise<BlockView> => all(call, given, "block"),

    /** Let blocked numbers be given again. @throws ProblemError validation_failed, invalid_transition */
    unblock: (call: Call, given: BlockInput): Promise<BlockView> => all(call, given, "unblock"),
  };
}

function outsideAt(index: number): FieldError {
  return { pointer: `/numbers/${index.toString()}`, in: "body", code: "out_of_range", detail: "The pool does not have this number." };
}
