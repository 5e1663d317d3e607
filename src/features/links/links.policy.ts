import { say } from "../../kit/say.ts";
import { z } from "zod";
import type { AccountLink } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import { LinkView } from "./links.schema.ts";

/** Permissions of this feature. */
export const linksPolicy = { read: "users.links.read", manage: "users.links.manage", sweep: "system.act" } as const;

export const StoredBasis = LinkView.shape.basis;
const StoredWords = z.object({ confidence: LinkView.shape.confidence, kind: LinkView.shape.kind, status: LinkView.shape.status });

/** @param userId the account it is looked at from */
export function presentLink(row: AccountLink, userId: string, now: Date): LinkView {
  const { confidence, kind, status } = StoredWords.parse(row);
  return {
    id: row.id,
    user_ids: [row.userA, row.userB],
    other_user_id: otherEnd(row, userId),
    confidence,
    kind,
    basis: StoredBasis.parse(row.basis),
    propagates: row.propagates,
    primary_user_id: row.primaryUserId,
    status,
    review_at: isoOrNull(row.reviewAt),
    review_due: status === "active" && row.reviewAt !== null && row.reviewAt <= now,
    origin_reference: row.originReference,
    created_by: row.createdBy,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
    ended: row.endedAt === null ? null : { at: row.endedAt.toISOString(), by: row.endedBy, reason: row.endReason },
    revision: row.revision,
  };
}

/** The account at the other end of a link. */
export function otherEnd({ userA, userB }: { userA: string; userB: string }, userId: string): string {
  return userA === userId ? userB : userA;
}

/**
 * Nobody links accounts of staff of their own rank or above, nor any account of their own.
 * @param partial everybody who belongs together with one of the two
 * @throws ProblemError conflict_of_interest, hierarchy_violation
 */
export function requireMayLink(
  call: Call,
  pair: readonly string[],
  partial: ReadonlySet<string>,
  { access, permissions }: { access: Pick<AccessDirectory, "of">; permissions: Pick<PermissionsService, "requireRankAbove"> },
): void {
  const actor = call.actor?.id;
  if (actor !== undefined && (pair.includes(actor) || partial.has(actor)))
    throw new ProblemError("conflict_of_interest", { detail: say("links.nobody-links-or-unlinks-accounts-of-their") });
  for (const userId of pair) {
    const subject = access.of(userId);
    if (subject.isStaff) permissions.requireRankAbove(call, subject.rank);
  }
}
