import type { ReadClient, TransactionClient } from "../../database/database.ts";
import type { CallsignPool, CallsignSlot } from "../../generated/sqlite/client.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { inParts, isGiven, numbersOf } from "./callsigns.numbers.ts";
import type { Numbers } from "./callsigns.numbers.ts";
import { formatCallsign } from "./callsigns.template.ts";

export type CallsignReader = Pick<ReadClient | TransactionClient, "callsignPool" | "callsignSlot">;

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
}

/** What a wish comes to: a callsign they have or had already, or a free number. */
export interface Choice {
  pool: CallsignPool;
  number: number;
  callsign: string;
  /** Theirs already: assigned, reserved for them, or resting after them. */
  own: CallsignSlot | null;
}

/**
 * What somebody would be given: what they have, else what still rests after them, else the number they prefer, else the lowest.
 * @throws ProblemError invalid_transition when there is no such pool; pool_exhausted with `capacity`
 */
export async function choose(db: CallsignReader, wish: CallsignWish): Promise<Choice> {
  const pool = await db.callsignPool.findUnique({ where: { key: wish.pool } });
  if (pool === null) throw noPool(wish.pool);
  const own = (await held(db, wish)) ?? (await resting(db, wish));
  if (own !== null) return { pool, number: own.number, callsign: own.callsign, own };
  const numbers = numbersOf(pool, wish.roleKey);
  const { preferred } = wish;
  const isPreferred = typeof preferred === "number" && isGiven(numbers, preferred) && (await isFree(db, pool.key, preferred));
  const number = isPreferred ? preferred : await lowest(db, pool.key, numbers);
  if (number === undefined) throw exhausted(pool, numbers);
  return { pool, number, callsign: written(pool, wish, number), own: null };
}

/** What no two slots of a number have at once while it counts. */
export const liveKeyOf = (pool: string, number: number): string => `${pool}:${number.toString()}`;

/** What no two slots of a person have at once while they hold one. */
export const holderKeyOf = (pool: string, userId: string): string => `${pool}:${userId}`;

/** Whether nobody has a number, and it does not rest. */
export async function isFree(db: CallsignReader, pool: string, number: number): Promise<boolean> {
  return (await db.callsignSlot.findUnique({ where: { liveKey: liveKeyOf(pool, number) }, select: { id: true } })) === null;
}

function held(db: CallsignReader, { pool, userId }: CallsignWish): Promise<CallsignSlot | null> {
  return db.callsignSlot.findUnique({ where: { holderKey: holderKeyOf(pool, userId) } });
}

function resting(db: CallsignReader, { pool, userId }: CallsignWish): Promise<CallsignSlot | null> {
  return db.callsignSlot.findFirst({ where: { pool, userId, state: "held" }, orderBy: [{ since: "desc" }, { id: "desc" }] });
}

/** The lowest free number. Of a large pool only some numbers are looked at, and held in memory, at a time. */
async function lowest(db: CallsignReader, pool: string, numbers: Numbers): Promise<number | undefined> {
  for (const part of inParts(numbers)) {
    const liveKeys = part.map((number) => liveKeyOf(pool, number));
    const taken = await db.callsignSlot.findMany({ where: { liveKey: { in: liveKeys } }, select: { number: true } });
    if (taken.length === part.length) continue;
    const numbersTaken = new Set(taken.map(({ number }) => number));
    return part.find((number) => !numbersTaken.has(number));
  }
  return undefined;
}

const cases: Readonly<Record<string, (callsign: string) => string>> = {
  upper: (callsign) => callsign.toUpperCase(),
  lower: (callsign) => callsign.toLowerCase(),
};

function written(pool: CallsignPool, { department, roleKey }: CallsignWish, n: number): string {
  const callsign = formatCallsign(pool.template, { dept: department ?? pool.department, rank: roleKey, n });
  return cases[pool.caseRule]?.(callsign) ?? callsign;
}

function noPool(key: string): ProblemError {
  return new ProblemError("invalid_transition", {
    detail: "There is no such pool of callsigns: make it, or ask for another one.",
    extra: { from: null, action: "allocate_callsign", allowed: [], pool: key },
  });
}

function exhausted(pool: CallsignPool, { capacity }: Numbers): ProblemError {
  return new ProblemError("pool_exhausted", {
    detail: "Every number is taken or rests: widen the range of the pool.",
    extra: { capacity, pool: pool.key },
  });
}
