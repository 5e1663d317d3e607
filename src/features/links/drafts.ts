import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { AccountLink } from "../../generated/sqlite/client.ts";
import { fieldError } from "../../kernel/errors.ts";
import { StoredBasis, linksPolicy } from "./links.policy.ts";
import { ending, type LinkChanges, type LinkDraft } from "./rows.ts";
import {
  maxBasis,
  reviewOf,
  suspectedNeverPropagates,
  type Confidence,
  type CreateLinkInput,
  type UpdateLinkInput,
} from "./links.schema.ts";
import { linkConfidences } from "../../kernel/vocabulary.ts";
import { sweepIsolated } from "../../kernel/isolated.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import type { LinkRecords } from "./records.ts";

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
  if (basis.length > maxBasis) throw fieldError("/add_basis", "too_many", say("links.a-link-holds-grounds-at-most", { count: maxBasis }));
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
  throw fieldError("/primary_user_id", "invalid_value", say("links.the-main-account-is-one-of-the"));
}

function laterThan(now: Date, reviewAt: Date): Date {
  if (reviewAt <= now) throw fieldError("/review_at", "too_early", say("links.the-time-for-review-is-ahead"));
  return reviewAt;
}

const batch = 100;
const reviewPassed = say("links.nobody-looked-at-it-again-in-time");

export interface SweepDeps extends Deps<"database" | "clock" | "logger"> {
  records: LinkRecords;
}

/** What time does to links: a suspicion ends, what is probable or confirmed only waits to be looked at. */
export function createSweep({ database, records, clock, logger }: SweepDeps) {
  const due = () => ({ status: "active", confidence: "suspected", reviewAt: { lte: clock.now() } });

  const findDue = (after: { id: string } | undefined): Promise<{ id: string }[]> => {
    const where = { ...due(), ...(after !== undefined && { id: { gt: after.id } }) };
    return database.read.accountLink.findMany({ where, select: { id: true }, orderBy: { id: "asc" }, take: batch });
  };

  const endAll = (call: Call, waiting: readonly { id: string }[]): Promise<number> =>
    database.write(call, async (tx) => {
      await records.lock(tx);
      const rows = await tx.db.accountLink.findMany({ where: { ...due(), id: { in: waiting.map(({ id }) => id) } } });
      for (const row of rows) {
        const note = { verb: "expire", userId: row.userA, permission: linksPolicy.sweep, reason: reviewPassed } as const;
        await records.change(tx, row, ending(tx, reviewPassed), note);
      }
      return rows.length;
    });

  return {
    /** End the suspicions nobody looked at again. For the job that runs each minute. @returns how many */
    async expireDue(call: Call): Promise<number> {
      requirePermission(call, linksPolicy.sweep);
      return await sweepIsolated({
        size: batch,
        find: findDue,
        work: (waiting) => endAll(call, waiting),
        logger,
        failure: "a suspicion nobody looked at could not be ended; it is tried again in a minute",
        idsOf: ({ id }) => ({ account_link: id }),
      });
    },
  };
}
