import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Database, Tx } from "../../database/database.ts";
import { requireWrite, requirePermission, type Call } from "../../kernel/call.ts";
import { recordNotFound } from "../../kernel/errors.ts";
import { requireOutcome } from "./outcomes.ts";
import { casesPolicy, eventPermission, wholeCase, type WholeCase } from "./cases.policy.ts";
import type { CaseRecords } from "./records.ts";
import type { DraftRecords } from "../workflows/drafts/records.ts";
import { CloseCaseInput, DeleteCaseInput, ReopenCaseInput, type CaseView } from "./cases.schema.ts";
import { createSuggestions } from "./suggestions.ts";
import type { Case } from "../../generated/sqlite/client.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { partByPart, sweepIsolated } from "../../kernel/isolated.ts";
import { caseReference } from "../../kernel/parsing.ts";
import type { AuditService } from "../audit/audit.service.ts";
import { isLegal } from "./states.ts";

export interface LifecycleDeps {
  database: Database;
  records: CaseRecords;
  drafts: Pick<DraftRecords, "suggestInTx" | "dismissInTx" | "openKeys">;
  present: (tx: Tx, row: WholeCase) => Promise<CaseView>;
  shown: (call: Call, view: CaseView) => Promise<CaseView>;
}

/** How a case ends, begins again, and goes. */
export function createLifecycle({ database, records, drafts, present, shown }: LifecycleDeps) {
  const suggestions = createSuggestions(drafts);

  return {
    /** End a case with what came of it, and suggest the requests that follow. @throws ProblemError invalid_transition, precondition_failed, validation_failed and as every work on a case */
    async close(call: Call, key: string, given: CloseCaseInput, ifMatch?: number): Promise<CaseView> {
      requireWrite(call, casesPolicy.close);
      const { outcome, reason, spawn = [] } = CloseCaseInput.parse(given);
      const view = await database.write(call, async (tx) => {
        const row = await records.open(tx, key, casesPolicy.close, { move: "close", ifMatch });
        requireOutcome(row.type, outcome);
        const ended = { status: "closed", outcome, outcomeReason: reason ?? null, closedBy: call.actor?.id ?? null, closedAt: tx.now };
        const told = row.isConfidential ? {} : { reason };
        const news = { action: "case.close", event: "case.closed", permission: casesPolicy.close, ...told } as const;
        const change = { before: { status: row.status }, after: { status: "closed", outcome } };
        const closed = await records.change(tx, row, ended, { ...news, ...change });
        await suggestions.suggest(tx, closed, spawn);
        return await present(tx, closed);
      });
      return await shown(call, view);
    },

    /** Go on with a case that was ended; what its end suggested is dismissed. @throws ProblemError invalid_transition, precondition_failed and as every work on a case */
    async reopen(call: Call, key: string, given: ReopenCaseInput, ifMatch?: number): Promise<CaseView> {
      requireWrite(call, casesPolicy.reopen);
      const { reason } = ReopenCaseInput.parse(given);
      const view = await database.write(call, async (tx) => {
        const row = await records.open(tx, key, casesPolicy.reopen, { move: "reopen", ifMatch });
        const again = { status: "active", outcome: null, outcomeReason: null, closedBy: null, closedAt: null };
        const news = { action: "case.reopen", permission: casesPolicy.reopen, reason } as const;
        const change = { before: { status: row.status, outcome: row.outcome }, after: { status: "active" } };
        await suggestions.dismiss(tx, row);
        return await present(tx, await records.change(tx, row, again, { ...news, ...change }));
      });
      return await shown(call, view);
    },

    /** Put a case into the bin. @throws ProblemError record_not_found, precondition_failed and as every work on a case */
    async remove(call: Call, key: string, given: { reason?: string | undefined }, ifMatch?: number): Promise<CaseView> {
      requireWrite(call, casesPolicy.delete);
      const { reason } = DeleteCaseInput.parse(given, { reportInput: true });
      const view = await database.write(call, async (tx) => {
        const row = await records.open(tx, key, casesPolicy.delete, { move: "delete", ifMatch });
        const binned = { deletedAt: tx.now, deletedBy: call.actor?.id ?? null };
        const changed = await records.change(tx, row, binned, { action: "case.delete", permission: casesPolicy.delete, reason });
        return await present(tx, changed);
      });
      return await shown(call, view);
    },

    /** Take a case out of the bin, as it was. @throws ProblemError record_not_found, also once its time in the bin is over */
    async restore(call: Call, key: string, ifMatch?: number): Promise<CaseView> {
      requireWrite(call, casesPolicy.delete);
      const view = await database.write(call, async (tx) => {
        const row = await records.open(tx, key, casesPolicy.delete, { move: "keep", isDeleted: true, ifMatch });
        if (isOverdueInBin(row, tx.now)) throw recordNotFound();
        const back = { deletedAt: null, deletedBy: null };
        return await present(tx, await records.change(tx, row, back, { action: "case.restore", permission: casesPolicy.delete }));
      });
      return await shown(call, view);
    },
  };
}

const batch = 50;
/** How long a case stays in the bin. */
const binSeconds = 30 * 86_400;

export interface CaseSweepDeps extends Deps<"database" | "events" | "clock" | "logger"> {
  audit: Pick<AuditService, "erase">;
  records: CaseRecords;
  drafts: Pick<DraftRecords, "dropInTx">;
  /** Deletes the evidence of a case permanently. */
  dropEvidence?: (tx: Tx, caseId: string) => Promise<unknown>;
}

/** Whether a case has been in the bin for as long as it can be. */
export function isOverdueInBin({ deletedAt }: Pick<Case, "deletedAt">, now: Date): boolean {
  return deletedAt !== null && deletedAt <= addSeconds(now, -binSeconds);
}

/** What time does to cases. */
export function createCaseSweep({ database, audit, events, records, drafts, dropEvidence, clock, logger }: CaseSweepDeps) {
  /** Closed cases past their retention. */
  async function archiveDue(call: Call): Promise<number> {
    const due = { status: "closed", deletedAt: null, retentionUntil: { lte: clock.now() } };
    return await each(call, due, "a case kept long enough could not be archived; it is tried again in a minute", async (tx, row) => {
      const isDue = row.deletedAt === null && row.retentionUntil !== null && row.retentionUntil <= tx.now && isLegal(row.status, "archive");
      if (!isDue) return;
      const change = { before: { status: row.status }, after: { status: "archived" } };
      await records.change(tx, row, { status: "archived" }, { action: "case.archive", permission: "system.act", ...change });
    });
  }

  /** Cases whose time in the bin is over: nothing stays of them but their entries in the audit, without details. */
  async function purgeDue(call: Call): Promise<number> {
    const due = { deletedAt: { lte: addSeconds(clock.now(), -binSeconds) } };
    return await each(
      call,
      due,
      "a case whose time in the bin is over could not be deleted; it is tried again in a minute",
      async (tx, row) => {
        const { id } = row;
        if (!isOverdueInBin(row, tx.now)) return;
        const reference = caseReference(row.number);
        await dropEvidence?.(tx, id);
        await drafts.dropInTx(tx, reference, say("cases.its-ground-is-gone-the-case-was"));
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
      },
    );
  }

  /** @returns how many were looked at */
  function each(call: Call, due: object, failure: string, work: (tx: Tx, row: WholeCase) => Promise<void>): Promise<number> {
    return sweepIsolated<{ id: string }>({
      size: batch,
      find: (after) =>
        database.read.case.findMany({
          where: { ...due, ...(after !== undefined && { id: { gt: after.id } }) },
          select: { id: true },
          orderBy: { id: "asc" },
          take: batch,
        }),
      work: (found) =>
        database.write(call, async (tx) => {
          for (const { id } of found) await tx.lock(`case:${id}`);
          for (const { id } of found) {
            const row = await wholeCase(tx, await tx.db.case.findUnique({ where: { id } }));
            if (row !== null) await work(tx, row);
          }
          return found.length;
        }),
      logger,
      failure,
      idsOf: ({ id }) => ({ case: id }),
    });
  }

  return {
    /** Archive what was kept long enough and empty the bin; answers how many. For the job that runs each minute. */
    async sweep(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      const { archived, purged } = await partByPart({ archived: () => archiveDue(call), purged: () => purgeDue(call) });
      return archived + purged;
    },
  };
}
