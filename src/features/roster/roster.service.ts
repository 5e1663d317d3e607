import { createRosterLeave, dropNamesOf } from "./names.ts";
import { addLines } from "./lines.ts";
import { createRosterRecords, type RosterRecordsDeps } from "./records.ts";
import { isLive } from "./states.ts";
import { createRosterSweep, type RosterSweepDeps } from "./sweep.ts";
import { createRosterUndo } from "./undo.ts";
import { createRosterWithin, whyNotBegin, whyNotMove } from "./within.ts";

export type RosterService = ReturnType<typeof createRosterService>;

export type RosterDeps = RosterRecordsDeps & Omit<RosterSweepDeps, "records">;

/** Who belongs to the staff, and what became of them. One entry per person, however often they come back. */
export function createRosterService({ database, audit, events, clock }: RosterDeps) {
  const records = createRosterRecords({ audit, events });
  return {
    /** The entry of a person, or null. */
    find: records.find,
    records,
    /** Adds lines to the history of a person, inside another room's transaction that holds the person's lock. */
    lines: addLines,
    isLive,
    whyNotBegin,
    whyNotMove,
    ...createRosterWithin(records),
    ...createRosterUndo(records),
    ...createRosterLeave(records),
    dropNamesOf,
    ...createRosterSweep({ database, records, clock }),
  };
}
