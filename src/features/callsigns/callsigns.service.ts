import type { Deps } from "../deps.ts";
import { earliestOf } from "../../database/earliest.ts";
import type { CallsignSlot, CallsignPool } from "../../generated/sqlite/client.ts";
import { choose, type CallsignWish, isFree, type Choice, type OpenWish } from "./choice.ts";
import { type CallsignReader, holderKeyOf } from "./keys.ts";
import {
  createCallsignRecords,
  standOf,
  timeIsOver,
  type CallsignRecordsDeps,
  type CallsignRecords,
  resting,
  assignedAt,
  standingAs,
  isHolding,
  SlotStand,
  type CallsignNote,
  type SlotDraft,
} from "./records.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { sweepIsolated } from "../../kernel/isolated.ts";
import { say } from "../../kit/say.ts";
import type { Tx } from "../../database/database.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import type { Undone } from "../../kernel/undo.ts";
import { z } from "zod";

export interface Allocation {
  slot: CallsignSlot;
  /** How it was found. */
  choice: Choice;
  /** Whether it is a callsign that they had, or that still rested after them. */
  reused: boolean;
  /** What `undoInTx` takes back. Plain JSON. */
  undo: CallsignUndo;
}

interface HeldCallsigns {
  /** How many now rest. */
  held: number;
  callsigns: string[];
  undo: CallsignUndo;
}

/** A number somebody has now: one that was theirs in some way, or one that was free. */
interface Taken {
  slot: CallsignSlot;
  choice: Choice;
}

/** How often a number is looked for that others take at the same time. */
const maxTries = 5;

/** Callsigns inside another feature's transaction. The caller has checked rights, ranks and conflicts. */
function createCallsignsInTx(records: CallsignRecords) {
  /** Take a free number for a wish; what is theirs already comes back as it is. */
  async function take(tx: Tx, wish: OpenWish & CallsignNote, as: "reserved" | "assigned"): Promise<Taken> {
    const { userId } = wish;
    await records.lock(tx, { ...(userId !== null && { userId }), pools: [wish.pool] });
    for (let tries = 0; tries < maxTries; tries += 1) {
      const choice = await choose(tx.db, wish, tx.now);
      if (choice.own !== null) return { slot: choice.own, choice };
      const { pool, number, callsign } = choice;
      const draft = { pool: pool.key, number, callsign, userId, ...(as === "reserved" && { reservedBy: tx.call.actor?.id ?? null }) };
      await records.clear(tx, draft, wish);
      const slot = await records.place(tx, draft, as === "assigned" ? assignedAt(tx.now, wish) : reserved(tx, choice), wish);
      if (slot === null) continue;
      await records.tellIfLow(tx, pool);
      return { slot, choice };
    }
    throw new ProblemError("storage_busy", { retryAfter: 1 });
  }

  return {
    /**
     * Keep a number for somebody, or for nobody yet, until the time of the pool is over. What is theirs already stays as it is.
     * @throws ProblemError invalid_transition when there is no such pool; pool_exhausted with `capacity`
     */
    reserveInTx: (tx: Tx, wish: OpenWish & CallsignNote): Promise<Taken> => take(tx, wish, "reserved"),

    /**
     * Give somebody a callsign of a pool; who has one keeps it.
     * @throws ProblemError invalid_transition when there is no such pool; pool_exhausted with `capacity`
     */
    async allocateInTx(tx: Tx, wish: CallsignWish & CallsignNote): Promise<Allocation> {
      const { userId } = wish;
      const { slot: found, choice } = await take(tx, wish, "assigned");
      const { own } = choice;
      if (own?.state === "assigned") return { slot: own, choice, reused: true, undo: { user_id: userId, slots: [] } };
      const slot = own === null ? found : await records.change(tx, own, assignedAt(tx.now, wish), wish);
      const left = standOf(slot);
      const before = own === null ? null : standOf(own);
      return { slot, choice, reused: own !== null, undo: { user_id: userId, slots: [{ slot_id: slot.id, left, before }] } };
    },

    /**
     * Let every callsign of a person rest: nobody else gets its number meanwhile.
     * @param note `days` it rests; as long as each pool says by default
     */
    async holdAllInTx(tx: Tx, userId: string, note: CallsignNote & { days?: number | undefined }): Promise<HeldCallsigns> {
      await records.lock(tx, { userId, pools: [] });
      const where = { userId, state: "assigned" };
      const found = await tx.db.callsignSlot.findMany({ where, select: { pool: true } });
      await records.lock(tx, { pools: found.map(({ pool }) => pool) });
      const rows = await tx.db.callsignSlot.findMany({ where, orderBy: [{ pool: "asc" }, { number: "asc" }] });
      const slots: CallsignUndo["slots"] = [];
      for (const row of rows) {
        const before = standOf(row);
        const changed = await records.change(tx, row, await resting(tx, row, note.days), note);
        slots.push({ slot_id: row.id, left: standOf(changed), before });
      }
      return { held: rows.length, callsigns: rows.map(({ callsign }) => callsign), undo: { user_id: userId, slots } };
    },
  };
}

function reserved(tx: Tx, { pool }: Choice): SlotStand {
  const until = addSeconds(tx.now, pool.reservationMinutes * 60);
  return { ...standingAs("reserved", tx.now), until: until.toISOString() };
}

/** What a change of a person's callsigns left behind, so that it can be taken back. Plain JSON. */
const CallsignUndo = z.object({
  user_id: z.string(),
  slots: z.array(
    z.object({
      slot_id: z.string(),
      /** How the change left it. */
      left: SlotStand,
      /** How it stood before; null when the number was free. */
      before: SlotStand.nullable(),
    }),
  ),
});
type CallsignUndo = z.infer<typeof CallsignUndo>;
type SlotUndo = CallsignUndo["slots"][number];

/** Taking back what was done to callsigns. */
function createCallsignsUndo(records: CallsignRecords) {
  /** @returns the callsign if it could not be put back */
  async function putBack(tx: Tx, row: CallsignSlot, { left, before }: SlotUndo, note: CallsignNote): Promise<string | null> {
    if (isBack(row, before)) return null;
    if (!(await canPutBack(tx, row, left, before))) return row.callsign;
    await records.change(tx, row, before ?? (await resting(tx, row)), note);
    return null;
  }

  return {
    /**
     * Take back what `allocateInTx` or `holdAllInTx` did: what was given rests, what rests is given back while its number and its
     * person are free for it. What somebody else changed since is left as it is. Harmless the second time.
     * @param undo as it was stored
     */
    async undoInTx(tx: Tx, undo: unknown, note: CallsignNote): Promise<Undone> {
      const { user_id: userId, slots } = CallsignUndo.parse(undo);
      const where = { id: { in: slots.map((slot) => slot.slot_id) }, userId };
      await records.lock(tx, { userId, pools: [] });
      const found = await tx.db.callsignSlot.findMany({ where, select: { pool: true } });
      await records.lock(tx, { pools: found.map(({ pool }) => pool) });
      const rows = new Map((await tx.db.callsignSlot.findMany({ where })).map((row) => [row.id, row]));
      const stayed: string[] = [];
      for (const slot of slots) {
        const row = rows.get(slot.slot_id);
        const callsign = row === undefined ? say("callsigns.one-that-is-gone") : await putBack(tx, row, slot, note);
        if (callsign !== null) stayed.push(callsign);
      }
      if (stayed.length > 0)
        return { restored: false, detail: say("callsigns.changed-since-and-left-as-they-are", { stayed: stayed.join(", ") }) };
      return { restored: true, detail: say("callsigns.every-callsign-stands-as-before-or-rests") };
    },
  };
}

/** Whether nothing is left to do: a number that was free is not theirs any more, another is in the state it had. */
function isBack(row: CallsignSlot, before: SlotStand | null): boolean {
  return before === null ? !isHolding(row.state) : row.state === before.state;
}

async function canPutBack({ db }: Tx, row: CallsignSlot, left: SlotStand, before: SlotStand | null): Promise<boolean> {
  const now = standOf(row);
  const isAsLeft = now.state === left.state && now.since === left.since && now.origin_reference === left.origin_reference;
  const hasRested = left.state === "held" && now.state === "ended" && (await isFree(db, row.pool, row.number));
  if (!isAsLeft && !hasRested) return false;
  if (before === null || !isHolding(before.state) || row.userId === null) return true;
  const other = await db.callsignSlot.findUnique({ where: { holderKey: holderKeyOf(row.pool, row.userId) }, select: { id: true } });
  return other === null || other.id === row.id;
}

export interface CallsignsService {
  /** Free the numbers whose reservation or rest is over. For the job that runs each minute. @returns how many */
  sweep(call: Call): Promise<number>;
  /** When the next reservation or rest ends. */
  nextDue(): Promise<Date | null>;
  /**
   * Take back what `allocateInTx` or `holdAllInTx` did: what was given rests, what rests is given back while its number and its
   * person are free for it. What somebody else changed since is left as it is. Harmless the second time.
   * @param undo as it was stored
   */
  undoInTx(tx: Tx, undo: unknown, note: CallsignNote): Promise<Undone>;
  /**
   * Keep a number for somebody, or for nobody yet, until the time of the pool is over. What is theirs already stays as it is.
   * @throws ProblemError invalid_transition when there is no such pool; pool_exhausted with `capacity`
   */
  reserveInTx(tx: Tx, wish: OpenWish & CallsignNote): Promise<Taken>;
  /**
   * Give somebody a callsign of a pool; who has one keeps it.
   * @throws ProblemError invalid_transition when there is no such pool; pool_exhausted with `capacity`
   */
  allocateInTx(tx: Tx, wish: CallsignWish & CallsignNote): Promise<Allocation>;
  /**
   * Let every callsign of a person rest: nobody else gets its number meanwhile.
   * @param note `days` it rests; as long as each pool says by default
   */
  holdAllInTx(
    tx: Tx,
    userId: string,
    note: CallsignNote & {
      days?: number | undefined;
    },
  ): Promise<HeldCallsigns>;
  records: {
    lock(
      tx: Tx,
      {
        userId,
        pools,
      }: {
        userId?: string;
        pools: readonly string[];
      },
    ): Promise<void>;
    place(tx: Tx, draft: SlotDraft, stand: SlotStand, note: CallsignNote): Promise<CallsignSlot | null>;
    change: (tx: Tx, row: CallsignSlot, stand: SlotStand, note: CallsignNote, userId?: string | null) => Promise<CallsignSlot>;
    clear(tx: Tx, { pool, number, userId }: Pick<SlotDraft, "pool" | "number" | "userId">, { permission }: CallsignNote): Promise<void>;
    tellIfLow(tx: Tx, pool: CallsignPool): Promise<void>;
  };
  /** Whether there is a pool of that key. */
  knowsPool(db: CallsignReader, key: string): Promise<boolean>;
  /**
   * What `allocateInTx` would give, without taking it.
   * @throws ProblemError invalid_transition when there is no such pool; pool_exhausted with `capacity`
   */
  peekInTx(db: CallsignReader, wish: CallsignWish): Promise<CallsignPeek>;
}

export type CallsignsDeps = CallsignRecordsDeps & Omit<CallsignSweepDeps, "records">;

/** What somebody would be given if it were done now. */
export interface CallsignPeek {
  pool: string;
  number: number;
  callsign: string;
  reused: boolean;
}

/** Callsigns from pools of numbers: a number has one holder, and a person one callsign of a pool. */
export function createCallsignsService({ database, audit, events, lines, clock, logger }: CallsignsDeps): CallsignsService {
  const records = createCallsignRecords({ audit, events, lines });
  return {
    records,
    knowsPool: async (db: CallsignReader, key: string): Promise<boolean> =>
      (await db.callsignPool.findUnique({ where: { key }, select: { key: true } })) !== null,

    async peekInTx(db: CallsignReader, wish: CallsignWish): Promise<CallsignPeek> {
      const { pool, number, callsign, own } = await choose(db, wish, clock.now());
      return { pool: pool.key, number, callsign, reused: own !== null };
    },

    ...createCallsignsInTx(records),
    ...createCallsignsUndo(records),
    ...createCallsignsSweep({ database, records, clock, logger }),
  };
}

const batch = 100;
const permission = "system.act";

export interface CallsignSweepDeps extends Deps<"database" | "clock" | "logger"> {
  records: CallsignRecords;
}

type DueSlot = Pick<CallsignSlot, "id" | "pool">;

/** What time does to callsigns. */
export function createCallsignsSweep({ database, records, clock, logger }: CallsignSweepDeps) {
  const due = () => ({ state: { in: ["reserved", "held"] }, until: { lte: clock.now() } });

  const findDue = (after: DueSlot | undefined): Promise<DueSlot[]> =>
    database.read.callsignSlot.findMany({
      where: { ...due(), ...(after !== undefined && { id: { gt: after.id } }) },
      select: { id: true, pool: true },
      orderBy: { id: "asc" },
      take: batch,
    });

  const freeAll = (call: Call, found: readonly DueSlot[]): Promise<number> =>
    database.write(call, async (tx) => {
      await records.lock(tx, { pools: found.map(({ pool }) => pool) });
      const rows = await tx.db.callsignSlot.findMany({
        where: { ...due(), id: { in: found.map(({ id }) => id) } },
        orderBy: { id: "asc" },
      });
      for (const row of rows) {
        const stand = { ...standOf(row), state: "ended" } as const;
        await records.change(tx, row, stand, { causeReference: null, permission, reason: timeIsOver });
      }
      return rows.length;
    });

  return {
    /** Free the numbers whose reservation or rest is over. For the job that runs each minute. @returns how many */
    async sweep(call: Call): Promise<number> {
      requirePermission(call, permission);
      return await sweepIsolated({
        size: batch,
        find: findDue,
        work: (found) => freeAll(call, found),
        logger,
        failure: "a number whose reservation or rest is over could not be freed; it is tried again in a minute",
        idsOf: ({ id }) => ({ callsign_slot: id }),
      });
    },

    /** When the next reservation or rest ends. */
    nextDue: (): Promise<Date | null> => earliestOf(database.read, "CallsignSlot", "until", [{ state: "reserved" }, { state: "held" }]),
  };
}
