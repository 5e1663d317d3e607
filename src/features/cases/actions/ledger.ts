import { say, term } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import type { ReadClient, Tx, TransactionClient } from "../../../database/database.ts";
import type { Prisma } from "../../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../../kernel/call.ts";
import { forEachIsolated, requireNoneFailed } from "../../../kernel/isolated.ts";
import { caseReference } from "../../../kernel/parsing.ts";
import type { DraftRecords } from "../../workflows/drafts/records.ts";
import { actionsPolicy, inForceWhere, ledgerWhere } from "./actions.policy.ts";
import type { WholeCase } from "../cases.policy.ts";

/** From how many points in force which punishment is suggested. */
export interface Threshold {
  points: number;
  action: string;
}

/** What came of points that count no longer. */
export interface Fall {
  /** All points in force before. */
  sum: number;
  /** For how many points each of the suggestions was that were dismissed. */
  dismissed: number[];
}

export interface LedgerDeps extends Deps<"database" | "clock" | "logger"> {
  drafts: Pick<DraftRecords, "suggestInTx" | "dismissInTx" | "openKeys">;
  /** Rising. */
  thresholds: readonly Threshold[];
}

type Reader = Pick<ReadClient | TransactionClient, "caseAction">;
const prefix = "strikes:";

/** Points in force of one account in all cases, hidden ones included, by default. */
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
export function createLedger({ database, drafts, thresholds, clock, logger }: LedgerDeps) {
  /** Dismiss what is suggested for more points than are in force. @returns for how many points it was */
  async function dismissFallen(tx: Tx, userId: string): Promise<number[]> {
    await tx.lock(`${prefix}${userId}`);
    const keys = await drafts.openKeys(tx.db, `${prefix}${userId}:`);
    if (keys.length === 0) return [];
    const points = await pointsOf(tx.db, userId, tx.now);
    const fallen = keys.filter((key) => thresholdOf(key) > points);
    if (fallen.length > 0) await drafts.dismissInTx(tx, fallen, say("cases.its-ground-is-gone-fewer-points-are"));
    return fallen.map(thresholdOf);
  }

  async function suggestOne(tx: Tx, row: WholeCase, userId: string, points: number, reached: Threshold): Promise<void> {
    const open = row.isConfidential ? points : await pointsOf(tx.db, userId, tx.now, { case: { isConfidential: false } });
    // Where confidential cases tip the scale, only those who may know of them may know of the sum.
    const secret = open < reached.points ? await secretCauseOf(tx.db, userId, tx.now) : undefined;
    const told = secret === undefined ? open : points;
    const cause = say("cases.points-in-force", { points: told, threshold: reached.points, action: term(reached.action) });
    const caseNumber = secret ?? row.number;
    const reference = caseReference(caseNumber);
    const isNamed = !row.isConfidential && secret === undefined;
    await drafts.suggestInTx(tx, {
      type: "punishment",
      // A request can be read by more people than a confidential case: it never names one.
      payload: { user_id: userId, action: reached.action, reason: cause, ...(isNamed && { case_reference: reference }) },
      subject: { kind: "user", id: userId },
      cause,
      causeReference: reference,
      caseNumber,
      openKey: `${prefix}${userId}:${reached.points.toString()}`,
    });
  }

  return {
    dismissFallen,

    /** All points in force of an account. */
    sumOf: (tx: Tx, userId: string): Promise<number> => pointsOf(tx.db, userId, tx.now),

    /** Hold a person's ledger until the end of the transaction. Before points are added to it. */
    lock: (tx: Tx, userId: string): Promise<void> => tx.lock(`${prefix}${userId}`),

    /**
     * Suggest a punishment when points that were added brought the sum to a threshold: the highest, if it passed several.
     * @param fall what came of points that went and are back now: what it dismissed is suggested again, and nothing that was not
     */
    async suggest(tx: Tx, row: WholeCase, userId: string, added: number, fall: Fall = { sum: 0, dismissed: [] }): Promise<void> {
      const points = await pointsOf(tx.db, userId, tx.now);
      const passed = thresholds.filter((threshold) => points - added < threshold.points && threshold.points <= points);
      const reached = passed.findLast((threshold) => threshold.points > fall.sum);
      for (const threshold of passed) {
        const isWanted = threshold === reached || fall.dismissed.includes(threshold.points);
        if (isWanted) await suggestOne(tx, row, userId, points, threshold);
      }
    },

    /** Dismiss suggestions whose points have expired since. For the job that runs each minute. @returns how many */
    async sweep(call: Call): Promise<number> {
      requirePermission(call, actionsPolicy.sweep);
      const keys = await drafts.openKeys(database.read, prefix);
      const userIds = [...new Set(keys.map((key) => key.split(":")[1] ?? ""))];
      let dismissed = 0;
      const work = async (userId: string): Promise<void> => {
        const points = await pointsOf(database.read, userId, clock.now());
        const isFallen = keys.some((key) => key.startsWith(`${prefix}${userId}:`) && thresholdOf(key) > points);
        if (isFallen) dismissed += (await database.write(call, (tx) => dismissFallen(tx, userId))).length;
      };
      const failure = "suggestions whose points are over could not be dismissed; it is tried again in a minute";
      requireNoneFailed(await forEachIsolated(userIds, work, { logger, failure, idsOf: (userId) => ({ user_id: userId }) }));
      return dismissed;
    },
  };
}

function thresholdOf(openKey: string): number {
  return Number(openKey.split(":")[2]);
}
