import type { Database, Tx } from "../../database/database.ts";
import type { Case } from "../../generated/sqlite/client.ts";
import { inBatches } from "../../kernel/pause.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { addSeconds, type Clock } from "../../kernel/clock.ts";
import { caseReference } from "../../kernel/stored.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import { eventPermission, whole, type WholeCase } from "./cases.policy.ts";
import type { CaseRecords } from "./records.ts";
import { isLegal } from "./states.ts";

const batch = 50;
/** How long a case stays in the bin. */
const binSeconds = 30 * 86_400;

export interface CaseSweepDeps {
  database: Database;
  audit: Pick<AuditService, "erase">;
  events: Pick<EventsService, "emit">;
  records: CaseRecords;
  /** Deletes the evidence of a case for good. */
  dropEvidence?: (tx: Tx, caseId: string) => Promise<unknown>;
  clock: Clock;
}

/** Whether a case has been in the bin for as long as it can be. */
export function isOverdueInBin({ deletedAt }: Pick<Case, "deletedAt">, now: Date): boolean {
  return deletedAt !== null && deletedAt <= addSeconds(now, -binSeconds);
}

/** What time does to cases. */
export function createCaseSweep({ database, audit, events, records, dropEvidence, clock }: CaseSweepDeps) {
  /** Closed cases past their retention. */
  async function archiveBatch(call: Call): Promise<number> {
    const due = { status: "closed", deletedAt: null, retentionUntil: { lte: clock.now() } };
    return await each(call, due, async (tx, row) => {
      const isDue = row.deletedAt === null && row.retentionUntil !== null && row.retentionUntil <= tx.now && isLegal(row.status, "archive");
      if (!isDue) return;
      const change = { before: { status: row.status }, after: { status: "archived" } };
      await records.change(tx, row, { status: "archived" }, { action: "case.archive", permission: "system.act", ...change });
    });
  }

  /** Cases whose time in the bin is over: nothing stays of them but their entries in the audit, without details. */
  async function purgeBatch(call: Call): Promise<number> {
    const due = { deletedAt: { lte: addSeconds(clock.now(), -binSeconds) } };
    return await each(call, due, async (tx, row) => {
      const { id } = row;
      if (!isOverdueInBin(row, tx.now)) return;
      const reference = caseReference(row.number);
      await dropEvidence?.(tx, id);
      await tx.db.caseLink.deleteMany({ where: { kind: "case", targetId: id } });
      await tx.db.case.delete({ where: { id } });
      const target = { kind: "case", id, reference };
      await audit.erase(tx, { targetId: id }, { action: "case.purge", target, permission: "system.act" });
      const narrowed = eventPermission(row);
      events.emit(tx, {
        type: "case.updated",
        data: { id, number: reference, type: row.type, status: row.status, change: "purge" },
        ...(narrowed !== undefined && { permission: narrowed }),
      });
    });
  }

  /** @returns how many were looked at */
  async function each(call: Call, due: object, work: (tx: Tx, row: WholeCase) => Promise<void>): Promise<number> {
    const found = await database.read.case.findMany({ where: due, select: { id: true }, orderBy: { id: "asc" }, take: batch });
    if (found.length === 0) return 0;
    await database.write(call, async (tx) => {
      for (const { id } of found) await tx.lock(`case:${id}`);
      for (const { id } of found) {
        const row = await tx.db.case.findUnique({ where: { id }, include: whole });
        if (row !== null) await work(tx, row);
      }
    });
    return found.length;
  }

  return {
    /** Archive what was kept long enough and empty the bin; answers how many. For the job that runs each minute. */
    async sweep(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      return (await inBatches(batch, () => archiveBatch(call))) + (await inBatches(batch, () => purgeBatch(call)));
    },
  };
}
