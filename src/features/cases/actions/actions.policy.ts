import type { CaseAction, Prisma } from "../../../generated/sqlite/client.ts";
import { isoOrNull } from "../../../kernel/fields.ts";
import { caseReference } from "../../../kernel/parsing.ts";
import type { ActionKind, ActionView, NoticeState } from "./actions.schema.ts";

/** Permissions of actions and of the ledger of strikes; the strikes of staff need `discipline` besides. */
export const actionsPolicy = {
  read: "cases.read",
  write: "cases.update",
  discipline: "staff.discipline",
  alts: "users.links.read",
  sweep: "system.act",
} as const;

/** Whether an action counts at a moment: it is neither voided nor expired. */
export function isInForce({ voidedAt, expiresAt }: Pick<CaseAction, "voidedAt" | "expiresAt">, now: Date): boolean {
  return voidedAt === null && (expiresAt === null || expiresAt > now);
}

/** {@link isInForce} in the words of the database. */
export function inForceWhere(now: Date): Prisma.CaseActionWhereInput {
  return { voidedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] };
}

/** The opposite, told without a negation that an empty column would turn around. */
export function overWhere(now: Date): Prisma.CaseActionWhereInput {
  return { OR: [{ voidedAt: { not: null } }, { expiresAt: { lte: now } }] };
}

/** What stands in the ledger: whatever carries points, in cases that are not in the bin. */
export function ledgerWhere(userIds: readonly string[]): Prisma.CaseActionWhereInput {
  return { userId: { in: [...userIds] }, points: { gt: 0 }, case: { deletedAt: null } };
}

export function presentAction(row: CaseAction, number: number, now: Date): ActionView {
  return {
    id: row.id,
    case_id: row.caseId,
    case_number: caseReference(number),
    kind: row.kind as ActionKind,
    user_id: row.userId,
    points: row.points,
    reason: row.reason,
    at: row.at.toISOString(),
    by: row.byId,
    expires_at: isoOrNull(row.expiresAt),
    in_force: isInForce(row, now),
    effect_ref: row.effectRef,
    origin_reference: row.originReference,
    notice: row.notice as NoticeState | null,
    voided: row.voidedAt === null ? null : { at: row.voidedAt.toISOString(), by: row.voidedBy, reason: row.voidReason ?? "" },
  };
}
