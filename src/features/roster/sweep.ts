import type { Database } from "../../database/database.ts";
import { inBatches } from "../../kernel/pause.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import { factsOf, inStatus } from "./facts.ts";
import type { RosterRecords } from "./records.ts";
import { targetOf } from "./states.ts";

const batch = 100;
const permission = "system.act" as const;

export interface RosterSweepDeps {
  database: Database;
  records: RosterRecords;
  clock: Clock;
}

/** What time does to entries. */
export function createRosterSweep({ database, records, clock }: RosterSweepDeps) {
  async function sweepBatch(call: Call): Promise<number> {
    const due = { status: { in: ["suspended", "probation"] }, suspendedUntil: { lte: clock.now() } };
    const found = await database.read.rosterEntry.findMany({
      where: due,
      select: { userId: true },
      orderBy: { userId: "asc" },
      take: batch,
    });
    if (found.length === 0) return 0;
    return await database.write(call, async (tx) => {
      for (const { userId } of found) await records.lock(tx, userId);
      const rows = await tx.db.rosterEntry.findMany({ where: { ...due, userId: { in: found.map(({ userId }) => userId) } } });
      for (const entry of rows) {
        const to = targetOf(entry, { event: "reinstated" }) ?? "active";
        const after = inStatus(factsOf(entry), to, { at: tx.now });
        const effectiveAt = await records.sinceStatus(tx.db, entry, entry.suspendedUntil ?? tx.now);
        const note = { causeReference: null, permission, reason: "Its time is over.", effectiveAt };
        await records.write(tx, { userId: entry.userId, entry }, [{ event: "reinstated", after }], note);
      }
      return rows.length;
    });
  }

  return {
    /** End the suspensions and probations past their end: everybody is again what they were. For the job that runs each minute. @returns how many */
    async sweep(call: Call): Promise<number> {
      requirePermission(call, permission);
      return await inBatches(batch, () => sweepBatch(call));
    },
  };
}
