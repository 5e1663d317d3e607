import type { AccountLink } from "../../generated/sqlite/client.ts";
import { fieldError } from "../../kernel/errors.ts";
import { StoredBasis } from "./links.policy.ts";
import type { LinkChanges, LinkDraft } from "./rows.ts";
import {
  maxBasis,
  reviewOf,
  suspectedNeverPropagates,
  type Confidence,
  type CreateLinkInput,
  type UpdateLinkInput,
} from "./links.schema.ts";
import { linkConfidences } from "../../kernel/vocabulary.ts";

type Created = ReturnType<typeof CreateLinkInput.parse>;
type Updated = ReturnType<typeof UpdateLinkInput.parse>;

/** A link as a caller asks for it. @throws ProblemError validation_failed */
export function draftOf(input: Created, userId: string, now: Date): LinkDraft {
  const { confidence, primary_user_id: primaryUserId = null } = input;
  const userIds = [userId, input.user_id] as const;
  requireOneOf(primaryUserId, userIds);
  return {
    userIds,
    confidence,
    kind: input.kind,
    basis: input.basis,
    propagates: input.propagates ?? confidence !== "suspected",
    primaryUserId,
    reviewAt: laterThan(now, reviewOf(input, confidence, now)),
    originReference: null,
  };
}

/** What an update changes, or null where it changes nothing. @throws ProblemError validation_failed */
export function changesOf(input: Updated, row: AccountLink, now: Date): LinkChanges | null {
  const { add_basis: added = [], primary_user_id: primaryUserId = row.primaryUserId } = input;
  const confidence = input.confidence ?? linkConfidences.find((known) => known === row.confidence) ?? "suspected";
  const isOther = confidence !== row.confidence;
  const basis = [...StoredBasis.parse(row.basis), ...added];
  if (basis.length > maxBasis) throw fieldError("/add_basis", "too_many", `A link holds ${maxBasis.toString()} grounds at most.`);
  if (primaryUserId !== row.primaryUserId) requireOneOf(primaryUserId, [row.userA, row.userB]);
  const isReviewTold = input.review_at !== undefined || input.review_after !== undefined;
  const reviewAt = isReviewTold || isOther ? laterThan(now, reviewOf(input, confidence, now)) : row.reviewAt;
  const propagates = propagation(input.propagates, confidence, row);
  const changes = {
    ...(isOther && { confidence }),
    ...(propagates !== row.propagates && { propagates }),
    ...(primaryUserId !== row.primaryUserId && { primaryUserId }),
    ...(added.length > 0 && { basis: basis.map((one) => ({ ...one })) }),
    ...(reviewAt?.getTime() !== row.reviewAt?.getTime() && { reviewAt }),
  };
  return Object.keys(changes).length === 0 ? null : changes;
}

/** What was suspected begins to propagate when it is more than that, unless told otherwise. */
function propagation(told: boolean | undefined, confidence: Confidence, row: AccountLink): boolean {
  if (confidence !== "suspected") return told ?? (row.confidence === "suspected" || row.propagates);
  if (told === true) throw fieldError("/propagates", "invalid_value", suspectedNeverPropagates);
  return false;
}

function requireOneOf(primaryUserId: string | null, pair: readonly string[]): void {
  if (primaryUserId === null || pair.includes(primaryUserId)) return;
  throw fieldError("/primary_user_id", "invalid_value", "The main account is one of the two.");
}

function laterThan(now: Date, reviewAt: Date): Date {
  if (reviewAt <= now) throw fieldError("/review_at", "too_early", "The time for review is ahead.");
  return reviewAt;
}
