import type { Database, ReadClient, Tx, TransactionClient } from "../../database/database.ts";
import type { Prisma } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { requirePermission } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import { caseReference } from "../../kernel/stored.ts";
import type { DraftsService } from "../workflows/drafts.service.ts";
import { actionsPolicy, inForceWhere, ledgerWhere } from "./actions.policy.ts";
import type { WholeCase } from "./cases.policy.ts";

/** From how many points in force which punishment is suggested. */
export interface Threshold {
  points: number;
  action: string;
}

export interface LedgerDeps {
  database: Database;
  drafts: Pick<DraftsService, "suggestWithin" | "dismissWithin" | "openKeys">;
  /** Rising. */
  thresholds: readonly Threshold[];
  clock: Clock;
}

type Reader = Pick<ReadClient | TransactionClient, "caseAction">;
const prefix = "strikes:";

/** Points in force of one account in all cases, hidden ones included, unless told. */
async function pointsOf(db: Reader, userId: string, now: Date, only: Prisma.CaseActionWhereInput = {}): Promise<number> {
  const where = { AND: [ledgerWhere([userId]), inForceWhere(now), only] };
  return (await db.caseAction.aggregate({ where, _sum: { points: true } }))._sum.points ?? 0;
}

/** The confidential case that points of one account come from, the youngest of them first. */
async function secretCauseOf(db: Reader, userId: string, now: Date): Promise<number | undefined> {
  const row = await db.caseAction.findFirst({
    where: { AND: [ledgerWhere([userId]), inForceWhere(now), { case: { isConfidential: true } }] },
    orderBy: [{ at: "desc" }, { id: "desc" }],
    select: { case: { select: { number: true } } },
  });
  return row?.case.number;
}

/** What points in force lead to: suggestions, never penalties. */
export function createLedger({ database, drafts, thresholds, clock }: LedgerDeps) {
  /** Dismiss what is suggested for more points than are in force. */
  async function dismissFallen(tx: Tx, userId: string): Promise<number> {
    await tx.lock(`${prefix}${userId}`);
    const keys = await drafts.openKeys(tx.db, `${prefix}${userId}:`);
    if (keys.length === 0) return 0;
    const points = await pointsOf(tx.db, userId, tx.now);
    const fallen = keys.filter((key) => Number(key.split(":")[2]) > points);
    if (fallen.length === 0) return 0;
    return await drafts.dismissWithin(tx, fallen, "Its ground is gone: fewer points are in force.");
  }

  return {
    dismissFallen,

    /** Hold a person's ledger until the end of the transaction. Before points are added to it. */
    lock: (tx: Tx, userId: string): Promise<void> => tx.lock(`${prefix}${userId}`),

    /** Suggest a punishment when points that were added brought the sum to a threshold: the highest, if it passed several. */
    async suggest(tx: Tx, row: WholeCase, userId: string, added: number): Promise<void> {
      const points = await pointsOf(tx.db, userId, tx.now);
      const reached = thresholds.findLast((threshold) => points - added < threshold.points && threshold.points <= points);
      if (reached === undefined) return;
      const open = row.isConfidential ? points : await pointsOf(tx.db, userId, tx.now, { case: { isConfidential: false } });
      // Where confidential cases tip the scale, only those who may know of them may know of the sum.
      const secret = open < reached.points ? await secretCauseOf(tx.db, userId, tx.now) : undefined;
      const told = secret === undefined ? open : points;
      const cause = `${counted(told)} in force; from ${reached.points.toString()} on, ${reached.action} is suggested.`;
      const reference = caseReference(secret ?? row.number);
      const isNamed = !row.isConfidential && secret === undefined;
      await drafts.suggestWithin(tx, {
        type: "punishment",
        // A request can be read by more people than a confidential case: it never names one.
        payload: { user_id: userId, action: reached.action, reason: cause, ...(isNamed && { case_reference: reference }) },
        subject: { kind: "user", id: userId },
        cause,
        causeReference: reference,
        openKey: `${prefix}${userId}:${reached.points.toString()}`,
      });
    },

    /** Dismiss suggestions whose points have expired since. For the job that runs each minute. @returns how many */
    async sweep(call: Call): Promise<number> {
      requirePermission(call, actionsPolicy.sweep);
      const keys = await drafts.openKeys(database.read, prefix);
      const userIds = [...new Set(keys.map((key) => key.split(":")[1] ?? ""))];
      let dismissed = 0;
      for (const userId of userIds) {
        const points = await pointsOf(database.read, userId, clock.now());
        const isFallen = keys.some((key) => key.startsWith(`${prefix}${userId}:`) && Number(key.split(":")[2]) > points);
        if (isFallen) dismissed += await database.write(call, (tx) => dismissFallen(tx, userId));
      }
      return dismissed;
    },
  };
}

/** `1 point is`, `3 points are`. */
function counted(points: number): string {
  return points === 1 ? "1 point is" : `${points.toString()} points are`;
}
