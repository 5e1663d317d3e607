import { say } from "../../kit/say.ts";
import { changedRecord, updateRows, type Changes, type ChangedRecord } from "./bulk.ts";
import { createSideEffects, type ChangeNote, type SideEffectDeps } from "./side-effects.ts";
import { type Severity, severities } from "../../kernel/vocabulary.ts";
import type { Tx } from "../../database/database.ts";
import { nextNumber } from "../../database/counter.ts";
import { Prisma, type BlacklistRecord } from "../../generated/sqlite/client.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { can } from "../../kernel/call.ts";
import { keyedHash } from "../../kernel/secrets.ts";
import type { MatchChanges } from "../intelligence/matches/matches.service.ts";
import { canonical } from "./same.ts";
import { referenceOf, toMatchRecord } from "./blacklist.policy.ts";

const day = 86_400;
/** When a record is looked at again by default, in seconds. */
export const reviewAfter = 180 * day;
const defaultGrace = 7 * day;
/** What is recommended by default. */
export const defaultActions = { low: "monitor", medium: "verify", high: "deny_entry", critical: "ban" } as const satisfies Record<
  Severity,
  string
>;

/** A record to be made; what is absent gets its default. Times are points in time, lengths are seconds. */
export interface RecordDraft {
  kind: "user" | "server";
  subjectId: string;
  subjectName?: string | null | undefined;
  scope: "network" | "servers";
  serverIds?: readonly string[] | undefined;
  category: string;
  severity: Severity;
  reasonPublic?: string | null | undefined;
  reasonInternal?: string | null | undefined;
  recommendedAction?: string | null | undefined;
  memberPolicy?: string | null | undefined;
  gracePeriod?: number | null | undefined;
  exemptUserIds?: readonly string[] | undefined;
  /** Which linked accounts of a listed person it concerns, too. */
  includeAlts?: "none" | "confirmed" | "probable" | undefined;
  evidence?: readonly object[] | undefined;
  tags?: readonly string[] | undefined;
  startsAt?: Date | undefined;
  expiresAt?: Date | null | undefined;
  reviewAt?: Date | null | undefined;
  source: "direct" | "workflow" | "import";
  originReference?: string | undefined;
  createdBy: string | null;
  approvedBy?: readonly string[] | undefined;
  /** Id of the record that this one takes the place of. */
  supersedesId?: string | undefined;
}

/** What a change of a record did. */
export interface RecordChange {
  row: BlacklistRecord;
  matches: MatchChanges;
}

/** Which linked accounts are taken in, from the fewest to the most. */
const altChoices = ["none", "confirmed", "probable"];

export interface BlacklistRecords {
  change(tx: Tx, before: BlacklistRecord, changes: Changes, note: ChangeNote): Promise<RecordChange>;
  expire(tx: Tx, row: BlacklistRecord): Promise<void>;
  findHolder(
    tx: Tx,
    activeKey: string,
  ): Promise<{
    holder: BlacklistRecord | null;
    over: BlacklistRecord | null;
  }>;
  /** Change records read under their locks, in few statements. @throws ProblemError storage_busy when somebody changed one meanwhile */
  changeAll(tx: Tx, all: readonly ChangedRecord[]): Promise<void>;
  /**
   * Take the locks of several drafts in one order: the subjects, the records that hold them. The first draft takes the matches, and
   * anyone who holds one of these waits for those.
   */
  lockSubjects(tx: Tx, drafts: readonly RecordDraft[]): Promise<void>;
  /** Make a record, the last thing that the transaction does. @throws ProblemError duplicate_active_record */
  create(tx: Tx, draft: RecordDraft, note: ChangeNote): Promise<RecordChange>;
  /** Make a record, or strengthen the active one: its severity, its end and the linked accounts it takes in only ever grow. */
  createOrMerge(
    tx: Tx,
    draft: RecordDraft,
    note: ChangeNote,
  ): Promise<
    RecordChange & {
      isMerged: boolean;
    }
  >;
}

interface RecordsDeps extends SideEffectDeps {
  /** The key of server hashes, the same that hashes people's servers. */
  serversKey: Buffer;
}

/** Writes of records inside a given transaction: each keeps a version, an audit entry and the matches in step. */
export function createBlacklistRecords({ serversKey, ...deps }: RecordsDeps): BlacklistRecords {
  const { matches } = deps;
  const applySideEffects = createSideEffects(deps);

  /** Change a record read under its lock. @throws ProblemError storage_busy when somebody changed it meanwhile */
  async function change(tx: Tx, before: BlacklistRecord, changes: Changes, note: ChangeNote): Promise<RecordChange> {
    const changed = changedRecord(before, changes, note, tx.now);
    await updateRows(tx, [changed]);
    return { row: changed.row, matches: await applySideEffects(tx, [changed]) };
  }

  /** The record that holds a subject and scope now, and one past its end that still does. */
  async function findHolder(tx: Tx, activeKey: string): Promise<{ holder: BlacklistRecord | null; over: BlacklistRecord | null }> {
    const holds = Prisma.sql`WHERE t.active_key = ${activeKey}`;
    const [, [row]] = await Promise.all([tx.lock(`blacklist:${activeKey}`), tx.db.$select("BlacklistRecord", holds, ["id"])]);
    if (row === undefined) return { holder: null, over: null };
    const [, [found = null]] = await Promise.all([tx.lock(`blacklist:${row.id}`), tx.db.$select("BlacklistRecord", holds)]);
    const isOver = found !== null && found.expiresAt !== null && found.expiresAt <= tx.now;
    return isOver ? { holder: null, over: found } : { holder: found, over: null };
  }

  /** Expire a record past its end that the sweep has not come by. */
  async function expire(tx: Tx, row: BlacklistRecord): Promise<void> {
    await change(tx, row, { status: "expired", activeKey: null }, { action: "blacklist.expire", permission: "system.act" });
  }

  /**
   * @param over what is expired to make room
   * @param isLast whether the transaction takes no lock after it
   */
  async function insert(
    tx: Tx,
    draft: RecordDraft,
    note: ChangeNote,
    { over, isLast }: { over: BlacklistRecord | null; isLast: boolean },
  ): Promise<RecordChange> {
    if (over !== null) await expire(tx, over);
    const unnumbered = rowOf(tx.now, draft, 0, serversKey);
    // Matches come before numbers everywhere: anyone who holds a number waits for nothing but numbers.
    const [concerned, number] = await Promise.all([
      matches.concernedBy(tx, toMatchRecord(unnumbered, tx.now), isLast),
      nextNumber(tx, "blacklist", { isLast }),
    ]);
    const row = { ...unnumbered, number };
    return { row, matches: await applySideEffects(tx, [{ before: null, row, note }], { concerned }) };
  }

  return {
    change,
    expire,
    findHolder,

    async changeAll(tx: Tx, all: readonly ChangedRecord[]): Promise<void> {
      await updateRows(tx, all);
      await applySideEffects(tx, all);
    },

    async lockSubjects(tx: Tx, drafts: readonly RecordDraft[]): Promise<void> {
      const keys = [...new Set(drafts.map(activeKeyOf))].toSorted();
      for (const key of keys) await tx.lock(`blacklist:${key}`);
      if (keys.length < 2) return;
      const holders = await tx.db.blacklistRecord.findMany({
        where: { activeKey: { in: keys } },
        select: { id: true },
        orderBy: { id: "asc" },
      });
      for (const { id } of holders) await tx.lock(`blacklist:${id}`);
    },

    async create(tx: Tx, draft: RecordDraft, note: ChangeNote): Promise<RecordChange> {
      const { holder, over } = await findHolder(tx, activeKeyOf(draft));
      if (holder === null) return insert(tx, draft, note, { over, isLast: true });
      throw new ProblemError("duplicate_active_record", {
        detail: say("blacklist.this-subject-has-an-active-record-in"),
        ...(can(tx.call, "blacklist.read") && { extra: { reference: referenceOf(holder) } }),
      });
    },

    async createOrMerge(tx: Tx, draft: RecordDraft, note: ChangeNote): Promise<RecordChange & { isMerged: boolean }> {
      const { holder, over } = await findHolder(tx, activeKeyOf(draft));
      if (holder === null) return { ...(await insert(tx, draft, note, { over, isLast: false })), isMerged: false };
      const merged = await change(tx, holder, mergedFields(holder, draft, tx.now), { ...note, action: "blacklist.merge" });
      return { ...merged, isMerged: true };
    },
  };
}

/** What takes a record back, no matter who does. */
export function revocation({ call, now }: Tx, reason: string): Changes {
  return { status: "revoked", activeKey: null, revokedAt: now, revokedBy: call.actor?.id ?? null, revokeReason: reason };
}

/** What is unique among the records that count: one for each subject and scope. */
export function activeKeyOf(record: { kind: string; subjectId: string; scope: string }): string {
  return `${record.kind}:${record.subjectId}:${record.scope}`;
}

/** A new record as it is stored; what is absent in the draft has its default. */
export function rowOf(now: Date, draft: RecordDraft, number: number, serversKey: Buffer): BlacklistRecord {
  const startsAt = draft.startsAt ?? now;
  const isServer = draft.kind === "server";
  return {
    id: uuid7(now.getTime()),
    number,
    kind: draft.kind,
    subjectId: draft.subjectId,
    subjectHash: isServer ? keyedHash(serversKey, draft.subjectId) : null,
    subjectName: draft.subjectName ?? null,
    scope: draft.scope,
    serverIds: [...(draft.serverIds ?? [])],
    activeKey: activeKeyOf(draft),
    category: draft.category,
    severity: draft.severity,
    severityOrder: severities.indexOf(draft.severity),
    status: startsAt > now ? "scheduled" : "active",
    reasonPublic: draft.reasonPublic ?? null,
    reasonInternal: draft.reasonInternal ?? null,
    recommendedAction: draft.recommendedAction === undefined ? defaultActions[draft.severity] : draft.recommendedAction,
    memberPolicy: draft.memberPolicy === undefined && isServer ? "flag" : (draft.memberPolicy ?? null),
    gracePeriod: draft.gracePeriod === undefined && isServer ? defaultGrace : (draft.gracePeriod ?? null),
    exemptUserIds: [...(draft.exemptUserIds ?? [])],
    includeAlts: draft.includeAlts ?? "confirmed",
    evidence: [...(draft.evidence ?? [])] as Prisma.JsonArray,
    tags: [...(draft.tags ?? [])],
    source: draft.source,
    originReference: draft.originReference ?? null,
    createdBy: draft.createdBy,
    approvedBy: [...(draft.approvedBy ?? [])],
    supersedesId: draft.supersedesId ?? null,
    startsAt,
    expiresAt: draft.expiresAt ?? null,
    reviewAt: draft.reviewAt === undefined ? addSeconds(now, reviewAfter) : draft.reviewAt,
    reviewToldFor: null,
    lastReviewedAt: null,
    revokedAt: null,
    revokedBy: null,
    revokeReason: null,
    createdAt: now,
    updatedAt: now,
    revision: 1,
  };
}

/** The newest pieces, each once: the same report told twice adds nothing. */
function withEvidence(held: readonly object[], added: readonly object[]): object[] {
  const known = new Set(held.map(canonical));
  return [...held, ...added.filter((piece) => !known.has(canonical(piece)))].slice(-50);
}

function widerOf(held: string, added: string | undefined): string {
  return added !== undefined && altChoices.indexOf(added) > altChoices.indexOf(held) ? added : held;
}

/** What a merge changes of a record. */
export function mergedFields(holder: BlacklistRecord, draft: RecordDraft, now: Date): Changes {
  const isRaised = severities.indexOf(draft.severity) > holder.severityOrder;
  const end = draft.expiresAt ?? null;
  const keepsEnd = holder.expiresAt === null || (end !== null && end <= holder.expiresAt);
  const startsNow = holder.startsAt > now;
  return {
    evidence: withEvidence(holder.evidence as object[], draft.evidence ?? []),
    approvedBy: [...new Set([...(holder.approvedBy as string[]), ...(draft.approvedBy ?? [])])],
    serverIds: [...new Set([...(holder.serverIds as string[]), ...(draft.serverIds ?? [])])],
    ...(isRaised && {
      severity: draft.severity,
      severityOrder: severities.indexOf(draft.severity),
      recommendedAction: draft.recommendedAction ?? defaultActions[draft.severity],
    }),
    ...(!keepsEnd && { expiresAt: end }),
    includeAlts: widerOf(holder.includeAlts, draft.includeAlts),
    ...(startsNow && { startsAt: now }),
    ...(startsNow && holder.status === "scheduled" && { status: "active" }),
  };
}
