import type { World } from "../support/world.ts";

/** Every row, entry and event of callsigns. Staff come onto the roster meanwhile. */
export async function traceOf(world: World): Promise<unknown[]> {
  const { read } = world.app.database;
  const action = { startsWith: "callsign" };
  return await Promise.all([
    read.callsignSlot.findMany({ orderBy: { id: "asc" } }),
    read.callsignPool.findMany({ orderBy: { key: "asc" } }),
    read.auditEntry.count({ where: { action, outcome: "ok" } }),
    read.outboxEvent.count({ where: { type: action } }),
    read.rosterEvent.count({ where: { event: action } }),
  ]);
}
