import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import type { ReadClient, Tx } from "../../../database/database.ts";
import type { Prisma } from "../../../generated/sqlite/client.ts";
import { can, requirePermission, type Call } from "../../../kernel/call.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { orderOf } from "../../../kernel/keyset.ts";
import { toPage, withTotal, type Page } from "../../../kernel/page.ts";
import type { Threshold } from "./ledger.ts";
import { actionsPolicy, inForceWhere, ledgerWhere, overWhere, presentAction } from "./actions.policy.ts";
import { ListStrikesQuery, type ActionView, type StrikesNotes, type RecordActionInput } from "./actions.schema.ts";
import { clientWhere, visibleWhere, type Ranks } from "../cases.policy.ts";
import type { CaseRecords } from "../records.ts";
import { fieldError } from "../../../kernel/errors.ts";
import { parseDuration } from "../../../kernel/fields.ts";
import { uuid7 } from "../../../kernel/ids.ts";

export interface StrikesDeps extends Deps<"database" | "reach" | "cursors" | "clock"> {
  access: Ranks;
  thresholds: readonly Threshold[];
  viewerOf: CaseRecords["viewerOf"];
}

/** The ledger of strikes as a caller may see it. */
export function createStrikes({ database, access, reach, thresholds, cursors, clock, viewerOf }: StrikesDeps) {
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
export function rowOf({ call, now }: Tx, caseId: string, userId: string, input: Recorded): Prisma.CaseActionUncheckedCreateInput {
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
export const latestFirst = orderOf("at", "desc");
