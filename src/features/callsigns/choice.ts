import { say } from "../../kit/say.ts";
import type { CallsignPool, CallsignSlot } from "../../generated/sqlite/client.ts";
import { ProblemError, fieldError, type FieldError } from "../../kernel/errors.ts";
import { fill, type Fill } from "./fill.ts";
import { holderKeyOf, isOver, lasting, liveKeyOf, type CallsignReader } from "./keys.ts";
import { isGiven, numbersOf, type Numbers, type Span } from "./numbers.ts";
import { writeCallsign } from "./template.ts";
import type { ReadClient, TransactionClient } from "../../database/database.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";

/** Who is to have a callsign of which pool. */
export interface CallsignWish {
  pool: string;
  userId: string;
  /** The staff role, for its part of the pool and its place in the callsign. */
  roleKey?: string | null | undefined;
  /** A number they would like. */
  preferred?: number | null | undefined;
  /** In place of the pool's own. */
  department?: string | null | undefined;
  /** Which of the free numbers; the lowest by default. */
  fill?: Fill | undefined;
}

/** A wish that may be for nobody yet. */
export type OpenWish = Omit<CallsignWish, "userId"> & { userId: string | null };

/** What a wish comes to: a callsign they have or had already, or a free number. */
export interface Choice {
  pool: CallsignPool;
  /** Those the wish can be met from. */
  numbers: Numbers;
  number: number;
  callsign: string;
  /** Theirs already: assigned, reserved for them, or resting after them. */
  own: CallsignSlot | null;
  /** Where it was looked for, in order; empty where no number was passed over. */
  walk: readonly Span[];
}

/** Numbers whose callsign somebody has under another number are passed over, so many at most. */
const maxWritten = 20;

/**
 * What somebody would be given: what they have, else what still rests after them, else the number they prefer, else a free one.
 * Reservations and rests count until their time is over, swept or not.
 * @throws ProblemError invalid_transition when there is no such pool; pool_exhausted with `capacity`
 */
export async function choose(db: CallsignReader, wish: OpenWish, now: Date): Promise<Choice> {
  const pool = await db.callsignPool.findUnique({ where: { key: wish.pool } });
  if (pool === null) throw noPool(wish.pool);
  const numbers = numbersOf(pool, wish.roleKey);
  const own = await ownOf(db, wish, now);
  if (own !== null) return { pool, numbers, number: own.number, callsign: own.callsign, own, walk: [] };
  const { preferred } = wish;
  const search = { db, pool: pool.key, numbers, now, without: new Set<number>() };
  const isPreferred = typeof preferred === "number" && isGiven(numbers, preferred) && (await isOpen(db, pool.key, preferred, now));
  let found = isPreferred ? { number: preferred, walk: [] } : await fill[wish.fill ?? "lowest"](search);
  for (let tries = 0; tries < maxWritten && found !== undefined; tries += 1) {
    const callsign = writeCallsign(pool, { dept: wish.department, rank: wish.roleKey, n: found.number });
    if (!(await isWritten(db, pool.key, callsign, now))) return { pool, numbers, ...found, callsign, own: null };
    search.without.add(found.number);
    found = await fill[wish.fill ?? "lowest"](search);
  }
  throw exhausted(pool, numbers);
}

/** Whether nobody has a number, and it does not rest. One that time has freed is so when it was swept. */
export async function isFree(db: CallsignReader, pool: string, number: number): Promise<boolean> {
  return (await db.callsignSlot.findUnique({ where: { liveKey: liveKeyOf(pool, number) }, select: { id: true } })) === null;
}

/** The callsign of a pool that somebody has, or that is reserved for them. */
export async function heldBy(db: CallsignReader, pool: string, userId: string, now: Date): Promise<CallsignSlot | null> {
  const slot = await db.callsignSlot.findUnique({ where: { holderKey: holderKeyOf(pool, userId) } });
  return slot === null || isOver(slot, now) ? null : slot;
}

async function ownOf(db: CallsignReader, { pool, userId }: OpenWish, now: Date): Promise<CallsignSlot | null> {
  if (userId === null) return null;
  const where = { pool, userId, state: "held", ...lasting(now) };
  return (
    (await heldBy(db, pool, userId, now)) ?? (await db.callsignSlot.findFirst({ where, orderBy: [{ since: "desc" }, { id: "desc" }] }))
  );
}

async function isOpen(db: CallsignReader, pool: string, number: number, now: Date): Promise<boolean> {
  const slot = await db.callsignSlot.findUnique({ where: { liveKey: liveKeyOf(pool, number) }, select: { until: true } });
  return slot === null || isOver(slot, now);
}

/** Whether a callsign is in use under some number: parts that end in digits can make two numbers look alike. */
async function isWritten(db: CallsignReader, pool: string, callsign: string, now: Date): Promise<boolean> {
  const where = { pool, callsign, liveKey: { not: null }, ...lasting(now) };
  return (await db.callsignSlot.findFirst({ where, select: { id: true } })) !== null;
}

function noPool(key: string): ProblemError {
  return new ProblemError("invalid_transition", {
    detail: say("callsigns.there-is-no-such-pool-of-callsigns"),
    extra: { from: null, action: "allocate_callsign", allowed: [], pool: key },
  });
}

function exhausted(pool: CallsignPool, { capacity }: Numbers): ProblemError {
  return new ProblemError("pool_exhausted", {
    detail: say("callsigns.every-number-is-taken-or-rests-widen"),
    extra: { capacity, pool: pool.key },
  });
}

type Reader = Pick<ReadClient | TransactionClient, "callsignPool" | "rosterEntry">;

interface Asked {
  pool?: string | undefined;
  role_key?: string | undefined;
  user_id?: string | undefined;
}

/** Where a callsign is to come from. */
export interface Source {
  /** Null: there is no pool, or no such pool. */
  pool: string | null;
  /** The role asked for, else that of the person. */
  roleKey: string | null;
}

/** Finds the pool that somebody's callsign comes from. */
export function createPoolChoice(access: Pick<AccessDirectory, "of" | "role">) {
  async function roleOf(db: Reader, { role_key: asked, user_id: userId }: Asked, where: FieldError["in"]): Promise<string | null> {
    if (asked !== undefined) {
      if (access.role(asked) === undefined)
        throw fieldError("/role_key", "unknown_role", say("callsigns.there-is-no-such-staff-role"), where);
      return asked;
    }
    if (userId === undefined) return null;
    const entry = await db.rosterEntry.findUnique({ where: { userId }, select: { staffRole: true } });
    return entry?.staffRole ?? access.of(userId).held[0]?.role.key ?? null;
  }

  /** The pool of the role, else of the highest staff role of the person that has one. */
  function poolOfRoles(roleKey: string | null, userId: string | undefined): string | null {
    const own = userId === undefined ? [] : access.of(userId).held.map(({ role }) => role);
    const role = roleKey === null ? undefined : access.role(roleKey);
    return [role, ...own].find((one) => typeof one?.callsignPool === "string")?.callsignPool ?? null;
  }

  return {
    /**
     * The pool that is named, else that of the roles, else the one made first: who asks for no pool in particular has one.
     * @throws ProblemError validation_failed for a staff role that is not there
     */
    async source(db: Reader, asked: Asked, where: FieldError["in"]): Promise<Source> {
      const roleKey = await roleOf(db, asked, where);
      const named = asked.pool ?? poolOfRoles(roleKey, asked.user_id);
      if (named !== null) {
        const found = await db.callsignPool.findUnique({ where: { key: named }, select: { key: true } });
        return { pool: found?.key ?? null, roleKey };
      }
      const first = await db.callsignPool.findFirst({ select: { key: true }, orderBy: [{ createdAt: "asc" }, { key: "asc" }] });
      return { pool: first?.key ?? null, roleKey };
    },
  };
}

/** @throws ProblemError validation_failed where there is no pool, or not the one named */
export function requirePool(pool: string | null, where: FieldError["in"] = "body"): string {
  if (pool === null) throw fieldError("/pool", "unknown_pool", say("callsigns.there-is-no-such-pool-of-callsigns-2"), where);
  return pool;
}
