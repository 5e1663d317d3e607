import type { Database } from "../../database/database.ts";
import type { Prisma } from "../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import { toPage, withTotal, type Cursors, type Page, type Position } from "../../kernel/page.ts";
import { beginningWith } from "../../kernel/words.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { Standings } from "../permissions/standing/standing.ts";
import { createBlocks } from "./blocks.ts";
import { createFinder } from "./find.ts";
import { lasting } from "./keys.ts";
import { createMoves } from "./moves.ts";
import { createNext } from "./next.ts";
import { callsignsPolicy, presentNothing, presentSlot } from "./callsigns.policy.ts";
import { SlotsQuery, type CallsignQuery, type SlotView } from "./callsigns.schema.ts";
import type { CallsignsService } from "./callsigns.service.ts";

export type CallsignRegistry = ReturnType<typeof createCallsignRegistry>;

export interface CallsignRegistryDeps {
  database: Database;
  standing: Pick<Standings, "of" | "role" | "roles">;
  permissions: Pick<PermissionsService, "requireRankAbove" | "requireRevision">;
  callsigns: CallsignsService;
  cursors: Cursors;
  clock: Clock;
}

type Where = Prisma.CallsignSlotWhereInput;
const list = "callsigns";

/** Callsigns as staff and clients see them: asked for, looked at, given back. */
export function createCallsignRegistry({ database, standing, permissions, callsigns, cursors, clock }: CallsignRegistryDeps) {
  const { place, ...moves } = createMoves({ database, standing, permissions, callsigns });
  const { locate } = createFinder(standing);

  return {
    ...createNext({ database, standing, callsigns, clock }),
    ...moves,
    ...createBlocks({ database, standing, callsigns, moves: { place } }),

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
        (row) => presentSlot(row, standing, now),
        (last) => cursors.encode(list, filters, positionOf(last)),
      );
      return withTotal(page, { count }, () => database.read.callsignSlot.count({ where }));
    },

    /** The live slot of a callsign, or that nobody has it, or that there is no such one. @throws ProblemError validation_failed */
    async get(call: Call, callsign: string, { pool }: CallsignQuery): Promise<SlotView> {
      requirePermission(call, callsignsPolicy.read);
      const now = clock.now();
      const { slot, place: free } = await locate(database.read, { callsign, pool }, now);
      return slot === null ? presentNothing(callsign, free) : presentSlot(slot, standing, now);
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
