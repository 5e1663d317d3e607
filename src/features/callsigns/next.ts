import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import type { CallsignSlot, CallsignPool } from "../../generated/sqlite/client.ts";
import { requirePermission, requireWrite, type Call } from "../../kernel/call.ts";
import { fieldError, ProblemError } from "../../kernel/errors.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import { choose, heldBy, createPoolChoice, requirePool, type Choice } from "./choice.ts";
import { countFree, passedOver } from "./free.ts";
import { isOver, type CallsignReader } from "./keys.ts";
import { callsignsPolicy, refusedMove } from "./callsigns.policy.ts";
import { LookUpQuery, NextInput, type NextAsked, type NextView } from "./callsigns.schema.ts";
import type { CallsignsService } from "./callsigns.service.ts";
import { numberIn } from "./template.ts";
import { numbersOf, type Numbers } from "./numbers.ts";
import { assignedAt } from "./records.ts";

export interface NextDeps extends Deps<"database" | "clock"> {
  access: Pick<AccessDirectory, "of" | "role">;
  callsigns: Pick<CallsignsService, "records" | "reserveInTx" | "allocateInTx">;
}

interface Wish {
  pool: string;
  userId: string | null;
  roleKey: string | null;
  preferred: number | undefined;
  department: string | undefined;
  fill: NextAsked["fill"];
}

/** Callsigns given and kept for people, and what they would be given. */
export function createNext({ database, access, callsigns, clock }: NextDeps) {
  const { source } = createPoolChoice(access);
  const { confirm } = createConfirmations(callsigns);

  async function view(db: CallsignReader, found: Shown, preferred: number | undefined, now: Date): Promise<NextView> {
    const { choice, slot, reused } = found;
    const { pool, numbers } = choice;
    const passed = await passedOver(db, choice, preferred, now);
    return { ...presentNumber(choice, slot), reused, skipped: passed, free: await countFree(db, pool.key, numbers, now) };
  }

  async function give(tx: Tx, input: NextAsked): Promise<NextView> {
    if (input.reservation_id !== undefined) return await fromReservation(tx, input);
    const { pool, roleKey } = await source(tx.db, input, "body");
    const wish = await wishOf(tx.db, requirePool(pool), roleKey, input);
    const { userId, preferred } = wish;
    const mode = input.mode ?? (userId === null ? "reserve" : "allocate");
    const note = { causeReference: null, permission: callsignsPolicy.allocate, reason: input.reason };
    if (mode === "preview") return { ...(await peek(tx.db, wish, tx.now)), advisory: true };
    if (mode === "reserve") {
      const { slot, choice } = await callsigns.reserveInTx(tx, { ...wish, ...note });
      return await view(tx.db, { choice, slot, reused: choice.own !== null }, preferred, tx.now);
    }
    if (userId === null) throw fieldError("/user_id", "required", say("callsigns.say-who-is-to-have-it-or"));
    return await view(tx.db, await callsigns.allocateInTx(tx, { ...wish, userId, ...note }), preferred, tx.now);
  }

  /** @throws ProblemError validation_failed, invalid_transition, permission_denied */
  async function fromReservation(tx: Tx, input: NextAsked): Promise<NextView> {
    if ((input.mode ?? "allocate") !== "allocate")
      throw fieldError("/mode", "not_allowed", say("callsigns.a-reservation-can-be-allocated-only"));
    const { slot, pool, numbers, reused } = await confirm(tx, input);
    const free = await countFree(tx.db, pool.key, numbers, tx.now);
    return { ...presentNumber(slot, slot), reused, skipped: [], free };
  }

  async function peek(db: CallsignReader, wish: Wish, now: Date): Promise<NextView> {
    const choice = await choose(db, wish, now);
    const { own } = choice;
    const shown = await view(db, { choice, slot: own, reused: own !== null }, wish.preferred, now);
    return { ...shown, user_id: wish.userId };
  }

  return {
    /**
     * Give somebody a callsign, keep one for a while, or look what would be given.
     * @throws ProblemError validation_failed, pool_exhausted with `capacity`, invalid_transition, permission_denied
     */
    async next(call: Call, given: NextInput): Promise<NextView> {
      requireWrite(call, callsignsPolicy.allocate);
      const input = NextInput.parse(given);
      return await database.write(call, (tx) => give(tx, input));
    },

    /** What somebody would be given now. Takes nothing. @throws ProblemError validation_failed */
    async lookUp(call: Call, query: LookUpQuery): Promise<NextView> {
      requirePermission(call, callsignsPolicy.read);
      const input = LookUpQuery.parse(query);
      const { read } = database;
      const { pool, roleKey } = await source(read, input, "query");
      const userId = input.user_id ?? null;
      if (pool === null) return { ...nothing(userId), pool: input.pool ?? null, state: "absent" };
      try {
        const wish = { pool, userId, roleKey, preferred: undefined, department: undefined, fill: input.fill };
        return { ...(await peek(read, wish, clock.now())), advisory: true };
      } catch (error) {
        if (!(error instanceof ProblemError) || error.code !== "pool_exhausted") throw error;
        return { ...nothing(userId), pool, state: "exhausted", capacity: Number(error.extra?.["capacity"]) };
      }
    },
  };
}

interface Shown {
  choice: Choice;
  /** Null: nobody has it. */
  slot: CallsignSlot | null;
  reused: boolean;
}

type Numbered = Pick<NextView, "callsign" | "number" | "pool" | "state" | "user_id" | "reservation_id" | "expires_at">;

function presentNumber(chosen: { callsign: string; number: number; pool: string | { key: string } }, slot: CallsignSlot | null): Numbered {
  const { callsign, number, pool } = chosen;
  const state = slot?.state === "assigned" || slot?.state === "reserved" || slot?.state === "held" ? slot.state : "free";
  return {
    callsign,
    number,
    pool: typeof pool === "string" ? pool : pool.key,
    state,
    user_id: slot?.userId ?? null,
    ...(slot?.state === "reserved" && { reservation_id: slot.id }),
    ...(slot !== null && slot.until !== null && { expires_at: slot.until.toISOString() }),
  };
}

function nothing(userId: string | null): Omit<NextView, "pool" | "state"> {
  return { callsign: null, number: null, user_id: userId, reused: false, skipped: [], free: 0, advisory: true };
}

/** @throws ProblemError validation_failed when the text is no callsign of the pool */
async function wishOf(db: CallsignReader, key: string, roleKey: string | null, input: NextAsked): Promise<Wish> {
  const { prefer, department, fill, user_id: userId = null } = input;
  const wish = { pool: key, userId, roleKey, department, fill };
  if (typeof prefer !== "string") return { ...wish, preferred: prefer };
  const pool = await db.callsignPool.findUnique({ where: { key } });
  const dept = department ?? pool?.department ?? null;
  const written = pool === null ? undefined : numberIn(prefer, pool.template, { dept, rank: roleKey });
  const preferred = written ?? (/^\d{1,6}$/.test(prefer) ? Number(prefer) : undefined);
  if (preferred === undefined) throw fieldError("/prefer", "not_of_pool", say("callsigns.this-is-no-callsign-of-the-pool"));
  return { ...wish, preferred };
}

interface Confirmed {
  slot: CallsignSlot;
  pool: CallsignPool;
  numbers: Numbers;
  /** It was reserved for them, or theirs already. */
  reused: boolean;
}

const action = "confirm_reservation";

/** Reservations that become callsigns. */
export function createConfirmations({ records }: Pick<CallsignsService, "records">) {
  /** The reservation and who it is for, with the person and the pool locked. */
  async function loadForUpdate(tx: Tx, input: NextAsked): Promise<{ row: CallsignSlot; userId: string }> {
    const where = { id: input.reservation_id ?? "" };
    const seen = await tx.db.callsignSlot.findUnique({ where });
    if (seen === null) throw fieldError("/reservation_id", "unknown_reservation", say("callsigns.there-is-no-such-reservation"));
    if (input.pool !== undefined && input.pool !== seen.pool)
      throw fieldError("/pool", "other_pool", say("callsigns.the-reservation-is-one-of-another-pool"));
    const userId = input.user_id ?? seen.userId;
    if (userId === null) throw fieldError("/user_id", "required", say("callsigns.say-who-is-to-have-it"));
    await records.lock(tx, { userId, pools: [seen.pool] });
    const row = await tx.db.callsignSlot.findUniqueOrThrow({ where });
    return { row, userId };
  }

  /** @throws ProblemError invalid_transition, permission_denied */
  async function requireConfirmable(tx: Tx, row: CallsignSlot, userId: string): Promise<void> {
    const { callsign, state } = row;
    if (row.reservedBy === null && state !== "reserved")
      throw refusedMove(state, action, callsign, say("callsigns.is-not-reserved", { callsign }));
    if (state === "ended" || isOver(row, tx.now))
      throw refusedMove("ended", action, callsign, say("callsigns.the-reservation-of-is-over", { callsign }));
    if (state !== "reserved") throw refusedMove(state, action, callsign, say("callsigns.is-not-reserved-any-more", { callsign }));
    if (row.reservedBy !== (tx.call.actor?.id ?? null)) requirePermission(tx.call, callsignsPolicy.manage);
    if (row.userId !== null && row.userId !== userId)
      throw refusedMove(state, action, callsign, say("callsigns.is-reserved-for-somebody-else", { callsign }));
    const other = await heldBy(tx.db, row.pool, userId, tx.now);
    if (other !== null && other.id !== row.id)
      throw refusedMove(state, action, callsign, say("callsigns.they-have-of-the-pool-already", { callsign: other.callsign }));
  }

  return {
    /** @throws ProblemError validation_failed, invalid_transition, permission_denied */
    async confirm(tx: Tx, input: NextAsked): Promise<Confirmed> {
      const { row, userId } = await loadForUpdate(tx, input);
      const reused = row.userId === userId;
      const isTheirs = row.state === "assigned" && reused;
      // A reservation that is over may outlast its pool.
      if (!isTheirs) await requireConfirmable(tx, row, userId);
      const pool = await tx.db.callsignPool.findUniqueOrThrow({ where: { key: row.pool } });
      const numbers = numbersOf(pool);
      if (isTheirs) return { slot: row, pool, numbers, reused };
      const note = { causeReference: null, permission: callsignsPolicy.allocate, reason: input.reason };
      await records.clear(tx, { ...row, userId }, note);
      const slot = await records.change(tx, row, assignedAt(tx.now, note), note, userId);
      return { slot, pool, numbers, reused };
    },
  };
}
