import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Database, Tx, ReadClient, TransactionClient } from "../../database/database.ts";
import type { Prisma, CallsignPool, CallsignSlot } from "../../generated/sqlite/client.ts";
import { requirePermission, requireWrite, type Call } from "../../kernel/call.ts";
import { toPage, withTotal, type Page, type Position } from "../../kernel/page.ts";
import { beginningWith } from "../../kernel/words.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import { lasting, liveKeyOf } from "./keys.ts";
import { createNext } from "./next.ts";
import { callsignsPolicy, presentNothing, presentSlot, requireMove, stateAt, refusedMove, type Move } from "./callsigns.policy.ts";
import {
  SlotsQuery,
  BlockInput,
  type CallsignQuery,
  type SlotView,
  type BlockView,
  ReleaseInput,
  RetireInput,
  TransferInput,
  type NextInput,
  type NextView,
  type LookUpQuery,
} from "./callsigns.schema.ts";
import type { CallsignsService } from "./callsigns.service.ts";
import { fieldError, validationProblem, type FieldError, ProblemError } from "../../kernel/errors.ts";
import { isWithin, numbersOf } from "./numbers.ts";
import { standingAs, standOf, resting, assignedAt, type CallsignNote, type SlotDraft, type SlotStand } from "./records.ts";
import { writeCallsign, isSame, numberIn } from "./template.ts";
import type { PermissionKey } from "../../kernel/permissions.ts";
import { WriteConflictError } from "../../database/problems.ts";
import { requireRevision } from "../../kernel/revision.ts";
import { heldBy } from "./choice.ts";

type Reader = Pick<ReadClient, "$queryRaw"> & Pick<ReadClient | TransactionClient, "callsignPool" | "callsignSlot">;

/** A number that a callsign stands for. */
interface Place {
  pool: string;
  number: number;
}

/** What a text is: a live slot, a callsign nobody has, or (both null) no callsign at all. */
interface Located {
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
function createFinder(access: Pick<AccessDirectory, "roles">) {
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

interface MoveDeps {
  database: Database;
  access: Pick<AccessDirectory, "of" | "roles">;
  permissions: Pick<PermissionsService, "requireRankAbove">;
  callsigns: Pick<CallsignsService, "records">;
}

/** The callsign a change is about, and how the caller read it. */
interface Named extends CallsignQuery {
  callsign: string;
  ifMatch: number | undefined;
}

/** Changes of one callsign. Nobody takes one from those at or above their own rank. */
function createMoves({ database, access, permissions, callsigns }: MoveDeps) {
  const { records } = callsigns;
  const { locate } = createFinder(access);

  /**
   * What a callsign is, with its people (the one who gets it included) and its pool locked.
   * @throws ProblemError validation_failed; WriteConflictError where it changed hands meanwhile, so that all is tried again
   */
  async function loadForUpdate(tx: Tx, named: Named, receiver?: string): Promise<Located> {
    const seen = await locate(tx.db, named, tx.now);
    const pool = seen.slot?.pool ?? seen.place?.pool;
    if (pool === undefined) throw fieldError("/callsign", "unknown_callsign", say("callsigns.no-pool-has-such-a-callsign"), "path");
    const people = new Set([seen.slot?.userId, receiver].filter((id): id is string => typeof id === "string"));
    for (const userId of [...people].toSorted()) await records.lock(tx, { userId, pools: [] });
    await records.lock(tx, { pools: [pool] });
    const found = await locate(tx.db, { ...named, pool }, tx.now);
    if (found.slot?.id === seen.slot?.id && found.slot?.userId === seen.slot?.userId) return found;
    throw new WriteConflictError("it changed hands");
  }

  /** @throws ProblemError precondition_failed, hierarchy_violation, invalid_transition */
  function requireMayMove(tx: Tx, { slot }: Located, { callsign, ifMatch }: Named, move: Move): void {
    requireRevision(ifMatch, slot?.revision ?? 0);
    if (slot !== null && slot.userId !== null) permissions.requireRankAbove(tx.call, access.of(slot.userId).rank);
    requireMove(slot === null ? "free" : stateAt(slot, tx.now), move, slot?.callsign ?? callsign);
  }

  /** A number nobody has, written down. What time has freed is cleared first. @throws ProblemError storage_busy */
  async function place(tx: Tx, draft: SlotDraft, stand: SlotStand, note: CallsignNote): Promise<CallsignSlot> {
    await records.clear(tx, draft, note);
    const made = await records.place(tx, draft, stand, note);
    if (made === null) throw new ProblemError("storage_busy", { detail: say("callsigns.somebody-has-just-taken-it"), retryAfter: 1 });
    return made;
  }

  /** What every change has in common. */
  function move(
    call: Call,
    permission: PermissionKey,
    reason: string,
    work: (tx: Tx, note: CallsignNote) => Promise<CallsignSlot>,
  ): Promise<SlotView> {
    const note = { causeReference: null, permission, reason };
    return database.write(call, async (tx) => presentSlot(await work(tx, note), access, tx.now));
  }

  async function releaseInTx(tx: Tx, named: Named, days: number | undefined, note: CallsignNote): Promise<CallsignSlot> {
    const located = await loadForUpdate(tx, named);
    requireMayMove(tx, located, named, "release");
    const slot = existing(located);
    if (slot.state === "reserved" || days === 0) return await records.change(tx, slot, { ...standOf(slot), state: "ended" }, note);
    if (slot.state === "held")
      throw refusedMove(
        slot.state,
        "release",
        slot.callsign,
        say("callsigns.rests-already-rest-days-0-frees-it", { callsign: slot.callsign }),
      );
    return await records.change(tx, slot, await resting(tx, slot, days), note);
  }

  async function transferInTx(tx: Tx, named: Named, userId: string, note: CallsignNote): Promise<CallsignSlot> {
    const located = await loadForUpdate(tx, named, userId);
    requireMayMove(tx, located, named, "transfer");
    const slot = existing(located);
    const { pool, number, callsign, state } = slot;
    const other = await heldBy(tx.db, pool, userId, tx.now);
    if (other !== null)
      throw refusedMove(state, "transfer", callsign, say("callsigns.they-have-of-the-pool-already", { callsign: other.callsign }));
    const { revision } = await records.change(tx, slot, { ...standOf(slot), state: "ended" }, note);
    // A tag of the slot before is none of this one.
    return await place(tx, { pool, number, callsign, userId, revision: revision + 1 }, assignedAt(tx.now, note), note);
  }

  async function retireInTx(tx: Tx, named: Named, note: CallsignNote): Promise<CallsignSlot> {
    const located = await loadForUpdate(tx, named);
    requireMayMove(tx, located, named, "retire");
    const { slot, place: free } = located;
    if (slot !== null) return await records.change(tx, slot, standingAs("retired", tx.now, slot.originReference), note);
    const draft = { ...(free ?? { pool: "", number: 0 }), callsign: named.callsign, userId: null };
    return await place(tx, draft, standingAs("retired", tx.now), note);
  }

  return {
    place,

    /** Take a callsign from its holder; it rests. @throws ProblemError validation_failed, precondition_failed, hierarchy_violation, invalid_transition */
    async release(call: Call, named: Named, given: ReleaseInput): Promise<SlotView> {
      requireWrite(call, callsignsPolicy.release);
      const { reason, rest_days: days } = ReleaseInput.parse(given);
      if (days === 0) requireWrite(call, callsignsPolicy.manage);
      return await move(call, callsignsPolicy.release, reason, (tx, note) => releaseInTx(tx, named, days, note));
    },

    /** Take a callsign from its holder and give it to somebody else. @throws ProblemError as `release` */
    async transfer(call: Call, named: Named, given: TransferInput): Promise<SlotView> {
      requireWrite(call, callsignsPolicy.manage);
      const { user_id: userId, reason } = TransferInput.parse(given);
      return await move(call, callsignsPolicy.manage, reason, (tx, note) => transferInTx(tx, named, userId, note));
    },

    /** Never give a callsign again. @throws ProblemError as `release` */
    async retire(call: Call, named: Named, given: RetireInput): Promise<SlotView> {
      requireWrite(call, callsignsPolicy.manage);
      const { reason } = RetireInput.parse(given);
      return await move(call, callsignsPolicy.manage, reason, (tx, note) => retireInTx(tx, named, note));
    },

    /** Let a retired callsign be given again. @throws ProblemError as `release` */
    async unretire(call: Call, named: Named, given: RetireInput): Promise<SlotView> {
      requireWrite(call, callsignsPolicy.manage);
      const { reason } = RetireInput.parse(given);
      return await move(call, callsignsPolicy.manage, reason, async (tx, note) => {
        const located = await loadForUpdate(tx, named);
        requireMayMove(tx, located, named, "unretire");
        const slot = existing(located);
        return await records.change(tx, slot, { ...standOf(slot), state: "ended" }, note);
      });
    },
  };
}

/** Of a callsign whose state was looked at: a state other than free has a slot. */
function existing({ slot }: Located): CallsignSlot {
  if (slot === null) throw new ProblemError("storage_busy", { retryAfter: 1 });
  return slot;
}

export interface CallsignRegistry {
  /** Callsigns that somebody has, had or may not have, by pool and number. */
  list(call: Call, query: SlotsQuery): Promise<Page<SlotView>>;
  /** The live slot of a callsign, or that nobody has it, or that there is no such one. @throws ProblemError validation_failed */
  get(call: Call, callsign: string, query: CallsignQuery): Promise<SlotView>;
  /** Keep free numbers from being given. All or none. @throws ProblemError validation_failed, invalid_transition */
  block(call: Call, given: BlockInput): Promise<BlockView>;
  /** Let blocked numbers be given again. @throws ProblemError validation_failed, invalid_transition */
  unblock(call: Call, given: BlockInput): Promise<BlockView>;
  /** Take a callsign from its holder; it rests. @throws ProblemError validation_failed, precondition_failed, hierarchy_violation, invalid_transition */
  release(call: Call, named: Named, given: ReleaseInput): Promise<SlotView>;
  /** Take a callsign from its holder and give it to somebody else. @throws ProblemError as `release` */
  transfer(call: Call, named: Named, given: TransferInput): Promise<SlotView>;
  /** Never give a callsign again. @throws ProblemError as `release` */
  retire(call: Call, named: Named, given: RetireInput): Promise<SlotView>;
  /** Let a retired callsign be given again. @throws ProblemError as `release` */
  unretire(call: Call, named: Named, given: RetireInput): Promise<SlotView>;
  /**
   * Give somebody a callsign, keep one for a while, or look what would be given.
   * @throws ProblemError validation_failed, pool_exhausted with `capacity`, invalid_transition, permission_denied
   */
  next(call: Call, given: NextInput): Promise<NextView>;
  /** What somebody would be given now. Takes nothing. @throws ProblemError validation_failed */
  lookUp(call: Call, query: LookUpQuery): Promise<NextView>;
}

export interface CallsignRegistryDeps extends Deps<"database" | "cursors" | "clock"> {
  access: Pick<AccessDirectory, "of" | "role" | "roles">;
  permissions: Pick<PermissionsService, "requireRankAbove">;
  callsigns: CallsignsService;
}

type Where = Prisma.CallsignSlotWhereInput;
const list = "callsigns";

/** Callsigns as staff and clients see them: asked for, looked at, given back. */
export function createCallsignRegistry({
  database,
  access,
  permissions,
  callsigns,
  cursors,
  clock,
}: CallsignRegistryDeps): CallsignRegistry {
  const { place, ...moves } = createMoves({ database, access, permissions, callsigns });
  const { locate } = createFinder(access);

  return {
    ...createNext({ database, access, callsigns, clock }),
    ...moves,
    ...createBlocks({ database, access, callsigns, moves: { place } }),

    async list(call: Call, query: SlotsQuery): Promise<Page<SlotView>> {
      requirePermission(call, callsignsPolicy.read);
      const asked = SlotsQuery.parse(query);
      const { limit, cursor, count, ...filters } = asked;
      const now = clock.now();
      const where = conditions(filters, now);
      const after = cursor === undefined ? [] : [beyond(cursors.decode(list, filters, cursor))];
      const rows = await database.read.callsignSlot.findMany({
        where: { AND: [where, ...after] },
        orderBy: [{ pool: "asc" }, { number: "asc" }, { id: "asc" }],
        take: limit + 1,
      });
      const positionOf = ({ pool, number, id }: (typeof rows)[number]): Position => [JSON.stringify([pool, number]), id];
      const page = toPage(
        rows,
        limit,
        (row) => presentSlot(row, access, now),
        (last) => cursors.encode(list, filters, positionOf(last)),
      );
      return withTotal(page, { count }, () => database.read.callsignSlot.count({ where }));
    },

    async get(call: Call, callsign: string, { pool }: CallsignQuery): Promise<SlotView> {
      requirePermission(call, callsignsPolicy.read);
      const now = clock.now();
      const { slot, place: free } = await locate(database.read, { callsign, pool }, now);
      return slot === null ? presentNothing(callsign, free) : presentSlot(slot, access, now);
    },
  };
}

type Filters = Omit<ReturnType<typeof SlotsQuery.parse>, "limit" | "cursor" | "count">;

/** The database's words for the filters of the list. What time has freed is over, swept or not. */
function conditions({ pool, state, user_id: userId, q, include_ended: ended }: Filters, now: Date): Where {
  const live: Where = { liveKey: { not: null }, ...lasting(now) };
  const beginnings = q === undefined ? [] : [...new Set([q, q.toUpperCase(), q.toLowerCase()])];
  return {
    AND: [
      ended === "true" && state === undefined ? {} : live,
      { ...(pool !== undefined && { pool }), ...(state !== undefined && { state }), ...(userId !== undefined && { userId }) },
      q === undefined ? {} : { OR: beginnings.map((start) => ({ callsign: beginningWith(start) })) },
    ],
  };
}

function beyond([place, id]: Position): Where {
  const [pool, number] = JSON.parse(String(place)) as [string, number];
  return { OR: [{ pool: { gt: pool } }, { pool, number: { gt: number } }, { pool, number, id: { gt: id } }] };
}

export interface BlockDeps {
  database: Database;
  access: Pick<AccessDirectory, "of">;
  callsigns: Pick<CallsignsService, "records">;
  moves: Pick<ReturnType<typeof createMoves>, "place">;
}

type Block = "block" | "unblock";

/** Numbers that are not given for now. */
export function createBlocks({ database, access, callsigns: { records }, moves }: BlockDeps) {
  async function one(tx: Tx, pool: CallsignPool, number: number, to: Block, reason: string): Promise<SlotView> {
    const note = { causeReference: null, permission: callsignsPolicy.manage, reason };
    const slot = await tx.db.callsignSlot.findUnique({ where: { liveKey: liveKeyOf(pool.key, number) } });
    const callsign = slot?.callsign ?? writeCallsign(pool, { n: number });
    const state = slot === null ? "free" : stateAt(slot, tx.now);
    const isFree = state === "free" || state === "ended";
    requireMove(isFree ? "free" : state, to, callsign);
    if (to === "block" && isFree) {
      const draft = { pool: pool.key, number, callsign: writeCallsign(pool, { n: number }), userId: null };
      return presentSlot(await moves.place(tx, draft, standingAs("blocked", tx.now), note), access, tx.now);
    }
    if (to === "block" && slot !== null) return presentSlot(slot, access, tx.now);
    if (slot !== null && !isFree) await records.change(tx, slot, { ...standOf(slot), state: "ended" }, note);
    return presentNothing(callsign, { pool: pool.key, number });
  }

  async function all(call: Call, given: BlockInput, to: Block): Promise<BlockView> {
    requireWrite(call, callsignsPolicy.manage);
    const { pool: key, numbers, reason } = BlockInput.parse(given);
    return await database.write(call, async (tx) => {
      await records.lock(tx, { pools: [key] });
      const pool = await tx.db.callsignPool.findUnique({ where: { key } });
      if (pool === null) throw fieldError("/pool", "unknown_pool", say("callsigns.there-is-no-such-pool-of-callsigns-2"));
      const { spans } = numbersOf(pool);
      const outside = [...numbers.entries()].filter(([, number]) => !isWithin(spans, number));
      if (outside.length > 0 && to === "block") throw validationProblem(outside.map(([index]) => outsideAt(index)));
      const slots: SlotView[] = [];
      for (const number of new Set(numbers)) slots.push(await one(tx, pool, number, to, reason));
      return { pool: key, slots };
    });
  }

  return {
    /** Keep free numbers from being given. All or none. @throws ProblemError validation_failed, invalid_transition */
    block: (call: Call, given: BlockInput): Promise<BlockView> => all(call, given, "block"),

    /** Let blocked numbers be given again. @throws ProblemError validation_failed, invalid_transition */
    unblock: (call: Call, given: BlockInput): Promise<BlockView> => all(call, given, "unblock"),
  };
}

function outsideAt(index: number): FieldError {
  return {
    pointer: `/numbers/${index.toString()}`,
    in: "body",
    code: "out_of_range",
    detail: say("callsigns.the-pool-does-not-have-this-number"),
  };
}
