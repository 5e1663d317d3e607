import { silent } from "../support/rooms.ts";
import type { Tx } from "../../src/database/database.ts";
import { createAuditService } from "../../src/features/audit/audit.service.ts";
import { createCallsignsService } from "../../src/features/callsigns/callsigns.service.ts";
import { createRepairsService, type RepairsDeps } from "../../src/features/callsigns/repair/repair.service.ts";
import type { RepairView } from "../../src/features/callsigns/repair/repair.schema.ts";
import { createEventsService } from "../../src/features/events/events.service.ts";
import { addLines } from "../../src/features/roster/lines.ts";
import { isLive } from "../../src/features/roster/states.ts";
import type { CallsignSlot } from "../../src/generated/sqlite/client.ts";
import { systemCall, type Call } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createCursors } from "../../src/kernel/page.ts";
import { createTestDatabase } from "../support/database.ts";

export const day = 86_400_000;
export const personOf = (index: number): string => (80_351_110_224_678_900n + BigInt(index)).toString();
export const call = systemCall("job", "test");
export type RepairGround = Awaited<ReturnType<typeof createRepairGround>>;
type Planted = Partial<CallsignSlot> & { pool: string; number: number };

const guild = { id: "1", name: "Harbour", icon: null, ownerId: null, present: true, syncedAt: new Date(0) };

/** Somebody as the guild knows them, but for whether they are there. */
export const memberOf = (userId: string) => ({
  guildId: "1",
  userId,
  username: "x",
  globalName: null,
  nick: null,
  avatar: null,
  roleIds: [],
  joinedAt: null,
  isBot: false,
});

/** Repairs on a database of their own. The guild is what the test says: nobody is known there at first. */
export async function createRepairGround(options: Partial<RepairsDeps> = {}) {
  const time = { now: Date.parse("2026-11-21T10:00:00.000Z") };
  const clock = { now: () => new Date(time.now) };
  const { database, drop } = await createTestDatabase({ clock });
  const cursors = createCursors(Buffer.alloc(32));
  const audit = createAuditService({ database, cursors });
  const events = createEventsService({ database, clock });
  const callsigns = createCallsignsService({ database, audit, events, lines: addLines, clock, logger: silent });
  const state = { stale: false, left: new Set<string>(), ranks: new Map<string, number>() };
  const deps: RepairsDeps = {
    database,
    audit,
    events,
    guildState: {
      guilds: () => [guild],
      members: (userId) => (state.left.has(userId) ? [{ ...memberOf(userId), present: false }] : []),
    },
    isKnown: () => !state.stale,
    access: {
      of: (userId: string) => ({ rank: state.ranks.get(userId) ?? 0, held: [] }),
      role: (key: string) =>
        ({ guard: { callsignPool: "north" }, senior: { callsignPool: "north" }, scout: { callsignPool: "south" } })[key],
    } as unknown as RepairsDeps["access"],
    roster: { isLive, lines: addLines },
    callsigns,
    discordActions: {
      perform: () => Promise.resolve({ outcome: "retry", detail: "Discord could not be reached.", mayBeDone: false }),
    },
    cursors,
    clock,
    ...options,
  };
  const repairs = createRepairsService(deps);
  const write = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => database.write(call, work);

  const ground = {
    database,
    drop,
    deps,
    repairs,
    state,
    time,
    clock,
    write,
    callsigns,

    async clear(): Promise<void> {
      await write(async ({ db }) => {
        for (const table of [db.callsignSlot, db.callsignPool, db.callsignRepair, db.rosterEvent, db.rosterEntry]) {
          await (table as typeof db.callsignSlot).deleteMany({});
        }
      });
      state.left.clear();
      state.ranks.clear();
      state.stale = false;
    },

    pool: (key: string, fields: object = {}) =>
      write(({ db }) => {
        const times = { createdAt: clock.now(), updatedAt: clock.now() };
        const rules = { template: "{dept}-{n:03}", ranges: [[1, 999]], reserved: [], skip: [], rankBands: {} };
        return db.callsignPool.create({ data: { key, name: key, department: key.toUpperCase(), ...rules, ...times, ...fields } });
      }),

    /** Somebody on the roster. */
    enlist: (index: number, staffRole: string | null = "guard", status = "active") =>
      write(({ db }) => {
        const times = { createdAt: clock.now(), updatedAt: clock.now() };
        return db.rosterEntry.create({ data: { id: uuid7(), userId: personOf(index), status, staffRole, ...times } });
      }),

    /** A slot as it should be, but for what the test says. */
    plant: (...planted: Planted[]) =>
      write(({ db }) => db.callsignSlot.createMany({ data: planted.map((slot) => healthy(slot, clock.now())) })),

    async healthyRegistry(count: number): Promise<void> {
      await ground.pool("north", { ranges: [[1, Math.max(99, count * 2)]] });
      await ground.pool("south", { template: "{dept}{n:03}" });
      const times = { createdAt: clock.now(), updatedAt: clock.now() };
      const people = Array.from({ length: count }, (_, index) => index);
      await write(({ db }) =>
        db.rosterEntry.createMany({
          data: people.map((index) => ({ id: uuid7(), userId: personOf(index), status: "active", staffRole: "guard", ...times })),
        }),
      );
      const slots = people.map((index) => ({ pool: "north", number: index + 1, userId: personOf(index) }));
      await ground.plant(...slots);
    },

    /** Everything of the registry that is in force or stands in its way, without what only counts changes. */
    rows: async () => {
      const rows = await database.read.callsignSlot.findMany({ orderBy: { id: "asc" } });
      return rows.map(({ revision: _, ...row }) => row);
    },
    lines: (index: number) => database.read.rosterEvent.findMany({ where: { userId: personOf(index) }, orderBy: { id: "asc" } }),
    audited: (action = "callsign.repair") => database.read.auditEntry.count({ where: { action } }),
    told: () => database.read.outboxEvent.count({ where: { type: "callsign.repaired" } }),

    look: (input: object = {}, by: Call = call) => repairs.repair(by, input),
    /** A dry run, and then the plan it made. */
    async repair(input: object = {}, by: Call = call): Promise<RepairView> {
      const { plan_hash } = await repairs.repair(by, input);
      return await repairs.repair(by, { ...input, dry_run: false, plan_hash });
    },
  };
  return ground;
}

let planted = 0;

function healthy(slot: Planted, now: Date): CallsignSlot {
  const { pool, number, userId = null, state = "assigned" } = slot;
  const isHolding = (state === "assigned" || state === "reserved") && userId !== null;
  // In the order in which they are planted.
  planted += 1;
  const dash = pool === "south" ? "" : "-";
  return {
    id: uuid7(now.getTime() + planted),
    callsign: `${pool.toUpperCase()}${dash}${number.toString().padStart(3, "0")}`,
    state,
    liveKey: state === "ended" ? null : `${pool}:${number.toString()}`,
    holderKey: isHolding ? `${pool}:${userId}` : null,
    userId,
    since: now,
    until: null,
    reservedBy: null,
    originReference: null,
    endedAt: null,
    createdAt: now,
    revision: 1,
    ...slot,
  };
}
