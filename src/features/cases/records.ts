import type { Deps } from "../deps.ts";
import type { PermissionKey } from "../../kernel/permissions.ts";
import type { Database, Tx } from "../../database/database.ts";
import { nextNumber } from "../../database/counter.ts";
import { insertRows } from "../../database/insert.ts";
import type { Case, CaseSubject, Prisma } from "../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { recordNotFound } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { caseReference } from "../../kernel/parsing.ts";
import { wordsOf } from "../../kernel/words.ts";
import { requireRevision } from "../../kernel/revision.ts";
import type { EventType } from "../events/types.ts";
import type { LinkReader } from "../links/reach.ts";
import {
  byKey,
  canSee,
  eventPermission,
  requireImpartial,
  requireOutranks,
  soleUserOf,
  wholeCase,
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

/** A new case with what belongs to it, without what it gets when it is written. */
export interface NewCase {
  fields: Omit<Case, "id" | "number" | "createdAt" | "updatedAt" | "revision" | Ending>;
  subjects: readonly Omit<CaseSubject, "caseId">[];
  team: readonly string[];
  labels: readonly string[];
}

type Ending = "outcome" | "outcomeReason" | "closedBy" | "closedAt" | "deletedAt" | "deletedBy";
const notEnded = { outcome: null, outcomeReason: null, closedBy: null, closedAt: null, deletedAt: null, deletedBy: null };

export interface CaseRecords {
  viewerOf(call: Call, db: LinkReader): Promise<Viewer>;
  /**
   * A case for work on it: under its lock, with what belongs to it, for a caller who may see it, is not in it and outranks those who are.
   * @param key id or number
   * @throws ProblemError permission_denied, record_not_found, conflict_of_interest, hierarchy_violation, precondition_failed,
   * invalid_transition
   */
  open(tx: Tx, key: string, permission: PermissionKey, options?: OpenOptions): Promise<WholeCase>;
  /** Something was added to a case read by `open`: it counts as changed now, in the same revision. */
  touch(tx: Tx, row: WholeCase, news: CaseNews): Promise<void>;
  /** Make a case. Its number is taken here: whatever else the transaction locks, it locks before. */
  insert(tx: Tx, given: NewCase, newsOf: (row: WholeCase) => CaseNews): Promise<WholeCase>;
  /** Change the fields of a case read by `open`. */
  change(tx: Tx, row: WholeCase, fields: Prisma.CaseUncheckedUpdateInput, news: CaseNews): Promise<WholeCase>;
}

/** Cases inside a given transaction: who may work on one, and what is told of a change. */
export function createCaseRecords({ audit, events, access, reach }: CaseRecordsDeps): CaseRecords {
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

    async open(tx: Tx, key: string, permission: PermissionKey, options: OpenOptions = {}): Promise<WholeCase> {
      const { move = "update", ifMatch, isDeleted = false } = options;
      requirePermission(tx.call, permission);
      const found = await tx.db.case.findFirst({ where: byKey(key), select: { id: true } });
      if (found === null) throw recordNotFound();
      await tx.lock(`case:${found.id}`);
      const row = await wholeCase(tx, await tx.db.case.findUnique({ where: { id: found.id } }));
      const viewer = await viewerOf(tx.call, tx.db);
      if (row === null || (row.deletedAt !== null) !== isDeleted || !canSee(viewer, row)) throw recordNotFound();
      requireImpartial(viewer, row);
      requireOutranks(tx.call, access, row);
      requireRevision(ifMatch, row.revision);
      requireMove(row.status, move);
      return row;
    },

    async touch(tx: Tx, row: WholeCase, news: CaseNews): Promise<void> {
      if (row.updatedAt < tx.now) await tx.db.case.updateMany({ where: { id: row.id }, data: { updatedAt: tx.now } });
      row.updatedAt = tx.now;
      recordChange(tx, row, news);
    },

    async insert(tx: Tx, { fields, subjects, team, labels }: NewCase, newsOf: (row: WholeCase) => CaseNews): Promise<WholeCase> {
      const id = uuid7(tx.now.getTime());
      const made: Case = {
        ...fields,
        ...notEnded,
        id,
        number: await numberOf(tx, fields),
        createdAt: tx.now,
        updatedAt: tx.now,
        revision: 1,
      };
      const row: WholeCase = {
        ...made,
        subjects: inOrder(
          subjects.map((subject) => ({ caseId: id, ...subject })),
          ({ kind, subjectId }) => `${kind} ${subjectId}`,
        ),
        members: inOrder(
          team.map((userId) => ({ caseId: id, userId })),
          ({ userId }) => userId,
        ),
        labels: inOrder(
          labels.map((label) => ({ caseId: id, label })),
          ({ label }) => label,
        ),
        links: [],
      };
      tx.insert([
        { model: "Case", rows: [made] },
        { model: "CaseSubject", rows: row.subjects },
        { model: "CaseMember", rows: row.members },
        { model: "CaseLabel", rows: row.labels },
        { model: "CaseWord", rows: wordRows(id, "case", row.title) },
      ]);
      recordChange(tx, row, { ...newsOf(row), event: "case.opened" });
      return row;
    },

    async change(tx: Tx, row: WholeCase, fields: Prisma.CaseUncheckedUpdateInput, news: CaseNews): Promise<WholeCase> {
      const data = { ...fields, revision: row.revision + 1, updatedAt: tx.now };
      const changed = await wholeCase(tx, await tx.db.case.update({ where: { id: row.id }, data }));
      if (changed === null) throw recordNotFound();
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
async function numberOf(tx: Tx, { isConfidential }: Pick<Case, "isConfidential">): Promise<number> {
  return isConfidential ? confidentialFrom + (await nextNumber(tx, "case:confidential")) : await nextNumber(tx, "case");
}

/** Keep the words of one text of a case, in place of those it had. @param source `case` or the id of a note */
export async function keepWords(tx: Tx, caseId: string, source: string, text: string): Promise<void> {
  await tx.db.caseWord.deleteMany({ where: { caseId, source } });
  await insertRows(tx, "CaseWord", wordRows(caseId, source, text));
}

/** The words of one text of a case, as rows. @param source `case` or the id of a note */
export function wordRows(caseId: string, source: string, text: string): { caseId: string; source: string; word: string }[] {
  return wordsOf(text).map((word) => ({ caseId, source, word }));
}

function inOrder<Row>(rows: readonly Row[], keyOf: (row: Row) => string): Row[] {
  return rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/** The names of fields without their content. */
function hidden(fields: object): object {
  return Object.fromEntries(Object.keys(fields).map((field) => [field, "(hidden)"]));
}

/** A case for reading. @throws ProblemError record_not_found for one that is not there, is in the bin, or is not for the viewer */
export async function findVisible(database: Pick<Database, "dialect" | "read">, viewer: Viewer, key: string): Promise<WholeCase> {
  const found = await database.read.case.findFirst({ where: { ...byKey(key), deletedAt: null } });
  const row = await wholeCase({ db: database.read, dialect: database.dialect }, found);
  if (row === null || !canSee(viewer, row)) throw recordNotFound();
  return row;
}
