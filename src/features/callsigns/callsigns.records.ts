import { z } from "zod";
import type { Tx } from "../../database/database.ts";
import type { CallsignSlot } from "../../generated/sqlite/client.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { EventType } from "../events/events.types.ts";
import type { RosterService } from "../roster/roster.service.ts";
import { holderKeyOf, liveKeyOf } from "./callsigns.choice.ts";
import type { Choice } from "./callsigns.choice.ts";

export const slotStates = ["reserved", "assigned", "held", "retired", "blocked", "ended"] as const;

/** How a slot stands, and since when. Times are RFC 3339. */
export const SlotStand = z.object({
  state: z.enum(slotStates),
  since: z.string(),
  until: z.string().nullable(),
  origin_reference: z.string().nullable(),
});
export type SlotStand = z.infer<typeof SlotStand>;

/** Why something is done to a callsign. */
export interface CallsignNote {
  /** The request or case it comes from. */
  causeReference: string | null;
  /** The permission that allowed it. */
  permission: string;
  reason?: string | undefined;
}

export interface CallsignRecordsDeps {
  audit: Pick<AuditService, "record">;
  events: Pick<EventsService, "emit">;
  /** Adds to the history of a person. */
  lines: RosterService["lines"];
}

export type CallsignRecords = ReturnType<typeof createCallsignRecords>;

const holding: ReadonlySet<string> = new Set(["reserved", "assigned"]);

/** How a change is told, by the state it leads to; every other one rests. */
const told: Readonly<Partial<Record<SlotStand["state"], { verb: string; event: EventType }>>> = {
  assigned: { verb: "assign", event: "callsign.assigned" },
  ended: { verb: "release", event: "callsign.released" },
};
const rests = { verb: "hold", event: "callsign.released" } as const;

/** Writes of slots inside a given transaction: each keeps the audit and the events in step. */
export function createCallsignRecords({ audit, events, lines }: CallsignRecordsDeps) {
  /** Who has a callsign, and since when, is part of their history. */
  async function remember(tx: Tx, row: CallsignSlot, before: SlotStand | null, { causeReference, reason }: CallsignNote): Promise<void> {
    const { pool, callsign, userId } = row;
    const [had, has] = [before?.state === "assigned", row.state === "assigned"];
    if (userId === null || had === has) return;
    const entry = await tx.db.rosterEntry.findUnique({ where: { userId }, select: { id: true } });
    const event = has ? "callsign_assigned" : "callsign_released";
    const held = { callsign, pool };
    const line = { entryId: entry?.id ?? null, userId, event, before: has ? {} : held, after: has ? held : {}, pool, callsign } as const;
    await lines(tx, [line], { causeReference, reason });
  }

  async function tell(tx: Tx, row: CallsignSlot, before: SlotStand | null, note: CallsignNote): Promise<void> {
    const { causeReference, permission, reason } = note;
    const { id, pool, number, callsign, userId } = row;
    await remember(tx, row, before, note);
    const after = standOf(row);
    const { verb, event } = told[after.state] ?? rests;
    audit.record(tx, {
      action: `callsign.${verb}`,
      target: { kind: "callsign", id, reference: callsign },
      ...(userId !== null && { subjectUserId: userId }),
      ...(reason !== undefined && { reason }),
      ...(before !== null && { before }),
      after: { ...after, pool, number, cause_reference: causeReference },
      permission,
    });
    events.emit(tx, { type: event, data: { slot_id: id, pool, number, callsign, user_id: userId, state: after.state } });
  }

  return {
    /** One person's callsigns first, then the pools: in one order, two transactions never wait for each other. */
    async lock(tx: Tx, { userId, pools }: { userId?: string; pools: readonly string[] }): Promise<void> {
      if (userId !== undefined) await tx.lock(`callsign-holder:${userId}`);
      for (const pool of new Set(pools.toSorted())) await tx.lock(`callsigns:${pool}`);
    },

    /** Give a free number to a person. */
    async insert(tx: Tx, { pool, number, callsign }: Choice, userId: string, note: CallsignNote): Promise<CallsignSlot> {
      const stand = assignedAt(tx.now, note);
      const row = { id: uuid7(tx.now.getTime()), pool: pool.key, number, callsign, userId, createdAt: tx.now };
      const made = await tx.db.callsignSlot.create({ data: { ...row, ...columnsOf(row, stand, tx.now) } });
      await tell(tx, made, null, note);
      return made;
    },

    /** Bring a slot read under its locks into another state. */
    async change(tx: Tx, row: CallsignSlot, stand: SlotStand, note: CallsignNote): Promise<CallsignSlot> {
      const data = { ...columnsOf(row, stand, tx.now), revision: row.revision + 1 };
      const changed = await tx.db.callsignSlot.update({ where: { id: row.id }, data });
      await tell(tx, changed, standOf(row), note);
      return changed;
    },
  };
}

export function standOf({ state, since, until, originReference }: CallsignSlot): SlotStand {
  return SlotStand.parse({ state, since: since.toISOString(), until: isoOrNull(until), origin_reference: originReference });
}

export function assignedAt(at: Date, { causeReference }: Pick<CallsignNote, "causeReference">): SlotStand {
  return { state: "assigned", since: at.toISOString(), until: null, origin_reference: causeReference };
}

/** Whether somebody has a callsign in this state, so that they can have no other one of the pool. */
export function isHolding(state: string): boolean {
  return holding.has(state);
}

function columnsOf({ pool, number, userId }: Pick<CallsignSlot, "pool" | "number" | "userId">, stand: SlotStand, now: Date) {
  const isOver = stand.state === "ended";
  return {
    state: stand.state,
    liveKey: isOver ? null : liveKeyOf(pool, number),
    holderKey: isHolding(stand.state) && userId !== null ? holderKeyOf(pool, userId) : null,
    since: new Date(stand.since),
    until: stand.until === null ? null : new Date(stand.until),
    originReference: stand.origin_reference,
    endedAt: isOver ? now : null,
  };
}
