import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import { earliestOf } from "../../database/earliest.ts";
import { addLines } from "./lines.ts";
import { createRosterRecords, type RosterRecordsDeps, type RosterRecords, type RosterNote } from "./records.ts";
import { isLive, targetOf, isHalted } from "./states.ts";
import { createRosterUndo } from "./undo.ts";
import { createRosterInTx, whyNotBegin, whyNotMove } from "./in-tx.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { sweepIsolated } from "../../kernel/isolated.ts";
import { factsOf, inStatus, standOf, type RosterFacts } from "./facts.ts";
import type { Tx } from "../../database/database.ts";

/**
 * Delete what audits found about other accounts and that names this one as the same person's; there is little of it.
 * @param older which audits, by when they began; every one when empty
 * @returns how many findings
 */
async function dropFindingsNaming({ db }: Tx, userId: string, older: { lte?: Date } = {}): Promise<number> {
  const where = { code: "linked_alt_on_roster", audit: { startedAt: older } };
  const rows = await db.rosterFinding.findMany({ where, select: { id: true, facts: true } });
  const ids = rows.flatMap(({ id, facts }) => (JSON.stringify(facts).includes(`"${userId}"`) ? [id] : []));
  return (await db.rosterFinding.deleteMany({ where: { id: { in: ids } } })).count;
}

/** A leave of absence that begins or ends. Its reason, which is often about health, stays with the leave: the history keeps none. */
interface LeaveChange extends Pick<RosterNote, "permission" | "source"> {
  event: "loa_started" | "loa_ended";
  /** When the leave began or ended; not before what their status is about came about. */
  at: Date;
}

/** The status of an entry follows the leave that staff take. */
function createRosterLeave(records: RosterRecords) {
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

export type RosterService = ReturnType<typeof createRosterService>;

export type RosterDeps = RosterRecordsDeps & Omit<RosterSweepDeps, "records">;

/** Who belongs to the staff, and what became of them. One entry per person, however often they come back. */
export function createRosterService({ database, audit, events, clock, logger }: RosterDeps) {
  const records = createRosterRecords({ audit, events });
  return {
    /** The entry of a person, or null. */
    find: records.find,
    records,
    /** Adds lines to the history of a person, inside another feature's transaction that holds the person's lock. */
    lines: addLines,
    isLive,
    whyNotBegin,
    whyNotMove,
    ...createRosterInTx(records),
    ...createRosterUndo(records),
    ...createRosterLeave(records),
    dropFindingsNaming,
    ...createRosterSweep({ database, records, clock, logger }),
  };
}

const batch = 100;
const permission = "system.act" as const;

export interface RosterSweepDeps extends Deps<"database" | "clock" | "logger"> {
  records: RosterRecords;
}

/** What time does to entries. */
export function createRosterSweep({ database, records, clock, logger }: RosterSweepDeps) {
  const due = () => ({ status: { in: ["suspended", "probation"] }, suspendedUntil: { lte: clock.now() } });

  const findDue = (after: { userId: string } | undefined): Promise<{ userId: string }[]> =>
    database.read.rosterEntry.findMany({
      where: { ...due(), ...(after !== undefined && { userId: { gt: after.userId } }) },
      select: { userId: true },
      orderBy: { userId: "asc" },
      take: batch,
    });

  const endAll = (call: Call, found: readonly { userId: string }[]): Promise<number> =>
    database.write(call, async (tx) => {
      for (const { userId } of found) await records.lock(tx, userId);
      const rows = await tx.db.rosterEntry.findMany({ where: { ...due(), userId: { in: found.map(({ userId }) => userId) } } });
      for (const entry of rows) {
        const to = targetOf(entry, { event: "reinstated" }) ?? "active";
        const after = inStatus(factsOf(entry), to, { at: tx.now });
        const effectiveAt = await records.sinceStatus(tx.db, entry, entry.suspendedUntil ?? tx.now);
        const note = { causeReference: null, permission, reason: say("callsigns.its-time-is-over"), effectiveAt };
        await records.write(tx, { userId: entry.userId, entry }, [{ event: "reinstated", after }], note);
      }
      return rows.length;
    });

  return {
    /** End the suspensions and probations past their end: everybody is again what they were. For the job that runs each minute. @returns how many */
    async sweep(call: Call): Promise<number> {
      requirePermission(call, permission);
      return await sweepIsolated({
        size: batch,
        find: findDue,
        work: (found) => endAll(call, found),
        logger,
        failure: "a suspension or probation on the roster could not be ended; it is tried again in a minute",
        idsOf: ({ userId }) => ({ user_id: userId }),
      });
    },

    /** When the next suspension or probation ends. */
    nextDue: (): Promise<Date | null> =>
      earliestOf(database.read, "RosterEntry", "suspendedUntil", [{ status: "suspended" }, { status: "probation" }]),
  };
}
