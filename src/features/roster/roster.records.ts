import type { ReadClient, TransactionClient, Tx } from "../../database/database.ts";
import type { RosterEntry } from "../../generated/sqlite/client.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import { columnsOf, factsOf } from "./roster.facts.ts";
import type { RosterFacts } from "./roster.facts.ts";
import type { RosterEventName } from "./roster.states.ts";

export type RosterReader = Pick<ReadClient | TransactionClient, "rosterEntry">;

export interface RosterRecordsDeps {
  audit: Pick<AuditService, "record">;
  events: Pick<EventsService, "emit">;
}

/** Why something is done to an entry. */
export interface RosterNote {
  /** The request or case it comes from. */
  causeReference: string | null;
  /** The permission that allowed it. */
  permission: string;
  reason?: string | undefined;
  /** Since when it is so; from now on unless told. */
  effectiveAt?: Date | undefined;
}

/** One line of the history: what happened, and how somebody stands after it. */
export interface RosterStep {
  event: RosterEventName;
  after: RosterFacts;
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
    ): Promise<RosterEntry> {
      const [{ event }] = steps;
      const { after } = steps.at(-1) ?? steps[0];
      const before = entry === null ? null : factsOf(entry);
      const row = await save(tx, userId, entry, after);
      await remember(tx, row, before, steps, note);
      const { causeReference, permission, reason } = note;
      audit.record(tx, {
        action: `roster.${event}`,
        target: { kind: "roster_entry", id: row.id, ...(causeReference !== null && { reference: causeReference }) },
        subjectUserId: userId,
        ...(reason !== undefined && { reason }),
        ...(before !== null && { before }),
        after,
        permission,
      });
      events.emit(tx, { type: "roster.changed", data: { user_id: userId, entry_id: row.id, status: row.status, event } });
      return row;
    },
  };
}

function save({ db, now }: Tx, userId: string, entry: RosterEntry | null, after: RosterFacts): Promise<RosterEntry> {
  const data = { ...columnsOf(after), updatedAt: now };
  if (entry === null) return db.rosterEntry.create({ data: { ...data, id: uuid7(now.getTime()), userId, createdAt: now } });
  return db.rosterEntry.update({ where: { id: entry.id }, data: { ...data, revision: entry.revision + 1 } });
}

/** Lines of history are only ever added, and stand in the order of their ids however the clock goes. */
async function remember(
  tx: Tx,
  { id: entryId, userId }: RosterEntry,
  before: RosterFacts | null,
  steps: readonly RosterStep[],
  { causeReference, reason, effectiveAt = tx.now }: RosterNote,
): Promise<void> {
  const newest = await tx.db.rosterEvent.findFirst({ where: { userId }, orderBy: { id: "desc" }, select: { id: true } });
  const first = newest === null ? tx.now.getTime() : Math.max(tx.now.getTime(), timeOf(newest.id) + 1);
  await tx.db.rosterEvent.createMany({
    data: steps.map(({ event, after }, index) => ({
      id: uuid7(first + index),
      entryId,
      userId,
      event,
      before: steps[index - 1]?.after ?? before ?? {},
      after,
      actorId: tx.call.actor?.id ?? null,
      causeReference,
      reason: reason ?? null,
      effectiveAt,
      recordedAt: tx.now,
    })),
  });
}

/** The milliseconds a UUIDv7 begins with. */
function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
