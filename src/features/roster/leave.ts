import type { Tx } from "../../database/database.ts";
import { factsOf, inStatus, standOf, type RosterFacts } from "./facts.ts";
import type { RosterNote, RosterRecords } from "./records.ts";
import { isHalted, targetOf } from "./states.ts";

/** A leave of absence that begins or ends. */
export interface LeaveChange extends Omit<RosterNote, "effectiveAt" | "causeReference"> {
  event: "loa_started" | "loa_ended";
  /** When the leave began or ended; not before what their status is about came about. */
  at: Date;
}

/** The status of an entry follows the leave that staff take. */
export function createRosterLeave(records: RosterRecords) {
  return {
    /** Bring the entry in step with a leave; harmless for who is not on the roster, on trial or in that status already. */
    async leaveWithin(tx: Tx, userId: string, { event, at, ...note }: LeaveChange): Promise<void> {
      await records.lock(tx, userId);
      const entry = await records.find(tx.db, userId);
      if (entry === null) return;
      const after = withLeave(factsOf(entry), event, at);
      if (after === null) return;
      const effectiveAt = await records.sinceStatus(tx.db, entry, at);
      await records.write(tx, { userId, entry }, [{ event, after }], { ...note, causeReference: null, effectiveAt });
    },
  };
}

/** Who waits for the end of a suspension is on leave, or back from it, once that is over. */
function withLeave(facts: RosterFacts, event: LeaveChange["event"], at: Date): RosterFacts | null {
  if (!isHalted(facts)) {
    const to = targetOf(standOf(facts), { event });
    return to === null ? null : inStatus(facts, to, { at });
  }
  const to = facts.status_before === null ? null : targetOf({ status: facts.status_before, statusBefore: null }, { event });
  return to === null ? null : { ...facts, status_before: to };
}
