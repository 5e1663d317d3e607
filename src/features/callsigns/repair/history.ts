import type { Tx } from "../../../database/database.ts";
import type { RosterService } from "../../roster/roster.service.ts";
import { oneByOne, partsOf } from "./images.ts";

export type RepairHistory = ReturnType<typeof createRepairHistory>;

interface Held {
  pool: string;
  callsign: string;
}

/** Keeps the history of people in step with what a repair does to their callsigns. */
export function createRepairHistory(lines: RosterService["lines"]) {
  return {
    /** Do some work, and write down who has lost or got which callsign by it. The caller holds the locks of these people. */
    async around(tx: Tx, userIds: readonly string[], reason: string, work: () => Promise<void>): Promise<void> {
      const users = [...new Set(userIds)].toSorted();
      const before = await heldBy(tx, users);
      await work();
      const after = await heldBy(tx, users);
      const entries = await entriesOf(tx, users);
      await oneByOne(users, async (userId) => {
        const [had, has] = [before.get(userId) ?? [], after.get(userId) ?? []];
        const person = { userId, entryId: entries.get(userId) ?? null };
        const lost = had
          .filter((one) => !includes(has, one))
          .map((held) => ({ event: "callsign_released" as const, before: held, after: {}, ...held }));
        const got = has
          .filter((one) => !includes(had, one))
          .map((held) => ({ event: "callsign_assigned" as const, before: {}, after: held, ...held }));
        await lines(
          tx,
          [...lost, ...got].map((line) => ({ ...person, ...line })),
          { causeReference: null, reason },
        );
      });
    },
  };
}

async function heldBy({ db }: Tx, users: readonly string[]): Promise<Map<string, Held[]>> {
  const held = new Map<string, Held[]>();
  for (const part of partsOf(users)) {
    const where = { userId: { in: part }, state: "assigned" };
    const rows = await db.callsignSlot.findMany({ where, select: { userId: true, pool: true, callsign: true }, orderBy: { id: "asc" } });
    for (const { userId, pool, callsign } of rows) held.set(userId ?? "", [...(held.get(userId ?? "") ?? []), { pool, callsign }]);
  }
  return held;
}

async function entriesOf({ db }: Tx, users: readonly string[]): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (const part of partsOf(users)) {
    const rows = await db.rosterEntry.findMany({ where: { userId: { in: part } }, select: { id: true, userId: true } });
    for (const { id, userId } of rows) ids.set(userId, id);
  }
  return ids;
}

function includes(held: readonly Held[], { pool, callsign }: Held): boolean {
  return held.some((one) => one.pool === pool && one.callsign === callsign);
}
