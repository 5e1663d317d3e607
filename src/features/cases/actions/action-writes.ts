import { say } from "../../../kit/say.ts";
import type { PermissionKey } from "../../../kernel/permissions.ts";
import { z } from "zod";
import type { ReadClient, TransactionClient, Tx } from "../../../database/database.ts";
import { insertRows } from "../../../database/insert.ts";
import type { CaseAction } from "../../../generated/sqlite/client.ts";
import { recordNotFound } from "../../../kernel/errors.ts";
import { isoOrNull } from "../../../kernel/fields.ts";
import { uuid7 } from "../../../kernel/ids.ts";
import type { Undone } from "../../../kernel/undo.ts";
import { isInForce } from "./actions.policy.ts";
import type { ActionKind, NoticeState } from "./actions.schema.ts";
import { wholeCase, type WholeCase } from "../cases.policy.ts";
import { requireMove } from "../states.ts";
import type { createLedger, Fall } from "./ledger.ts";
import type { CaseNews, CaseRecords } from "../records.ts";

/** An action that an approved request leads to. Without an end it is in force permanently. */
export interface RequestedAction {
  kind: ActionKind;
  userId: string;
  points: number;
  reason: string;
  expiresAt: Date | null;
  originReference: string;
  effectRef?: string | undefined;
  /** The permission that approved it. */
  permission: PermissionKey;
}

const Recorded = z.strictObject({ action_id: z.string() });
const text = z.string().nullable();
const fall = z.strictObject({ sum: z.int(), dismissed: z.array(z.int()) });
const Voided = z.strictObject({ action_id: z.string(), voided_at: z.string(), voided_by: text, reason: z.string(), fall });
const Reduced = z.strictObject({ action_id: z.string(), points: z.tuple([z.int(), z.int()]), expires_at: z.tuple([text, text]), fall });

/** An action with what takes back what was done to it. */
export interface Undoable<Undo> {
  action: CaseAction;
  undo: Undo;
}

type Reader = Pick<ReadClient | TransactionClient, "caseAction">;

/** Actions as parts of other features' transactions. Those features have checked rights, ranks and conflicts. */
export function createActionsInTx({ records, ledger }: ActionWritesDeps) {
  const { loadForUpdate, change, recordChange } = createActionWrites({ records, ledger });

  async function voidInTx(tx: Tx, actionId: string, note: ActionNote): Promise<Undoable<z.infer<typeof Voided>> | null> {
    const found = await loadForUpdate(tx, actionId);
    if (found === null || found.action.voidedAt !== null) return null;
    const voidedBy = tx.call.actor?.id ?? null;
    const columns = { voidedAt: tx.now, voidedBy, voidReason: note.reason };
    const changed = await change(tx, found, columns, { ...note, action: "case.action_void" });
    const undo = { action_id: actionId, voided_at: tx.now.toISOString(), voided_by: voidedBy, reason: note.reason };
    return { action: changed.action, undo: { ...undo, fall: changed.fall } };
  }

  return {
    /** The caller has checked who may know of its case. */
    findAction: (db: Reader, id: string) => db.caseAction.findUnique({ where: { id }, include: { case: { select: { number: true } } } }),

    /**
     * Keep what was done about a person in a case that is worked on; nothing is done by it.
     * @throws ProblemError record_not_found, invalid_transition
     */
    async recordInTx(tx: Tx, caseId: string, input: RequestedAction): Promise<Undoable<z.infer<typeof Recorded>>> {
      const { permission, reason, effectRef = null, ...columns } = input;
      await tx.lock(`case:${caseId}`);
      const row = await wholeCase(tx, await tx.db.case.findUnique({ where: { id: caseId } }));
      if (row === null || row.deletedAt !== null) throw recordNotFound();
      requireMove(row.status, "action");
      await ledger.lock(tx, input.userId);
      const made = { id: uuid7(tx.now.getTime()), caseId, at: tx.now, byId: tx.call.actor?.id ?? null };
      const action: CaseAction = { ...columns, ...made, reason, effectRef, notice: null, voidedAt: null, voidedBy: null, voidReason: null };
      await insertRows(tx, "CaseAction", [action]);
      await recordChange(tx, row, action, { action: "case.action", permission, reason, after: countedOf(action) });
      const added = pointsAt(action, tx.now);
      if (added > 0) await ledger.suggest(tx, row, action.userId, added);
      return { action, undo: { action_id: action.id } };
    },

    /** Keep with an action what became of the message to the person about it. */
    async noticeInTx(tx: Tx, actionId: string, notice: NoticeState): Promise<void> {
      await tx.db.caseAction.updateMany({ where: { id: actionId }, data: { notice } });
    },

    /** Take back what `recordInTx` did: the action counts no longer. @param undo as it answered it */
    async undoRecordInTx(tx: Tx, undo: unknown, note: ActionNote): Promise<Undone> {
      const voided = await voidInTx(tx, Recorded.parse(undo).action_id, note);
      if (voided === null) return { restored: false, detail: say("cases.the-action-was-voided-or-deleted-already") };
      return { restored: true, detail: say("cases.the-action-was-voided") };
    },

    /** Let an action count no longer; null, with nothing done, where it is voided or deleted already. */
    voidInTx,

    /** Take back what `voidInTx` did: the action counts again, until its end. @param undo as it answered it */
    async undoVoidInTx(tx: Tx, undo: unknown, note: ActionNote): Promise<Undone> {
      const { action_id: actionId, voided_at: at, voided_by: by, reason, fall: before } = Voided.parse(undo);
      const found = await loadForUpdate(tx, actionId);
      if (found === null) return { restored: false, detail: say("cases.the-action-was-deleted") };
      const { voidedAt, voidedBy, voidReason } = found.action;
      if (voidedAt?.toISOString() !== at || voidedBy !== by || voidReason !== reason)
        return { restored: false, detail: say("cases.the-action-is-voided-no-longer-or") };
      const columns = { voidedAt: null, voidedBy: null, voidReason: null };
      const { action } = await change(tx, found, columns, { ...note, action: "case.action_restore" }, before);
      return {
        restored: true,
        detail: isInForce(action, tx.now) ? say("cases.the-action-counts-again") : say("cases.the-action-would-count-again-but-for"),
      };
    },

    /**
     * Change what an action counts for, or until when; an end that is not ahead ends it. What is absent stays.
     * @returns null, with nothing done, where it is voided or deleted
     */
    async reduceInTx(
      tx: Tx,
      actionId: string,
      reduction: { points?: number | undefined; expiresAt?: Date | null | undefined },
      note: ActionNote,
    ) {
      const found = await loadForUpdate(tx, actionId);
      if (found === null || found.action.voidedAt !== null) return null;
      const { action: before } = found;
      const { points = before.points, expiresAt = before.expiresAt } = reduction;
      const isSame = points === before.points && expiresAt?.getTime() === before.expiresAt?.getTime();
      const news = { ...note, action: "case.action_change" } as const;
      const changed = isSame ? { action: before, fall: { sum: 0, dismissed: [] } } : await change(tx, found, { points, expiresAt }, news);
      const ends: [string | null, string | null] = [isoOrNull(before.expiresAt), isoOrNull(expiresAt)];
      const counts: [number, number] = [before.points, points];
      const undo: z.infer<typeof Reduced> = { action_id: actionId, points: counts, expires_at: ends, fall: changed.fall };
      return { action: changed.action, undo };
    },

    /** Take back what `reduceInTx` did, as far as nobody changed it since. @param undo as it answered it */
    async undoReduceInTx(tx: Tx, undo: unknown, note: ActionNote): Promise<Undone> {
      const { action_id: actionId, points, expires_at: ends, fall: before } = Reduced.parse(undo);
      const found = await loadForUpdate(tx, actionId);
      if (found === null) return { restored: false, detail: say("cases.the-action-was-deleted") };
      const { action } = found;
      if (action.voidedAt !== null) return { restored: false, detail: say("cases.the-action-was-voided-since") };
      const [hasPoints, hasEnd] = [action.points === points[1], isoOrNull(action.expiresAt) === ends[1]];
      const columns = {
        ...(hasPoints && points[0] !== points[1] && { points: points[0] }),
        ...(hasEnd && ends[0] !== ends[1] && { expiresAt: ends[0] === null ? null : new Date(ends[0]) }),
      };
      if (Object.keys(columns).length > 0) await change(tx, found, columns, { ...note, action: "case.action_change" }, before);
      if (hasPoints && hasEnd) return { restored: true, detail: say("cases.the-action-counts-as-it-did-before") };
      return { restored: false, detail: say("cases.what-was-changed-since-stays-as-it") };
    },
  };
}

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
  /** An action with its case under the case's lock; null once they were deleted permanently. */
  async function loadForUpdate(tx: Tx, actionId: string): Promise<Found | null> {
    const found = await tx.db.caseAction.findUnique({ where: { id: actionId }, select: { caseId: true } });
    if (found === null) return null;
    await tx.lock(`case:${found.caseId}`);
    const action = await tx.db.caseAction.findUnique({ where: { id: actionId } });
    const row = await wholeCase(tx, await tx.db.case.findUnique({ where: { id: found.caseId } }));
    return action === null || row === null ? null : { action, row };
  }

  async function recordChange(
    tx: Tx,
    row: WholeCase,
    action: CaseAction,
    news: ActionNote & Pick<CaseNews, "action" | "before" | "after">,
  ) {
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
    await recordChange(tx, row, action, { ...news, before: countedOf(was), after: countedOf(action) });
    const added = pointsAt(action, tx.now) - pointsAt(was, tx.now);
    const dismissed = added < 0 ? await ledger.dismissFallen(tx, userId) : [];
    // What lies in the bin adds nothing.
    if (added > 0 && row.deletedAt === null) await ledger.suggest(tx, row, userId, added, before);
    return { action, fall: { sum, dismissed } };
  }

  return { loadForUpdate, change, recordChange };
}

/** The points that an action adds to the ledger at a moment. */
export function pointsAt(action: CaseAction, now: Date): number {
  return isInForce(action, now) ? action.points : 0;
}

/** What of an action counts, as the audit tells it. */
export function countedOf({ id, kind, points, expiresAt }: CaseAction): object {
  return { action_id: id, kind, points, expires_at: isoOrNull(expiresAt) };
}
