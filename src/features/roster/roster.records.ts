import type { ReadClient, TransactionClient, Tx } from "../../database/database.ts";
import type { Prisma, RosterEntry } from "../../generated/sqlite/client.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import { columnsOf, factsOf } from "./roster.facts.ts";
import type { RosterFacts, ShownFacts } from "./roster.facts.ts";
import { addLines } from "./roster.lines.ts";
import type { Line, LineNote } from "./roster.lines.ts";
import type { RosterEventName } from "./roster.states.ts";

export type RosterReader = Pick<ReadClient | TransactionClient, "rosterEntry">;

export interface RosterRecordsDeps {
  audit: Pick<AuditService, "record">;
  events: Pick<EventsService, "emit">;
}

/** Why something is done to an entry. */
export interface RosterNote extends LineNote {
  /** The permission that allowed it. */
  permission: string;
}

/** One line of the history: what happened, and how somebody stands after it. */
export interface RosterStep {
  event: RosterEventName;
  after: RosterFacts;
  /** In place of that, what the guild showed before and shows now. */
  shown?: { before: Partial<ShownFacts>; after: Partial<ShownFacts> };
}

/** What is kept of an entry besides its facts: no line of history tells of it by itself. */
export type RosterExtras = Partial<
  Pick<Prisma.RosterEntryUncheckedUpdateInput, "notes" | "heldRoles" | "inGuild" | "nickname" | "syncedAt">
>;

/** How a change is written that differs from "so it stands from now on". */
export interface RosterWriting {
  extras?: RosterExtras;
  /** How somebody stood when a back-dated change took effect; as the entry stands unless told. */
  before?: RosterFacts;
  /** How the entry stands now, where a later line has changed it again; as after the last step unless told. */
  stands?: RosterFacts;
}

export type RosterRecords = ReturnType<typeof createRosterRecords>;

/** Writes of entries inside a given transaction: each keeps the history, the audit and the events in step. */
export function createRosterRecords({ audit, events }: RosterRecordsDeps) {
  return {
    /** Everything done to one person waits here. */
    lock: (tx: Tx, userId: string): Promise<void> => tx.lock(`roster:${userId}`),

    find: (db: RosterReader, userId: string): Promise<RosterEntry | null> => db.rosterEntry.findUnique({ where: { userId } }),

    /**
     * Change an entry read under the lock, or make one. Several lines of history are one change: told once, by its first line.
     * @param entry null where there is none yet
     */
    async write(
      tx: Tx,
      { userId, entry }: { userId: string; entry: RosterEntry | null },
      steps: readonly [RosterStep, ...RosterStep[]],
      note: RosterNote,
      { extras = {}, ...writing }: RosterWriting = {},
    ): Promise<RosterEntry> {
      const [{ event }] = steps;
      const after = writing.stands ?? (steps.at(-1) ?? steps[0]).after;
      const stood = entry === null ? null : factsOf(entry);
      const row = await save(tx, userId, entry, after, extras);
      await addLines(tx, linesOf(row, writing.before ?? stood, steps), note);
      const { causeReference, permission, reason } = note;
      audit.record(tx, {
        action: `roster.${event}`,
        target: { kind: "roster_entry", id: row.id, ...(causeReference !== null && { reference: causeReference }) },
        subjectUserId: userId,
        ...(reason !== undefined && { reason }),
        ...(stood !== null && { before: stood }),
        after,
        permission,
      });
      events.emit(tx, { type: "roster.changed", data: { user_id: userId, entry_id: row.id, status: row.status, event } });
      return row;
    },
  };
}

function save({ db, now }: Tx, userId: string, entry: RosterEntry | null, after: RosterFacts, extras: RosterExtras): Promise<RosterEntry> {
  const data = { ...columnsOf(after), ...extras, updatedAt: now } as Prisma.RosterEntryUncheckedUpdateInput;
  if (entry !== null) return db.rosterEntry.update({ where: { id: entry.id }, data: { ...data, revision: entry.revision + 1 } });
  const made = { ...data, id: uuid7(now.getTime()), userId, createdAt: now } as Prisma.RosterEntryUncheckedCreateInput;
  return db.rosterEntry.create({ data: made });
}

function linesOf({ id: entryId, userId }: RosterEntry, before: RosterFacts | null, steps: readonly RosterStep[]): Line[] {
  return steps.map(({ event, after, shown }, index) => {
    const stood = steps[index - 1]?.after ?? before;
    return { entryId, userId, event, before: shown?.before ?? stood ?? {}, after: shown?.after ?? after };
  });
}
