import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import type { Tx, ReadClient } from "../../../database/database.ts";
import { conditionOf } from "../../../database/where.ts";
import { Prisma } from "../../../generated/sqlite/client.ts";
import { requirePermission, requireWrite, type Call, can } from "../../../kernel/call.ts";
import { fieldError, ProblemError, recordNotFound } from "../../../kernel/errors.ts";
import { toPage, withTotal, type Page } from "../../../kernel/page.ts";
import type { AuditService } from "../../audit/audit.service.ts";
import { createLedger, type LedgerDeps, type Threshold } from "./ledger.ts";
import { actionsPolicy, presentAction, inForceWhere, ledgerWhere, overWhere } from "./actions.policy.ts";
import {
  ListActionsQuery,
  RecordActionInput,
  VoidActionInput,
  type ActionView,
  ListStrikesQuery,
  type StrikesNotes,
} from "./actions.schema.ts";
import { createActionsInTx } from "./action-writes.ts";
import { requireOutranks, byKey, eventPermission, type Ranks, type WholeCase, clientWhere, visibleWhere } from "../cases.policy.ts";
import { createCaseRecords, findVisible, type CaseRecords } from "../records.ts";
import type { CasesService } from "../cases.service.ts";
import type { DraftCauses } from "../../workflows/drafts/drafts.policy.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { orderOf } from "../../../kernel/keyset.ts";
import { parseDuration } from "../../../kernel/fields.ts";
import { uuid7 } from "../../../kernel/ids.ts";

interface StrikesDeps extends Deps<"database" | "reach" | "cursors" | "clock"> {
  access: Ranks;
  thresholds: readonly Threshold[];
  viewerOf: CaseRecords["viewerOf"];
}

/** The ledger of strikes as a caller may see it. */
function createStrikes({ database, access, reach, thresholds, cursors, clock, viewerOf }: StrikesDeps) {
  /** The accounts whose ledger is asked for; null where one is staff's and the caller may not read their discipline. */
  async function accountsOf(call: Call, userId: string, withAlts: boolean): Promise<string[] | null> {
    if (withAlts) requirePermission(call, actionsPolicy.alts);
    const userIds = withAlts ? [userId, ...(await reach.linkedAccountsOf(database.read, userId))] : [userId];
    const isReadable = can(call, actionsPolicy.discipline) || !userIds.some((id) => access.of(id).isStaff);
    return isReadable ? userIds : null;
  }

  async function notesOf(wanted: Prisma.CaseActionWhereInput, now: Date): Promise<StrikesNotes> {
    const inForce = await sumOf(database.read, { AND: [wanted, inForceWhere(now)] });
    return {
      points_in_force: inForce,
      points_total: await sumOf(database.read, { AND: [wanted, { voidedAt: null }] }),
      next_threshold: thresholds.find(({ points }) => points > inForce) ?? null,
    };
  }

  return {
    /**
     * What carries points in cases the caller may see, newest first. Of staff only for those who may read their discipline: for
     * others the page is empty and says so.
     * @throws ProblemError permission_denied, invalid_cursor
     */
    async strikes(call: Call, userId: string, query: ListStrikesQuery): Promise<Page<ActionView>> {
      requirePermission(call, actionsPolicy.read);
      const { limit, cursor, count, ...filters } = ListStrikesQuery.parse(query);
      const userIds = await accountsOf(call, userId, filters.include_alts === "true");
      if (userIds === null) return { data: [], limit, next_cursor: null, notes: { withheld: actionsPolicy.discipline } };
      const now = clock.now();
      const bound = { userId, ...filters };
      const seen = { case: clientWhere(visibleWhere(await viewerOf(call, database.read))) };
      const ledger: Prisma.CaseActionWhereInput = { AND: [ledgerWhere(userIds), seen] };
      const told = { true: inForceWhere(now), false: overWhere(now) };
      const wanted = { AND: [ledger, filters.in_force === undefined ? {} : told[filters.in_force]] };
      const position = cursor === undefined ? undefined : cursors.decode("strikes", bound, cursor);
      const rows = await database.read.caseAction.findMany({
        where: { AND: [wanted, position === undefined ? {} : latestFirst.after(position)] },
        include: { case: { select: { number: true } } },
        orderBy: latestFirst.orderBy,
        take: limit + 1,
      });
      const page = toPage(
        rows,
        limit,
        (row) => presentAction(row, row.case.number, now),
        (last) => cursors.encode("strikes", bound, latestFirst.of(last)),
      );
      const counted = await withTotal(page, { count }, () => database.read.caseAction.count({ where: wanted }));
      return { ...counted, notes: await notesOf(ledger, now) };
    },
  };
}

async function sumOf(db: ReadClient, where: Prisma.CaseActionWhereInput): Promise<number> {
  return (await db.caseAction.aggregate({ where, _sum: { points: true } }))._sum.points ?? 0;
}

type Recorded = ReturnType<typeof RecordActionInput.parse>;

/** The row of what a caller records. @throws ProblemError when it would be over already */
function rowOf({ call, now }: Tx, caseId: string, userId: string, input: Recorded): Prisma.CaseActionUncheckedCreateInput {
  return {
    id: uuid7(now.getTime()),
    caseId,
    kind: input.kind,
    userId,
    points: input.points ?? (input.kind === "strike" ? 1 : 0),
    reason: input.reason,
    at: now,
    byId: call.actor?.id ?? null,
    expiresAt: endOf(input, now),
    effectRef: input.effect_ref ?? null,
  };
}

function endOf({ duration, expires_at: at }: Recorded, now: Date): Date | null {
  if (typeof duration === "string") return addSeconds(now, parseDuration(duration) ?? 0);
  if (typeof at !== "string") return null;
  const end = new Date(at);
  if (end <= now) throw fieldError("/expires_at", "invalid_value", say("cases.the-end-lies-in-the-past"));
  return end;
}

/** How actions are listed. */
const latestFirst = orderOf("at", "desc");

export type ActionsService = ReturnType<typeof createActionsService>;

export interface ActionsDeps extends Deps<"database" | "events" | "reach" | "cursors" | "clock" | "logger"> {
  audit: AuditService;
  cases: Pick<CasesService, "hiddenTo">;
  drafts: LedgerDeps["drafts"];
  /** How staff stand towards each other, known without I/O. */
  access: Ranks;
  /** From how many points in force a punishment is suggested, rising. */
  thresholds: readonly Threshold[];
}

/** What is done about people in cases, and the ledger of strikes that comes of it. */
export function createActionsService(deps: ActionsDeps) {
  const { database, access, reach, cursors, clock } = deps;
  const records = createCaseRecords(deps);
  const ledger = createLedger(deps);

  /** Whom an action is about. @throws ProblemError validation_failed, hierarchy_violation */
  async function personOf(tx: Tx, row: WholeCase, named: string | undefined): Promise<string> {
    const users = row.subjects.filter(({ kind }) => kind === "user").map(({ subjectId }) => subjectId);
    const userId = named ?? (users.length === 1 ? users[0] : undefined);
    if (userId === undefined) throw fieldError("/user_id", "required", say("cases.the-case-is-not-about-one-user"));
    const isAbout = users.includes(userId) || (await reach.linkedAccountsOf(tx.db, userId)).some((id) => users.includes(id));
    if (!isAbout) throw fieldError("/user_id", "not_a_subject", say("cases.the-case-is-about-neither-this-user"));
    requireOutranks(tx.call, access, { subjects: [{ kind: "user", subjectId: userId }] });
    return userId;
  }

  return {
    ...createStrikes({ ...deps, viewerOf: records.viewerOf }),
    sweep: ledger.sweep,
    causes: createCauses(deps),
    ...createActionsInTx({ records, ledger }),

    /**
     * Keep what was done about a person; nothing is done by it.
     * @throws ZodError, ProblemError record_not_found, conflict_of_interest, hierarchy_violation, invalid_transition
     */
    async record(call: Call, caseKey: string, input: RecordActionInput): Promise<ActionView> {
      requireWrite(call, actionsPolicy.write);
      const parsed = RecordActionInput.parse(input, { reportInput: true });
      return await database.write(call, async (tx) => {
        const row = await records.open(tx, caseKey, actionsPolicy.write, { move: "action" });
        const userId = await personOf(tx, row, parsed.user_id);
        await ledger.lock(tx, userId);
        const action = await tx.db.caseAction.create({ data: rowOf(tx, row.id, userId, parsed) });
        const { kind, points } = action;
        await records.touch(tx, row, {
          action: "case.action",
          permission: actionsPolicy.write,
          subjectUserId: userId,
          ...(!row.isConfidential && { reason: action.reason }),
          after: { action_id: action.id, kind, points, expires_at: action.expiresAt?.toISOString() ?? null },
        });
        if (points > 0) await ledger.suggest(tx, row, userId, points);
        return presentAction(action, row.number, tx.now);
      });
    },

    /** Let an action count no longer; it stays readable. @throws ProblemError as `record`, invalid_transition when it is voided already */
    async void(call: Call, caseKey: string, actionId: string, input: VoidActionInput): Promise<ActionView> {
      requireWrite(call, actionsPolicy.write);
      const { reason } = VoidActionInput.parse(input, { reportInput: true });
      return await database.write(call, async (tx) => {
        // A mistake can come out long after the case was closed.
        const row = await records.open(tx, caseKey, actionsPolicy.write, { move: "keep" });
        const found = await tx.db.caseAction.findUnique({ where: { id: actionId, caseId: row.id } });
        if (found === null) throw recordNotFound();
        requireOutranks(call, access, { subjects: [{ kind: "user", subjectId: found.userId }] });
        if (found.voidedAt !== null)
          throw new ProblemError("invalid_transition", { extra: { from: "voided", action: "void", allowed: [] } });
        const data = { voidedAt: tx.now, voidedBy: call.actor?.id ?? null, voidReason: reason };
        const action = await tx.db.caseAction.update({ where: { id: found.id }, data });
        await records.touch(tx, row, {
          action: "case.action_void",
          permission: actionsPolicy.write,
          subjectUserId: action.userId,
          ...(!row.isConfidential && { reason }),
          before: { action_id: action.id, kind: action.kind, points: action.points },
        });
        await ledger.dismissFallen(tx, action.userId);
        return presentAction(action, row.number, tx.now);
      });
    },

    /** What was done in a case, newest first. @throws ProblemError permission_denied, record_not_found, invalid_cursor */
    async list(call: Call, caseKey: string, query: ListActionsQuery): Promise<Page<ActionView>> {
      requirePermission(call, actionsPolicy.read);
      const { limit, cursor, count } = ListActionsQuery.parse(query);
      const { id: caseId, number } = await findVisible(database, await records.viewerOf(call, database.read), caseKey);
      const now = clock.now();
      const position = cursor === undefined ? undefined : cursors.decode("case_actions", { caseId }, cursor);
      const rows = await database.read.caseAction.findMany({
        where: { AND: [{ caseId }, position === undefined ? {} : latestFirst.after(position)] },
        orderBy: latestFirst.orderBy,
        take: limit + 1,
      });
      const page = toPage(
        rows,
        limit,
        (row) => presentAction(row, number, now),
        (last) => cursors.encode("case_actions", { caseId }, latestFirst.of(last)),
      );
      return withTotal(page, { count }, () => database.read.caseAction.count({ where: { caseId } }));
    },
  };
}

/** Whose business it is what cases suggest: of a confidential one, only those who may know of it. */
export function createCauses({ cases }: { cases: Pick<CasesService, "hiddenTo"> }): DraftCauses {
  return {
    async knownWhere(call) {
      const isHidden = conditionOf("Case", await cases.hiddenTo(call), "c");
      const hidden = Prisma.sql`SELECT 1 FROM cases AS c WHERE c.number = t.case_number AND ${isHidden} LIMIT 1`;
      // Of `IS NULL` PostgreSQL expects to hold for one row in two hundred, and would sort all drafts instead of walking to a few.
      return { sql: Prisma.sql`((${hidden}) IS DISTINCT FROM 1)` };
    },

    async permissionFor(db, reference) {
      const row = await db.case.findFirst({ where: byKey(reference), select: { isConfidential: true } });
      return row === null ? undefined : eventPermission(row);
    },
  };
}
