import type { Database } from "../../../database/database.ts";
import { caseReference } from "../../../kernel/stored.ts";
import { beginningWith } from "../../../kernel/words.ts";
import type { DraftCauses } from "../../workflows/drafts/drafts.policy.ts";
import { byKey, eventPermission } from "../cases.policy.ts";
import type { CasesService } from "../cases.service.ts";

/** Whose business it is what cases suggest: of a confidential one, only those who may know of it. */
export function createCauses({ database, cases }: { database: Database; cases: Pick<CasesService, "hiddenFrom"> }): DraftCauses {
  return {
    async hiddenFrom(call) {
      const hidden = new Set(await cases.hiddenFrom(call));
      if (hidden.size === 0) return [];
      // Cases that suggested nothing are left out: a statement takes only so many values.
      const causes = await database.read.requestDraft.findMany({
        where: { causeReference: beginningWith("CASE-") },
        distinct: ["causeReference"],
        select: { causeReference: true },
      });
      const numbers = causes.map(({ causeReference }) => Number(causeReference?.slice("CASE-".length)));
      const rows = await database.read.case.findMany({ where: { number: { in: numbers } }, select: { id: true, number: true } });
      return rows.filter(({ id }) => hidden.has(id)).map(({ number }) => caseReference(number));
    },

    async permissionFor(db, reference) {
      const row = await db.case.findFirst({ where: byKey(reference), select: { isConfidential: true } });
      return row === null ? undefined : eventPermission(row);
    },
  };
}
