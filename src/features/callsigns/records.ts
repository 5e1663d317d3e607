import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import { addSeconds } from "../../kernel/clock.ts";
import type { PermissionKey } from "../../kernel/permissions.ts";
import { z } from "zod";
import type { Tx } from "../../database/database.ts";
import type { CallsignPool, CallsignSlot } from "../../generated/sqlite/client.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { EventType } from "../events/types.ts";
import type { RosterService } from "../roster/roster.service.ts";
import { countFree } from "./free.ts";
import { holderKeyOf, isOver, liveKeyOf } from "./keys.ts";
import { numbersOf } from "./numbers.ts";

const daySeconds = 86_400;
/** Of a pool that says nothing else. */
const usualHoldDays = 90;

/** How a slot stands that begins to rest now. @param days for how long; as its pool says by default */
export async function resting(tx: Tx, { pool, originReference }: CallsignSlot, days?: number): Promise<SlotStand> {
  const known = days ?? (await tx.db.callsignPool.findUnique({ where: { key: pool }, select: { holdDays: true } }))?.holdDays;
  const until = addSeconds(tx.now, (known ?? usualHoldDays) * daySeconds);
  return { state: "held", since: tx.now.toISOString(), until: until.toISOString(), origin_reference: originReference };
}

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
  permission: PermissionKey;
  reason?: string | undefined;
}

export interface CallsignRecordsDeps extends Deps<"audit" | "events"> {
  /** Adds to the history of a person. */
  lines: RosterService["lines"];
}

export interface CallsignRecords {
  /** One person's callsigns first, then the pools: in one order, two transactions never wait for each other. */
  lock(
    tx: Tx,
    options: {
      userId?: string;
      pools: readonly string[];
    },
  ): Promise<void>;
  /** Write down a number nobody has. @returns null when somebody else has taken it meanwhile, or they have another one of the pool */
  place(tx: Tx, draft: SlotDraft, stand: SlotStand, note: CallsignNote): Promise<CallsignSlot | null>;
  change(tx: Tx, row: CallsignSlot, stand: SlotStand, note: CallsignNote, userId?: string | null): Promise<CallsignSlot>;
  /** Free what is in the way of a number or a person though its time is over. */
  clear(tx: Tx, about: Pick<SlotDraft, "pool" | "number" | "userId">, given: CallsignNote): Promise<void>;
  /** Say once that a pool runs low: when the number just taken has brought it so far. */
  tellIfLow(tx: Tx, pool: CallsignPool): Promise<void>;
}

/** Why a slot ended that time has freed. */
export const timeIsOver = say("callsigns.its-time-is-over");

/** A pool with less than this left runs low. */
const lowShare = 0.1;

const holding: ReadonlySet<string> = new Set(["reserved", "assigned"]);

/** How a change is told, by the state it leads to: in the audit, and to those who follow along where it is about a holder. */
const slotEvents: Readonly<Record<SlotStand["state"], { verb: string; event?: EventType }>> = {
  reserved: { verb: "reserve" },
  assigned: { verb: "assign", event: "callsign.assigned" },
  held: { verb: "hold", event: "callsign.released" },
  retired: { verb: "retire", event: "callsign.released" },
  blocked: { verb: "block" },
  ended: { verb: "release", event: "callsign.released" },
};

/** A slot that is not there yet. */
export interface SlotDraft {
  pool: string;
  number: number;
  callsign: string;
  userId: string | null;
  reservedBy?: string | null;
  /** Its first; 1 unless told. */
  revision?: number;
}

/** Writes of slots inside a given transaction: each keeps the audit and the events in step. */
export function createCallsignRecords({ audit, events, lines }: CallsignRecordsDeps): CallsignRecords {
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

  async function recordChange(tx: Tx, row: CallsignSlot, before: SlotStand | null, note: CallsignNote): Promise<void> {
    const { causeReference, permission, reason } = note;
    const { id, pool, number, callsign, userId } = row;
    await remember(tx, row, before, note);
    const after = standOf(row);
    const { verb, event } = slotEvents[after.state];
    audit.record(tx, {
      action: `callsign.${verb}`,
      target: { kind: "callsign", id, reference: callsign },
      ...(userId !== null && { subjectUserId: userId }),
      ...(reason !== undefined && { reason }),
      ...(before !== null && { before }),
      after: { ...after, pool, number, cause_reference: causeReference },
      permission,
    });
    if (event !== undefined)
      events.emit(tx, { type: event, data: { slot_id: id, pool, number, callsign, user_id: userId, state: after.state } });
  }

  /** Bring a slot read under its locks into another state. @param userId who has it now; who had it before by default */
  async function change(tx: Tx, row: CallsignSlot, stand: SlotStand, note: CallsignNote, userId = row.userId): Promise<CallsignSlot> {
    const data = { userId, ...columnsOf({ ...row, userId }, stand, tx.now), revision: row.revision + 1 };
    const changed = await tx.db.callsignSlot.update({ where: { id: row.id }, data });
    await recordChange(tx, changed, standOf(row), note);
    return changed;
  }

  return {
    async lock(tx: Tx, { userId, pools }: { userId?: string; pools: readonly string[] }): Promise<void> {
      if (userId !== undefined) await tx.lock(`callsign-holder:${userId}`);
      for (const pool of new Set(pools.toSorted())) await tx.lock(`callsigns:${pool}`);
    },

    async place(tx: Tx, draft: SlotDraft, stand: SlotStand, note: CallsignNote): Promise<CallsignSlot | null> {
      const row = {
        id: uuid7(tx.now.getTime()),
        reservedBy: null,
        revision: 1,
        ...draft,
        ...columnsOf(draft, stand, tx.now),
        createdAt: tx.now,
      };
      if (!(await insertUnlessTaken(tx, row))) return null;
      await recordChange(tx, row, null, note);
      return row;
    },

    change,

    async clear(
      tx: Tx,
      { pool, number, userId }: Pick<SlotDraft, "pool" | "number" | "userId">,
      { permission }: CallsignNote,
    ): Promise<void> {
      const keys = [{ liveKey: liveKeyOf(pool, number) }, ...(userId === null ? [] : [{ holderKey: holderKeyOf(pool, userId) }])];
      for (const row of await tx.db.callsignSlot.findMany({ where: { OR: keys } })) {
        if (!isOver(row, tx.now)) continue;
        await change(tx, row, { ...standOf(row), state: "ended" }, { causeReference: null, permission, reason: timeIsOver });
      }
    },

    async tellIfLow(tx: Tx, pool: CallsignPool): Promise<void> {
      const numbers = numbersOf(pool);
      const { capacity } = numbers;
      const free = await countFree(tx.db, pool.key, numbers, tx.now);
      const low = Math.max(1, capacity * lowShare);
      if (free <= low && free + 1 > low) events.emit(tx, { type: "callsign.low_pool", data: { pool: pool.key, free, capacity } });
    },
  };
}

export function standOf({ state, since, until, originReference }: CallsignSlot): SlotStand {
  return SlotStand.parse({ state, since: since.toISOString(), until: isoOrNull(until), origin_reference: originReference });
}

/** How a slot stands that gets into a state now, without an end. */
export function standingAs(state: SlotStand["state"], at: Date, originReference: string | null = null): SlotStand {
  return { state, since: at.toISOString(), until: null, origin_reference: originReference };
}

export function assignedAt(at: Date, { causeReference }: Pick<CallsignNote, "causeReference">): SlotStand {
  return standingAs("assigned", at, causeReference);
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

/** One statement finds out and writes: two processes that choose the same number never both have it. */
async function insertUnlessTaken({ db }: Tx, row: CallsignSlot): Promise<boolean> {
  const { id, pool, number, callsign, state, liveKey, holderKey, userId, since, until } = row;
  const { reservedBy, originReference, endedAt, createdAt, revision } = row;
  const inserted = await db.$executeRaw`
    INSERT INTO "callsign_slots"
      ("id", "pool", "number", "callsign", "state", "live_key", "holder_key", "user_id", "since", "until",
       "reserved_by", "origin_reference", "ended_at", "created_at", "revision")
    VALUES (${id}, ${pool}, ${number}, ${callsign}, ${state}, ${liveKey}, ${holderKey}, ${userId}, ${since}, ${until},
      ${reservedBy}, ${originReference}, ${endedAt}, ${createdAt}, ${revision})
    ON CONFLICT DO NOTHING`;
  return inserted === 1;
}
