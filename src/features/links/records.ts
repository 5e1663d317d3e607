import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import type { AccountLink, Prisma } from "../../generated/sqlite/client.ts";
import { ProblemError } from "../../kernel/errors.ts";
import type { MatchChanges, MatchesService } from "../intelligence/matches/matches.service.ts";
import { inOrder, inStatus, maxGroup, type LinkReach } from "./reach.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { StoredBasis } from "./links.policy.ts";
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
function rowOf(tx: Tx, draft: LinkDraft): Prisma.AccountLinkUncheckedCreateInput {
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
function activeKeyOf(pair: readonly string[]): string {
  return inOrder(pair).join(":");
}

/** What the audit keeps: notes stay with the link alone. */
function facts(row: AccountLink): object {
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

export interface RecordsDeps extends Deps<"audit" | "events" | "listChecks"> {
  matches: Pick<MatchesService, "recomputeUser">;
  reach: LinkReach;
}

/** What the audit says of a change. */
export interface LinkNote {
  verb: "create" | "update" | "end" | "expire";
  /** The person the caller was looking at. */
  userId: string;
  permission: string;
  reason?: string | undefined;
}

export interface LinkChange {
  row: AccountLink;
  matches: MatchChanges;
}

/** How things stand around a pair of accounts. */
interface Surroundings {
  /** Everybody the links of the two concern, themselves included; the same people whether or not the two are linked. */
  people: ReadonlySet<string>;
  /** What is reached from the one and from the other, for comparison. */
  reached: string;
  /** The accounts of the same person as the one, and as the other. */
  groups: readonly (readonly string[])[];
}

export type LinkRecords = ReturnType<typeof createLinkRecords>;

/** Writes of links inside a given transaction: each keeps the audit, the events and everybody's matches in step. */
export function createLinkRecords({ audit, events, matches, reach, listChecks }: RecordsDeps) {
  async function around(tx: Tx, pair: readonly string[]): Promise<Surroundings> {
    const reached: string[] = [];
    const people = new Set<string>(pair);
    const groups: string[][] = [];
    for (const userId of pair) {
      const found = await reach.reachOf(tx.db, userId);
      reached.push(JSON.stringify(found));
      for (const account of found) people.add(account.userId);
      groups.push(await reach.linkedAccountsOf(tx.db, userId));
    }
    return { people, reached: reached.join(), groups };
  }

  /** Compare everybody again whose records changed hands; where no reach changed, nobody's did. */
  async function recompute(tx: Tx, before: Surroundings, pair: readonly string[]): Promise<MatchChanges> {
    const after = await around(tx, pair);
    const total = { added: 0, changed: 0, removed: 0 };
    if (after.reached === before.reached) return total;
    listChecks.ask(tx, inOrder([...before.people, ...after.people]));
    for (const userId of inOrder(before.people)) {
      const { added, changed, removed } = await matches.recomputeUser(tx, userId);
      total.added += added;
      total.changed += changed;
      total.removed += removed;
    }
    return total;
  }

  function recordChange(tx: Tx, before: AccountLink | null, row: AccountLink, note: LinkNote): void {
    audit.record(tx, {
      action: `account_link.${note.verb}`,
      target: { kind: "account_link", id: row.id },
      subjectUserId: note.userId,
      ...(note.reason !== undefined && { reason: note.reason }),
      ...(before !== null && { before: facts(before) }),
      after: facts(row),
      permission: note.permission,
    });
    const { id, userA, userB, confidence, status } = row;
    events.emit(tx, { type: "account_link.changed", data: { link_id: id, user_ids: [userA, userB], confidence, status } });
  }

  return {
    /** Groups grow and split by any of their links, so all changes of links wait for one another. */
    lock: (tx: Tx): Promise<void> => tx.lock("account_links"),

    /** Everybody who belongs together with one of the two. Call under the lock. */
    async partialTo(tx: Tx, pair: readonly string[]): Promise<Set<string>> {
      return new Set((await around(tx, pair)).groups.flat());
    },

    /** The link of a pair that counts, or null. */
    findActive: (tx: Tx, pair: readonly string[]) => tx.db.accountLink.findUnique({ where: { activeKey: activeKeyOf(pair) } }),

    /** @throws ProblemError invalid_transition when the group would grow too large */
    async create(tx: Tx, draft: LinkDraft, note: LinkNote): Promise<LinkChange> {
      const { userIds } = draft;
      const before = await around(tx, userIds);
      for (const userId of userIds) await requireFewLinks(tx, userId);
      if (draft.confidence === "confirmed") requireRoom(before, userIds);
      const row = await tx.db.accountLink.create({ data: rowOf(tx, draft) });
      const changes = await recompute(tx, before, userIds);
      recordChange(tx, null, row, note);
      return { row, matches: changes };
    },

    /** @throws ProblemError invalid_transition when the group would grow too large */
    async change(tx: Tx, row: AccountLink, changes: LinkChanges, note: LinkNote): Promise<LinkChange> {
      const pair = [row.userA, row.userB];
      const before = await around(tx, pair);
      if (changes.confidence === "confirmed") requireRoom(before, pair);
      const data = { ...changes, updatedAt: tx.now, revision: row.revision + 1 };
      const changed = await tx.db.accountLink.update({ where: { id: row.id }, data });
      const recomputed = await recompute(tx, before, pair);
      recordChange(tx, row, changed, note);
      return { row: changed, matches: recomputed };
    },
  };
}

/** Two groups become one: together they stay small enough to be walked. @throws ProblemError invalid_transition */
function requireRoom({ groups }: Surroundings, [, other = ""]: readonly string[]): void {
  const isOne = groups[0]?.includes(other) === true;
  const size = groups.reduce((sum, group) => sum + group.length + 1, 0);
  if (!isOne && size > maxGroup) throw tooMany(say("links.a-group-holds-accounts-at-most-this", { count: maxGroup }));
}

async function requireFewLinks(tx: Tx, userId: string): Promise<void> {
  const links = await tx.db.accountLink.count({ where: { ...inStatus("active"), OR: [{ userA: userId }, { userB: userId }] } });
  if (links >= maxGroup) throw tooMany(say("links.an-account-has-links-at-most", { count: maxGroup }));
}

function tooMany(detail: string): ProblemError {
  return new ProblemError("invalid_transition", { detail, extra: { from: null, action: "link", allowed: [] } });
}
