import type { Database } from "../../database/database.ts";
import { caseReference } from "../../kernel/stored.ts";
import type { DraftCauses } from "../workflows/drafts.policy.ts";
import { byKey, eventPermission } from "./cases.policy.ts";
import type { CasesService } from "./cases.service.ts";

/** Whose business it is what cases suggest: of a confidential one, only those who may know of it. */
export function createCauses({ database, cases }: { database: Database; cases: Pick<CasesService, "hiddenFrom"> }): DraftCauses {
  return {
    async hiddenFrom(call) {
      const ids = await cases.hiddenFrom(call);
      if (ids.length === 0) return [];
      const rows = await database.read.case.findMany({ where: { id: { in: ids } }, select: { number: true } });
      return rows.map(({ number }) => caseReference(number));
    },

    async permissionFor(db, reference) {
      const row = await db.case.findFirst({ where: byKey(reference), select: { isConfidential: true } });
      return row === null ? undefined : eventPermission(row);
    },
  };
}
