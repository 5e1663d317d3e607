import type { Database } from "../../database/database.ts";
import { requirePermission } from "../../kernel/call.ts";
import { caseReference } from "../../kernel/stored.ts";
import type { EvidenceHost, Host } from "../evidence/hosts.ts";
import { casesPolicy, eventPermission, soleUserOf, type WholeCase } from "./cases.policy.ts";
import { findVisible, type CaseRecords } from "./records.ts";

/** How evidence is kept on cases. */
export function createHost({ database, records }: { database: Database; records: CaseRecords }): EvidenceHost {
  return {
    async read(call, key) {
      requirePermission(call, casesPolicy.read);
      return hostOf(await findVisible(database, await records.viewerOf(call, database.read), key));
    },
    async open(tx, key) {
      const row = await records.open(tx, key, "evidence.add", { move: "evidence" });
      await tx.db.case.update({ where: { id: row.id }, data: { updatedAt: tx.now } });
      return hostOf(row);
    },
    async requireRedactable(tx, key) {
      await records.open(tx, key, casesPolicy.read, { move: "keep" });
    },
  };
}

/** Nobody learns from elsewhere whom a confidential case is about. */
function hostOf(row: WholeCase): Host {
  const permission = eventPermission(row);
  return {
    id: row.id,
    reference: caseReference(row.number),
    subjectUserId: row.isConfidential ? null : soleUserOf(row),
    ...(permission !== undefined && { eventPermission: permission }),
  };
}
