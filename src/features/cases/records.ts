import type { Deps } from "../deps.ts";
import type { PermissionKey } from "../../kernel/permissions.ts";
import type { Database, Tx } from "../../database/database.ts";
import { nextNumber } from "../../database/counter.ts";
import type { Prisma } from "../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { ProblemError, recordNotFound } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { caseReference } from "../../kernel/parsing.ts";
import { wordsOf } from "../../kernel/words.ts";
import type { EventType } from "../events/types.ts";
import type { LinkReader } from "../links/reach.ts";
import {
  byKey,
  canSee,
  eventPermission,
  requireImpartial,
  requireOutranks,
  soleUserOf,
  whole,
  type Ranks,
  type Viewer,
  type WholeCase,
} from "./cases.policy.ts";
import { requireMove, type CaseMove } from "./states.ts";

export interface CaseRecordsDeps extends Deps<"audit" | "events" | "reach"> {
  access: Ranks;
}

/** What is done to a case, as its audit and its event tell it. */
export interface CaseNews {
  /** `case.verb`, such as `case.note`. */
  action: `case.${string}`;
  permission: PermissionKey;
  /** `case.updated` by default. */
  event?: Extract<EventType, `case.${string}`>;
  reason?: string | undefined;
  /** The person it was done to; the only person the case is about by default. */
  subjectUserId?: string;
  before?: object;
  after?: object;
}

export interface OpenOptions {
  /** What is to be done; `update` by default. */
  move?: CaseMove;
  /** The revision the caller knows. */
  ifMatch?: number | undefined;
  /** Whether it is one in the bin that is wanted. */
  isDeleted?: boolean;
}

/** The row of a new case, without what is counted. */
export type NewCase = Omit<Prisma.CaseUncheckedCreateInput, "id" | "number" | "createdAt" | "updatedAt" | "revision">;

export type CaseRecords = ReturnType<typeof createCaseRecords>;

/** Cases inside a given transaction: who may work on one, and what is told of a change. */
export function createCaseRecords({ audit, events, access, reach }: CaseRecordsDeps) {
  /** Who asks, with their further accounts. */
  async function viewerOf(call: Call, db: LinkReader): Promise<Viewer> {
    return { call, accounts: call.actor === null ? [] : await reach.linkedAccountsOf(db, call.actor.id) };
  }

  /** Nothing of a confidential case stands in the audit but the names of what changed. */
  function recordChange(tx: Tx, row: WholeCase, news: CaseNews): void {
    const { action, permission, event = "case.updated", reason, before, after } = news;
    const subjectUserId = row.isConfidential ? null : (news.subjectUserId ?? soleUserOf(row));
    const shown = (fields: object): object => (row.isConfidential ? hidden(fields) : fields);
    const number = caseReference(row.number);
    audit.record(tx, {
      action,
      target: { kind: "case", id: row.id, reference: number },
      ...(subjectUserId !== null && { subjectUserId }),
      ...(reason !== undefined && { reason }),
      ...(before !== undefined && { before: shown(before) }),
      ...(after !== undefined && { after: shown(after) }),
      permission,
    });
    const narrowed = eventPermission(row);
    events.emit(tx, {
      type: event,
      data: { id: row.id, number, type: row.type, status: row.status, change: action.slice("case.".length) },
      ...(narrowed !== undefined && { permission: narrowed }),
    });
  }

  return {
    viewerOf,

    /**
     * A case for work on it: under its lock, with what belongs to it, for a caller who may see it, is not in it and outranks those who are.
     * @param key id or number
     * @throws ProblemError permission_denied, record_not_found, conflict_of_interest, hierarchy_violation, precondition_failed,
     * invalid_transition
     */
    async open(tx: Tx, key: string, permission: PermissionKey, options: OpenOptions = {}): Promise<WholeCase> {
      const { move = "update", ifMatch, isDeleted = false } = options;
      requirePermission(tx.call, permission);
      const found = await tx.db.case.findFirst({ where: byKey(key), select: { id: true } });
      if (found === null) throw recordNotFound();
      await tx.lock(`case:${found.id}`);
      const row = await tx.db.case.findUnique({ where: { id: found.id }, include: whole });
      const viewer = await viewerOf(tx.call, tx.db);
      if (row === null || (row.deletedAt !== null) !== isDeleted || !canSee(viewer, row)) throw recordNotFound();
      requireImpartial(viewer, row);
      requireOutranks(tx.call, access, row);
      if (ifMatch !== undefined && ifMatch !== row.revision) {
        throw new ProblemError("precondition_failed", { extra: { current_etag: `"v${row.revision.toString()}"` } });
      }
      requireMove(row.status, move);
      return row;
    },

    /** Something was added to a case read by `open`: it counts as changed now, in the same revision. */
    async touch(tx: Tx, row: WholeCase, news: CaseNews): Promise<void> {
      await tx.db.case.update({ where: { id: row.id }, data: { updatedAt: tx.now } });
      recordChange(tx, row, news);
    },

    /** Make a case. Its number is taken here: whatever else the transaction locks, it locks before. */
    async insert(tx: Tx, fields: NewCase, newsOf: (row: WholeCase) => CaseNews): Promise<WholeCase> {
      const id = uuid7(tx.now.getTime());
      const data = { ...fields, id, number: await numberOf(tx, fields), createdAt: tx.now, updatedAt: tx.now };
      const row = await tx.db.case.create({ data, include: whole });
      await keepWords(tx, id, "case", row.title);
      recordChange(tx, row, { ...newsOf(row), event: "case.opened" });
      return row;
    },

    /** Change the fields of a case read by `open`. */
    async change(tx: Tx, row: WholeCase, fields: Prisma.CaseUncheckedUpdateInput, news: CaseNews): Promise<WholeCase> {
      const data = { ...fields, revision: row.revision + 1, updatedAt: tx.now };
      const changed = await tx.db.case.update({ where: { id: row.id }, data, include: whole });
      if (changed.title !== row.title) await keepWords(tx, row.id, "case", changed.title);
      // What was confidential before the change stays so in what is told of it.
      recordChange(tx, { ...changed, isConfidential: changed.isConfidential || row.isConfidential }, news);
      return changed;
    },
  };
}

/** Where the numbers of confidential cases begin. */
const confidentialFrom = 900_000_000;

/**
 * Cases that are confidential from the beginning are counted apart: among the others they would leave a gap, by which their subjects
 * would learn that there is one.
 */
async function numberOf(tx: Tx, { isConfidential }: Pick<NewCase, "isConfidential">): Promise<number> {
  return isConfidential ? confidentialFrom + (await nextNumber(tx, "case:confidential")) : await nextNumber(tx, "case");
}

/** Keep the words of one text of a case, in place of those it had. @param source `case` or the id of a note */
export async function keepWords(tx: Tx, caseId: string, source: string, text: string): Promise<void> {
  await tx.db.caseWord.deleteMany({ where: { caseId, source } });
  const words = wordsOf(text);
  if (words.length > 0) await tx.db.caseWord.createMany({ data: words.map((word) => ({ caseId, source, word })) });
}

/** The names of fields without their content. */
function hidden(fields: object): object {
  return Object.fromEntries(Object.keys(fields).map((field) => [field, "(hidden)"]));
}

/** A case for reading. @throws ProblemError record_not_found for one that is not there, is in the bin, or is not for the viewer */
export async function findVisible(database: Pick<Database, "read">, viewer: Viewer, key: string): Promise<WholeCase> {
  const row = await database.read.case.findFirst({ where: { ...byKey(key), deletedAt: null }, include: whole });
  if (row === null || !canSee(viewer, row)) throw recordNotFound();
  return row;
}
