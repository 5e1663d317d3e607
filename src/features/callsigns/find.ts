import { say } from "../../kit/say.ts";
import type { ReadClient, TransactionClient } from "../../database/database.ts";
import type { CallsignPool, CallsignSlot } from "../../generated/sqlite/client.ts";
import { fieldError } from "../../kernel/errors.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import { lasting, liveKeyOf } from "./keys.ts";
import { isWithin, numbersOf } from "./numbers.ts";
import { isSame, numberIn } from "./template.ts";

type Reader = Pick<ReadClient, "$queryRaw"> & Pick<ReadClient | TransactionClient, "callsignPool" | "callsignSlot">;

/** A number that a callsign stands for. */
interface Place {
  pool: string;
  number: number;
}

/** What a text is: a live slot, a callsign nobody has, or (both null) no callsign at all. */
export interface Located {
  slot: CallsignSlot | null;
  place: Place | null;
}

interface Sought {
  callsign: string;
  pool?: string | undefined;
}

/** At most so many slots of one callsign are looked at. */
const maxSlots = 20;

/** Finds what a callsign of people stands for, whatever its case. */
export function createFinder(access: Pick<AccessDirectory, "roles">) {
  function placesIn(pool: CallsignPool, callsign: string): Place[] {
    const ranks = pool.template.includes("{rank}") ? [null, ...access.roles().map(({ key }) => key)] : [null];
    const found = ranks.map((rank) => numberIn(callsign, pool.template, { dept: pool.department, rank }));
    const { spans } = numbersOf(pool);
    const numbers = new Set(found.filter((number): number is number => number !== undefined && isWithin(spans, number)));
    return [...numbers].map((number) => ({ pool: pool.key, number }));
  }

  return {
    /** @throws ProblemError validation_failed when two pools have the callsign */
    async locate(db: Reader, { callsign, pool }: Sought, now: Date): Promise<Located> {
      const pools = await db.callsignPool.findMany({ where: pool === undefined ? {} : { key: pool }, orderBy: { key: "asc" } });
      const places = pools.flatMap((one) => placesIn(one, callsign));
      const liveKeys = places.map((place) => liveKeyOf(place.pool, place.number));
      const writings = [callsign, callsign.toUpperCase(), callsign.toLowerCase()];
      const named = { callsign: { in: writings }, liveKey: { not: null }, ...(pool !== undefined && { pool }) };
      const some = { OR: [{ liveKey: { in: liveKeys } }, named] };
      const rows = await db.callsignSlot.findMany({ where: { AND: [some, lasting(now)] }, take: maxSlots + liveKeys.length });
      const same = rows.filter((row) => isSame(row.callsign, callsign));
      const slots = same.length > 0 ? same : await otherwiseWritten(db, { callsign, pool }, now);
      if (slots.length > 0) return { slot: only(slots, callsign), place: null };
      const taken = new Set(rows.map(({ liveKey }) => liveKey));
      const free = places.filter((place) => !taken.has(liveKeyOf(place.pool, place.number)));
      return { slot: null, place: free.length === 0 ? null : only(free, callsign) };
    },
  };
}

/** Those that no index finds: written in mixed case, in another way than their pool writes now. */
async function otherwiseWritten(db: Reader, { callsign, pool }: Sought, now: Date): Promise<CallsignSlot[]> {
  const found = await db.$queryRaw<{ id: string }[]>`
    SELECT "id" FROM "callsign_slots" WHERE "live_key" IS NOT NULL AND lower("callsign") = ${callsign.toLowerCase()} LIMIT ${maxSlots}`;
  const where = { id: { in: found.map(({ id }) => id) }, ...(pool !== undefined && { pool }), ...lasting(now) };
  return found.length === 0 ? [] : await db.callsignSlot.findMany({ where });
}

function only<T extends { pool: string }>(found: readonly T[], callsign: string): T {
  const [first, ...others] = found;
  if (first === undefined || others.length > 0) {
    const pools = [...new Set(found.map(({ pool }) => pool))].toSorted().join(", ");
    throw fieldError("/pool", "ambiguous", say("callsigns.is-a-callsign-of-several-pools-say", { callsign, pools }), "query");
  }
  return first;
}
