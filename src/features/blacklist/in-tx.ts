import { say } from "../../kit/say.ts";
import type { Changes } from "./bulk.ts";
import type { ChangeNote } from "./side-effects.ts";
import { type Severity, severities } from "../../kernel/vocabulary.ts";
import type { ReadClient, TransactionClient, Tx } from "../../database/database.ts";
import type { BlacklistRecord, Prisma } from "../../generated/sqlite/client.ts";
import { fieldError } from "../../kernel/errors.ts";
import { withKey, type Opening } from "./open.ts";
import { isLive, statusAt, numbersFor, presentRecord } from "./blacklist.policy.ts";
import { activeKeyOf, defaultActions, revocation, type BlacklistRecords, type RecordChange, type RecordDraft } from "./records.ts";
import type { UndoNote, Undone } from "../../kernel/undo.ts";
import { z } from "zod";
import { listed } from "../../kernel/words.ts";
import { canonical } from "./same.ts";
import type { BlacklistView } from "./blacklist.schema.ts";

/**
 * What is needed to take a change of a record back: the record and its revisions around the change. What its fields were stands in
 * its history, so that nothing of a record is kept where erasing the record does not reach it.
 */
const BlacklistUndo = z.strictObject({
  record_id: z.string(),
  what: z.enum(["create", "change", "revoke"]),
  /** 0 where the change made the record. */
  before: z.int().nonnegative(),
  after: z.int().positive(),
});
type BlacklistUndo = z.infer<typeof BlacklistUndo>;

/** What became of an attempt to take a change of a record back. */
interface UndoneRecord extends Undone {
  /** The record as it is now; null once it was erased. */
  row: BlacklistRecord | null;
}

/** The fields that are put back, and the columns that hold them. */
const columns: { readonly [Field in keyof BlacklistView]?: (view: BlacklistView) => Changes } = {
  server_ids: (view) => ({ serverIds: view.server_ids }),
  severity: ({ severity }) => ({ severity, severityOrder: severities.indexOf(severity) }),
  reason_public: (view) => ({ reasonPublic: view.reason_public }),
  reason_internal: (view) => ({ reasonInternal: view.reason_internal ?? null }),
  recommended_action: (view) => ({ recommendedAction: view.recommended_action }),
  include_alts: ({ include_alts: includeAlts }) => (includeAlts === undefined ? {} : { includeAlts }),
  evidence: (view) => ({ evidence: view.evidence as Prisma.InputJsonValue[] }),
  tags: (view) => ({ tags: view.tags }),
  approved_by: (view) => ({ approvedBy: view.approved_by }),
  starts_at: (view) => ({ startsAt: new Date(view.starts_at) }),
  expires_at: (view) => ({ expiresAt: timeOf(view.expires_at) }),
  review_at: (view) => ({ reviewAt: timeOf(view.review_at) }),
};

/** What taking a change back writes; the names of fields that somebody changed since, which stay. */
interface Restoring {
  changes: Changes;
  kept: readonly string[];
}

/**
 * What takes a change of a record back, field by field.
 * @returns null when the history of the record is gone
 */
async function restoringOf(tx: Tx, row: BlacklistRecord, { before, after }: BlacklistUndo): Promise<Restoring | null> {
  const [was, written] = [await versionOf(tx, row.id, before), await versionOf(tx, row.id, after)];
  if (was === null || written === null) return null;
  const is = presentRecord(row, tx.now, await numbersFor(tx.db, [row]));
  const isSame = (one: BlacklistView, other: BlacklistView, field: keyof BlacklistView) =>
    canonical(one[field]) === canonical(other[field]);
  const changed = (Object.keys(columns) as (keyof BlacklistView)[]).filter((field) => !isSame(was, written, field));
  const restored = changed.filter((field) => isSame(is, written, field) && !(field === "starts_at" && isOverBefore(was, is)));
  const changes: Changes = Object.assign({}, ...restored.map((field) => columns[field]?.(was)));
  const isScheduled = restored.includes("starts_at") && row.status !== "suspended" && new Date(was.starts_at) > tx.now;
  return {
    changes: { ...changes, ...(isScheduled && { status: "scheduled" }) },
    kept: changed.filter((field) => !restored.includes(field)),
  };
}

/** How an attempt went, in words: all of it, or all but what somebody changed since. */
function resultOf(kept: readonly string[]): Undone {
  if (kept.length === 0) return { restored: true, detail: say("blacklist.the-record-is-as-it-was-before") };
  return { restored: false, detail: say("blacklist.what-was-changed-since-stays-as-it", { kept: listed(kept) }) };
}

async function versionOf(tx: Tx, recordId: string, revision: number): Promise<BlacklistView | null> {
  const row = await tx.db.blacklistVersion.findUnique({ where: { recordId_revision: { recordId, revision } } });
  return row === null ? null : (row.snapshot as unknown as BlacklistView);
}

/** Whether the end that a record has now comes before the start it had then. */
function isOverBefore(was: BlacklistView, { expires_at: end }: BlacklistView): boolean {
  return end !== null && new Date(end) <= new Date(was.starts_at);
}

function timeOf(at: string | null): Date | null {
  return at === null ? null : new Date(at);
}

/** A change that can be taken back. */
export interface UndoableChange extends RecordChange {
  undo: BlacklistUndo;
}

/** A milder verdict: what is absent stays, an end of null is none. */
export interface Reduction {
  severity?: Severity | undefined;
  expiresAt?: Date | null | undefined;
}

type Reader = Pick<ReadClient | TransactionClient, "$select">;
const erased = { restored: false, detail: say("blacklist.the-record-was-erased"), row: null };
const ended = (row: BlacklistRecord): UndoneRecord => ({
  restored: false,
  detail: say("blacklist.the-record-does-not-count-any-more"),
  row,
});

/** Records as parts of other features' transactions. Those features have checked rights, ranks and conflicts. */
export function createInTx(records: BlacklistRecords, opening: Pick<Opening, "requireImpartial">) {
  /** A record under its lock, or null once it was erased. */
  async function lockInTx(tx: Tx, id: string): Promise<BlacklistRecord | null> {
    await tx.lock(`blacklist:${id}`);
    return await tx.db.blacklistRecord.findUnique({ where: { id } });
  }

  async function changeInTx(tx: Tx, row: BlacklistRecord, changes: Changes, note: ChangeNote): Promise<UndoableChange> {
    const changed = await records.change(tx, row, changes, note);
    const what = note.action === "blacklist.revoke" ? "revoke" : "change";
    return { ...changed, undo: { record_id: row.id, what, before: row.revision, after: changed.row.revision } };
  }

  /** Have a record count again, unless it would have expired or another one holds its subject and scope. */
  async function revive(tx: Tx, row: BlacklistRecord, changes: Changes, note: UndoNote): Promise<UndoneRecord> {
    const { startsAt, expiresAt } = { ...row, ...changes } as BlacklistRecord;
    if (expiresAt !== null && expiresAt <= tx.now)
      return { restored: false, detail: say("blacklist.the-record-would-have-expired-meanwhile"), row };
    const { holder, over } = await records.findHolder(tx, activeKeyOf(row));
    if (holder !== null && holder.id !== row.id)
      return { restored: false, detail: say("blacklist.another-record-lists-the-subject-in-this"), row };
    if (over !== null && over.id !== row.id) await records.expire(tx, over);
    const again = { status: startsAt > tx.now ? "scheduled" : "active", activeKey: activeKeyOf(row) };
    const unrevoked = { revokedAt: null, revokedBy: null, revokeReason: null };
    const { row: revived } = await records.change(
      tx,
      row,
      { ...changes, ...again, ...unrevoked },
      { ...note, action: "blacklist.restore" },
    );
    return { restored: true, detail: say("blacklist.the-record-counts-again"), row: revived };
  }

  /** Put the fields back that a change wrote and nobody changed since. */
  async function putBack(tx: Tx, row: BlacklistRecord, undo: BlacklistUndo, note: UndoNote): Promise<UndoneRecord> {
    const restoring = await restoringOf(tx, row, undo);
    if (restoring === null) return erased;
    const { changes, kept } = restoring;
    const result = resultOf(kept);
    if (isLive(row, tx.now)) {
      if (Object.keys(changes).length === 0) return { ...result, row };
      const changed = await records.change(tx, row, changes, { ...note, action: "blacklist.update" });
      return { ...result, row: changed.row };
    }
    // Only what ended by an earlier end than it had comes back with it.
    const isEarly = changes.expiresAt !== undefined && (row.status === "expired" || row.activeKey !== null);
    if (!isEarly) return ended(row);
    const revived = await revive(tx, row, changes, note);
    return revived.restored ? { ...result, row: revived.row } : revived;
  }

  return {
    lockInTx,

    /** @param key number such as `BL-000123`, or id; the caller has checked who may know of the record */
    async findForReference(db: Reader, key: string): Promise<BlacklistRecord | null> {
      const [row = null] = await db.$select("BlacklistRecord", withKey(key));
      return row;
    },

    /** Make a record, or strengthen the active one. */
    async createInTx(tx: Tx, draft: RecordDraft, note: ChangeNote): Promise<UndoableChange & { isMerged: boolean }> {
      const made = await records.createOrMerge(tx, draft, note);
      const { id, revision } = made.row;
      const what = made.isMerged ? "change" : "create";
      return { ...made, undo: { record_id: id, what, before: revision - 1, after: revision } };
    },

    /**
     * Take back what `createInTx` did: the record it made is revoked, whatever became of it; what it changed of another one and
     * nobody changed since is put back.
     * @param undo as `createInTx` answered it
     */
    async undoCreateInTx(tx: Tx, undo: unknown, note: UndoNote): Promise<UndoneRecord> {
      const parsed = BlacklistUndo.parse(undo);
      const row = await lockInTx(tx, parsed.record_id);
      if (row === null) return erased;
      if (!isLive(row, tx.now)) return ended(row);
      if (parsed.what !== "create") return await putBack(tx, row, parsed, note);
      const { row: revoked } = await records.change(tx, row, revocation(tx, note.reason), { ...note, action: "blacklist.revoke" });
      return { restored: true, detail: say("blacklist.the-record-was-revoked"), row: revoked };
    },

    /** Take a record back; null, with nothing done, for one that does not count. */
    async revokeInTx(tx: Tx, id: string, note: UndoNote): Promise<UndoableChange | null> {
      const row = await lockInTx(tx, id);
      if (row === null || !isLive(row, tx.now)) return null;
      return await changeInTx(tx, row, revocation(tx, note.reason), { ...note, action: "blacklist.revoke" });
    },

    /**
     * Have a record not count for now; false, with nothing done, for one that does not count anyway. It counts again with `resumeInTx`.
     * @throws ProblemError conflict_of_interest, hierarchy_violation
     */
    async suspendInTx(tx: Tx, id: string, note: UndoNote): Promise<boolean> {
      const row = await lockInTx(tx, id);
      if (row === null || !isLive(row, tx.now)) return false;
      await opening.requireImpartial(tx, row);
      if (row.status !== "suspended") await records.change(tx, row, { status: "suspended" }, { ...note, action: "blacklist.suspend" });
      return true;
    },

    /** Have a suspended record count again; one whose time is over meanwhile has ended. */
    async resumeInTx(tx: Tx, id: string, note: UndoNote): Promise<void> {
      const row = await lockInTx(tx, id);
      if (row === null || statusAt(row, tx.now) !== "suspended") return;
      const status = row.startsAt > tx.now ? "scheduled" : "active";
      await records.change(tx, row, { status }, { ...note, action: "blacklist.resume" });
    },

    /**
     * Change how severe a record is, or when it ends; null, with nothing done, for one that does not count.
     * @throws ProblemError validation_failed when it would be over before it starts
     */
    async reduceInTx(tx: Tx, id: string, reduction: Reduction, note: UndoNote): Promise<UndoableChange | null> {
      const row = await lockInTx(tx, id);
      if (row === null || !isLive(row, tx.now)) return null;
      const changes = reducedFields(row, reduction, tx.now);
      if (Object.keys(changes).length > 0) return await changeInTx(tx, row, changes, { ...note, action: "blacklist.update" });
      const undo = { record_id: row.id, what: "change", before: row.revision, after: row.revision } as const;
      return { row, matches: { added: 0, changed: 0, removed: 0 }, undo };
    },

    /**
     * Take back what `revokeInTx` or `reduceInTx` did.
     * @param undo as they answered it
     */
    async undoChangeInTx(tx: Tx, undo: unknown, note: UndoNote): Promise<UndoneRecord> {
      const parsed = BlacklistUndo.parse(undo);
      const found = await tx.db.blacklistRecord.findUnique({ where: { id: parsed.record_id } });
      if (found === null) return erased;
      // In the order in which anyone who makes a record takes them: its subject and scope, then the record that holds them.
      await tx.lock(`blacklist:${activeKeyOf(found)}`);
      const row = await lockInTx(tx, parsed.record_id);
      if (row === null) return erased;
      if (parsed.what !== "revoke") return await putBack(tx, row, parsed, note);
      if (row.revision !== parsed.after) return { restored: false, detail: say("blacklist.the-record-was-changed-since-it-was"), row };
      return await revive(tx, row, {}, note);
    },
  };
}

/** What a reduction changes. An action that followed from the severity follows it down. */
function reducedFields(row: BlacklistRecord, { severity, expiresAt }: Reduction, now: Date): Changes {
  if (expiresAt instanceof Date && (expiresAt <= row.startsAt || expiresAt <= now))
    throw fieldError("/expires_at", "invalid_value", say("blacklist.the-record-would-end-before-it-starts"));
  const isOther = severity !== undefined && severity !== row.severity;
  const follows = row.recommendedAction === defaultActions[row.severity as Severity];
  return {
    ...(isOther && { severity, severityOrder: severities.indexOf(severity) }),
    ...(isOther && follows && { recommendedAction: defaultActions[severity] }),
    ...(expiresAt !== undefined && expiresAt?.getTime() !== row.expiresAt?.getTime() && { expiresAt }),
  };
}
