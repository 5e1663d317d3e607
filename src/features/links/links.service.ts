import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import type { AccountLink } from "../../generated/sqlite/client.ts";
import { requirePermission, requireWrite, type Call } from "../../kernel/call.ts";
import { ProblemError, fieldError, recordNotFound } from "../../kernel/errors.ts";
import { newestFirst } from "../../kernel/keyset.ts";
import { listPage, type Page } from "../../kernel/page.ts";
import { requireRevision } from "../../kernel/revision.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { MatchesService } from "../intelligence/matches/matches.service.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import { linksPolicy, presentLink, requireMayLink, StoredBasis } from "./links.policy.ts";
import { inStatus, neighbourhoodOf, type LinkReach } from "./reach.ts";
import { createLinkRecords, type LinkChange, type LinkRecords, ending, type LinkChanges, type LinkDraft } from "./records.ts";
import {
  CreateLinkInput,
  EndLinkInput,
  ListLinksQuery,
  UpdateLinkInput,
  type ChangedLinkView,
  type LinkGroupView,
  type LinkView,
  maxBasis,
  reviewOf,
  suspectedNeverPropagates,
  type Confidence,
} from "./links.schema.ts";
import { createInTx } from "./in-tx.ts";
import { linkConfidences } from "../../kernel/vocabulary.ts";
import { sweepIsolated } from "../../kernel/isolated.ts";

type Created = ReturnType<typeof CreateLinkInput.parse>;
type Updated = ReturnType<typeof UpdateLinkInput.parse>;

/** A link as a caller asks for it. @throws ProblemError validation_failed */
function draftOf(input: Created, userId: string, now: Date): LinkDraft {
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
function changesOf(input: Updated, row: AccountLink, now: Date): LinkChanges | null {
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

interface SweepDeps extends Deps<"database" | "clock" | "logger"> {
  records: LinkRecords;
}

/** What time does to links: a suspicion ends, what is probable or confirmed only waits to be looked at. */
function createSweep({ database, records, clock, logger }: SweepDeps) {
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

export type LinksService = ReturnType<typeof createLinksService>;

export interface LinksDeps extends Deps<"database" | "events" | "access" | "cursors" | "clock" | "listChecks" | "logger"> {
  audit: AuditService;
  matches: Pick<MatchesService, "recomputeUser">;
  reach: LinkReach;
  permissions: Pick<PermissionsService, "requireRankAbove">;
}

/** Which accounts may belong to one person. */
export function createLinksService(deps: LinksDeps) {
  const { database, access, permissions, cursors, clock, logger } = deps;
  const records = createLinkRecords(deps);

  /** Read a link of a person to change it: under the lock, in the revision the caller knows, and not ended. */
  async function loadForUpdate(tx: Tx, { userId, linkId, ifMatch, action }: Opening): Promise<AccountLink> {
    await records.lock(tx);
    const row = await tx.db.accountLink.findUnique({ where: { id: linkId } });
    if (row === null || ![row.userA, row.userB].includes(userId)) throw recordNotFound();
    await requireMay(tx, [row.userA, row.userB]);
    requireRevision(ifMatch, row.revision);
    if (row.status !== "active") throw new ProblemError("invalid_transition", { extra: { from: row.status, action, allowed: [] } });
    return row;
  }

  async function requireMay(tx: Tx, pair: readonly string[]): Promise<void> {
    requireMayLink(tx.call, pair, await records.partialTo(tx, pair), { access, permissions });
  }

  return {
    /** The links of an account, newest first. @throws ProblemError permission_denied, invalid_cursor */
    async list(call: Call, userId: string, query: ListLinksQuery): Promise<Page<LinkView>> {
      requirePermission(call, linksPolicy.read);
      const { limit, cursor, count, ...filters } = ListLinksQuery.parse(query);
      const wanted = conditions(userId, filters);
      const now = clock.now();
      return listPage({
        cursors,
        list: "links",
        filters: { userId, ...filters },
        query: { limit, cursor, count },
        keyset: newestFirst,
        find: ({ after, take }) =>
          database.read.accountLink.findMany({ where: { AND: [wanted, after] }, orderBy: newestFirst.orderBy, take }),
        count: () => database.read.accountLink.count({ where: wanted }),
        present: (row) => presentLink(row, userId, now),
      });
    },

    /** Who belongs together with an account, and who probably does. @throws ProblemError permission_denied */
    async group(call: Call, userId: string): Promise<LinkGroupView> {
      requirePermission(call, linksPolicy.read);
      const { members, primaryUserId } = await neighbourhoodOf(database.read, userId);
      return {
        user_id: userId,
        members: members.map((member) => ({ user_id: member.userId, confidence: member.confidence })),
        primary_user_id: primaryUserId,
      };
    },

    /**
     * Link an account with another.
     * @throws ProblemError duplicate_active_record, conflict_of_interest, hierarchy_violation, invalid_transition, validation_failed
     */
    async create(call: Call, userId: string, input: CreateLinkInput): Promise<ChangedLinkView> {
      requireWrite(call, linksPolicy.manage);
      const parsed = CreateLinkInput.parse(input);
      if (parsed.user_id === userId) throw fieldError("/user_id", "self_link", say("links.an-account-is-not-linked-with-itself"));
      return await database.write(call, async (tx) => {
        const draft = draftOf(parsed, userId, tx.now);
        await records.lock(tx);
        await requireMay(tx, draft.userIds);
        const linked = await records.findActive(tx, draft.userIds);
        if (linked !== null) throw alreadyLinked(linked.id);
        const note = { verb: "create", userId, permission: linksPolicy.manage, reason: parsed.reason } as const;
        return present(await records.create(tx, draft, note), userId, tx);
      });
    },

    /**
     * Change what is thought of a link. Nothing changed: nothing written.
     * @throws ProblemError record_not_found, precondition_failed, conflict_of_interest, hierarchy_violation, invalid_transition,
     * validation_failed
     */
    async update(call: Call, userId: string, linkId: string, input: UpdateLinkInput, ifMatch?: number): Promise<ChangedLinkView> {
      requireWrite(call, linksPolicy.manage);
      const parsed = UpdateLinkInput.parse(input);
      return await database.write(call, async (tx) => {
        const row = await loadForUpdate(tx, { userId, linkId, ifMatch, action: "update" });
        const changes = changesOf(parsed, row, tx.now);
        if (changes === null) return present({ row, matches: nothing }, userId, tx);
        const note = { verb: "update", userId, permission: linksPolicy.manage, reason: parsed.reason } as const;
        return present(await records.change(tx, row, changes, note), userId, tx);
      });
    },

    /**
     * End a link; it stays readable.
     * @throws ProblemError record_not_found, precondition_failed, conflict_of_interest, hierarchy_violation, invalid_transition
     */
    async end(call: Call, userId: string, linkId: string, input: { reason?: string | undefined }, ifMatch?: number) {
      requireWrite(call, linksPolicy.manage);
      const { reason } = EndLinkInput.parse(input, { reportInput: true });
      return await database.write(call, async (tx): Promise<ChangedLinkView> => {
        const row = await loadForUpdate(tx, { userId, linkId, ifMatch, action: "end" });
        const note = { verb: "end", userId, permission: linksPolicy.manage, reason } as const;
        return present(await records.change(tx, row, ending(tx, reason), note), userId, tx);
      });
    },

    ...createInTx(records),
    ...createSweep({ database, records, clock, logger }),
  };
}

interface Opening {
  userId: string;
  linkId: string;
  ifMatch: number | undefined;
  action: string;
}

const nothing = { added: 0, changed: 0, removed: 0 } as const;

function present({ row, matches }: LinkChange, userId: string, tx: Tx): ChangedLinkView {
  return { ...presentLink(row, userId, tx.now), matches };
}

function conditions(userId: string, { status, confidence }: { status: "active" | "ended" | "all"; confidence?: string | undefined }) {
  return {
    OR: [{ userA: userId }, { userB: userId }],
    ...(status !== "all" && inStatus(status)),
    ...(confidence !== undefined && { confidence }),
  };
}

function alreadyLinked(linkId: string): ProblemError {
  return new ProblemError("duplicate_active_record", {
    detail: say("links.these-accounts-are-linked-already"),
    extra: { link_id: linkId },
  });
}
