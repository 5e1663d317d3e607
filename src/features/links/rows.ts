import type { Tx } from "../../database/database.ts";
import type { AccountLink, Prisma } from "../../generated/sqlite/client.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { StoredBasis } from "./links.policy.ts";
import { inOrder } from "./reach.ts";
import type { Confidence, LinkView } from "./links.schema.ts";

/** A link as a caller or an approved request wants it. */
export interface LinkDraft {
  /** The first is the person whom the audit names. */
  userIds: readonly [string, string];
  confidence: Confidence;
  kind: LinkView["kind"];
  basis: LinkView["basis"];
  propagates: boolean;
  primaryUserId: string | null;
  reviewAt: Date;
  originReference: string | null;
}

/** What a change may say; revision and time are its own business. */
export type LinkChanges = Omit<Prisma.AccountLinkUncheckedUpdateManyInput, "id" | "revision" | "updatedAt">;

/** What ends a link, no matter who ends it. */
export function ending(tx: Tx, reason: string): LinkChanges {
  return { status: "ended", activeKey: null, endedAt: tx.now, endedBy: tx.call.actor?.id ?? null, endReason: reason };
}

/** A new link as it is stored. */
export function rowOf(tx: Tx, draft: LinkDraft): Prisma.AccountLinkUncheckedCreateInput {
  const [userA = "", userB = ""] = inOrder(draft.userIds);
  return {
    id: uuid7(tx.now.getTime()),
    userA,
    userB,
    activeKey: activeKeyOf(draft.userIds),
    confidence: draft.confidence,
    kind: draft.kind,
    basis: draft.basis.map((one) => ({ ...one })),
    propagates: draft.propagates && draft.confidence !== "suspected",
    primaryUserId: draft.primaryUserId,
    status: "active",
    reviewAt: draft.reviewAt,
    originReference: draft.originReference,
    createdBy: tx.call.actor?.id ?? null,
    createdAt: tx.now,
    updatedAt: tx.now,
  };
}

/** What no two links of a pair have at once. */
export function activeKeyOf(pair: readonly string[]): string {
  return inOrder(pair).join(":");
}

/** What the audit keeps: notes stay with the link alone. */
export function facts(row: AccountLink): object {
  return {
    user_ids: [row.userA, row.userB],
    confidence: row.confidence,
    kind: row.kind,
    basis: StoredBasis.parse(row.basis).map(({ type }) => type),
    propagates: row.propagates,
    primary_user_id: row.primaryUserId,
    status: row.status,
    review_at: row.reviewAt?.toISOString() ?? null,
  };
}
