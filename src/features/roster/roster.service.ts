import { createRosterLeave } from "./roster.leave.ts";
import { addLines } from "./roster.lines.ts";
import { dropNamesOf } from "./roster.names.ts";
import { createRosterRecords } from "./roster.records.ts";
import type { RosterRecordsDeps } from "./roster.records.ts";
import { isLive } from "./roster.states.ts";
import { createRosterSweep } from "./roster.sweep.ts";
import type { RosterSweepDeps } from "./roster.sweep.ts";
import { createRosterUndo } from "./roster.undo.ts";
import { createRosterWithin, whyNotBegin, whyNotMove } from "./roster.within.ts";

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
