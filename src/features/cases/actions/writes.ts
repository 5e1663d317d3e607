import type { PermissionKey } from "../../../kernel/permissions.ts";
import type { Tx } from "../../../database/database.ts";
import type { CaseAction } from "../../../generated/sqlite/client.ts";
import { isoOrNull } from "../../../kernel/fields.ts";
import type { createLedger, Fall } from "./ledger.ts";
import { isInForce } from "./actions.policy.ts";
import { whole, type WholeCase } from "../cases.policy.ts";
import type { CaseNews, CaseRecords } from "../records.ts";

/** Why something is changed or taken back, and what permits it. */
export interface ActionNote {
  reason: string;
  permission: PermissionKey;
}

export interface ActionWritesDeps {
  records: Pick<CaseRecords, "touch">;
  ledger: ReturnType<typeof createLedger>;
}

type Columns = Partial<Pick<CaseAction, "points" | "expiresAt" | "voidedAt" | "voidedBy" | "voidReason">>;

interface Found {
  action: CaseAction;
  row: WholeCase;
}

interface Changed {
  action: CaseAction;
  fall: Fall;
}

type ChangeNews = ActionNote & Pick<CaseNews, "action">;

/** Writes of actions inside a given transaction: each keeps the audit, the events and what is suggested in step. */
export function createActionWrites({ records, ledger }: ActionWritesDeps) {
  /** An action with its case under the case's lock; null once they were deleted for good. */
  async function open(tx: Tx, actionId: string): Promise<Found | null> {
    const found = await tx.db.caseAction.findUnique({ where: { id: actionId }, select: { caseId: true } });
    if (found === null) return null;
    await tx.lock(`case:${found.caseId}`);
    const action = await tx.db.caseAction.findUnique({ where: { id: actionId } });
    const row = await tx.db.case.findUnique({ where: { id: found.caseId }, include: whole });
    return action === null || row === null ? null : { action, row };
  }

  async function tell(tx: Tx, row: WholeCase, action: CaseAction, news: ActionNote & Pick<CaseNews, "action" | "before" | "after">) {
    const { reason, ...rest } = news;
    await records.touch(tx, row, { ...rest, subjectUserId: action.userId, ...(!row.isConfidential && { reason }) });
  }

  /**
   * Change an action, and let the ledger follow: what is suggested for its points comes and goes with them.
   * @param before what came of an earlier change that this one takes back
   */
  async function change(tx: Tx, { row, action: was }: Found, columns: Columns, news: ChangeNews, before?: Fall): Promise<Changed> {
    const { userId } = was;
    await ledger.lock(tx, userId);
    const sum = await ledger.sumOf(tx, userId);
    const action = await tx.db.caseAction.update({ where: { id: was.id }, data: columns });
    await tell(tx, row, action, { ...news, before: countedOf(was), after: countedOf(action) });
    const added = pointsAt(action, tx.now) - pointsAt(was, tx.now);
    const dismissed = added < 0 ? await ledger.dismissFallen(tx, userId) : [];
    // What lies in the bin adds nothing.
    if (added > 0 && row.deletedAt === null) await ledger.suggest(tx, row, userId, added, before);
    return { action, fall: { sum, dismissed } };
  }

  return { open, change, tell };
}

/** The points that an action adds to the ledger at a moment. */
export function pointsAt(action: CaseAction, now: Date): number {
  return isInForce(action, now) ? action.points : 0;
}

/** What of an action counts, as the audit tells it. */
export function countedOf({ id, kind, points, expiresAt }: CaseAction): object {
  return { action_id: id, kind, points, expires_at: isoOrNull(expiresAt) };
}
