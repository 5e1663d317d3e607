import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Database, Tx } from "../../database/database.ts";
import type { Prisma, CallsignPool } from "../../generated/sqlite/client.ts";
import { requirePermission, requireWrite, type Call } from "../../kernel/call.ts";
import { toPage, withTotal, type Page, type Position } from "../../kernel/page.ts";
import { beginningWith } from "../../kernel/words.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import { createFinder } from "./find.ts";
import { lasting, liveKeyOf } from "./keys.ts";
import { createMoves } from "./moves.ts";
import { createNext } from "./next.ts";
import { callsignsPolicy, presentNothing, presentSlot, requireMove, stateAt } from "./callsigns.policy.ts";
import { SlotsQuery, BlockInput, type CallsignQuery, type SlotView, type BlockView } from "./callsigns.schema.ts";
import type { CallsignsService } from "./callsigns.service.ts";
import { fieldError, validationProblem, type FieldError } from "../../kernel/errors.ts";
import { isWithin, numbersOf } from "./numbers.ts";
import { standingAs, standOf } from "./records.ts";
import { writeCallsign } from "./template.ts";

export type CallsignRegistry = ReturnType<typeof createCallsignRegistry>;

export interface CallsignRegistryDeps extends Deps<"database" | "cursors" | "clock"> {
  access: Pick<AccessDirectory, "of" | "role" | "roles">;
  permissions: Pick<PermissionsService, "requireRankAbove">;
  callsigns: CallsignsService;
}

type Where = Prisma.CallsignSlotWhereInput;
const list = "callsigns";

/** Callsigns as staff and clients see them: asked for, looked at, given back. */
export function createCallsignRegistry({ database, access, permissions, callsigns, cursors, clock }: CallsignRegistryDeps) {
  const { place, ...moves } = createMoves({ database, access, permissions, callsigns });
  const { locate } = createFinder(access);

  return {
    ...createNext({ database, access, callsigns, clock }),
    ...moves,
    ...createBlocks({ database, access, callsigns, moves: { place } }),

    /** Callsigns that somebody has, had or may not have, by pool and number. */
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

    /** The live slot of a callsign, or that nobody has it, or that there is no such one. @throws ProblemError validation_failed */
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
