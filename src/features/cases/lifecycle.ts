import type { Database, Tx } from "../../database/database.ts";
import { requireWrite, type Call } from "../../kernel/call.ts";
import { recordNotFound } from "../../kernel/errors.ts";
import { requireOutcome } from "./outcomes.ts";
import { casesPolicy, type WholeCase } from "./cases.policy.ts";
import type { CaseRecords } from "./records.ts";
import type { DraftRecords } from "../workflows/drafts/records.ts";
import { CloseCaseInput, DeleteCaseInput, ReopenCaseInput, type CaseView } from "./cases.schema.ts";
import { createSpawning } from "./spawn.ts";
import { isOverdueInBin } from "./sweep.ts";

export interface LifecycleDeps {
  database: Database;
  records: CaseRecords;
  drafts: Pick<DraftRecords, "suggestWithin" | "dismissWithin" | "openKeys">;
  present: (tx: Tx, row: WholeCase) => Promise<CaseView>;
  shown: (call: Call, view: CaseView) => Promise<CaseView>;
}

/** How a case ends, begins again, and goes. */
export function createLifecycle({ database, records, drafts, present, shown }: LifecycleDeps) {
  const spawning = createSpawning(drafts);

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
        await spawning.suggest(tx, closed, spawn);
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
        await spawning.dismiss(tx, row);
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
