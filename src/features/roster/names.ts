import type { Tx } from "../../database/database.ts";
import { factsOf, inStatus, standOf, type RosterFacts } from "./facts.ts";
import type { RosterNote, RosterRecords } from "./records.ts";
import { isHalted, targetOf } from "./states.ts";

/**
 * Delete what audits found about other accounts and that names this one as the same person's; there is little of it.
 * @param older which audits, by when they began; every one when empty
 * @returns how many findings
 */
export async function dropFindingsNaming({ db }: Tx, userId: string, older: { lte?: Date } = {}): Promise<number> {
  const where = { code: "linked_alt_on_roster", audit: { startedAt: older } };
  const rows = await db.rosterFinding.findMany({ where, select: { id: true, facts: true } });
  const ids = rows.flatMap(({ id, facts }) => (JSON.stringify(facts).includes(`"${userId}"`) ? [id] : []));
  return (await db.rosterFinding.deleteMany({ where: { id: { in: ids } } })).count;
}

/** A leave of absence that begins or ends. Its reason, which is often about health, stays with the leave: the history keeps none. */
export interface LeaveChange extends Pick<RosterNote, "permission" | "source"> {
  event: "loa_started" | "loa_ended";
  /** When the leave began or ended; not before what their status is about came about. */
  at: Date;
}

/** The status of an entry follows the leave that staff take. */
export function createRosterLeave(records: RosterRecords) {
  return {
    /** Bring the entry in step with a leave; harmless for who is not on the roster, on trial or in that status already. */
    async leaveInTx(tx: Tx, userId: string, { event, at, permission, source }: LeaveChange): Promise<void> {
      await records.lock(tx, userId);
      const entry = await records.find(tx.db, userId);
      if (entry === null) return;
      const after = withLeave(factsOf(entry), event, at);
      if (after === null) return;
      const effectiveAt = await records.sinceStatus(tx.db, entry, at);
      await records.write(tx, { userId, entry }, [{ event, after }], { permission, source, causeReference: null, effectiveAt });
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
