import type { Deps } from "../../deps.ts";
import type { Logger } from "pino";
import { inBatches } from "../../../kernel/pause.ts";
import { requirePermission, type Call } from "../../../kernel/call.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { partByPart } from "../../../kernel/isolated.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import { auditPermissions } from "./audit.policy.ts";
import { midnightBefore, type AuditRuns } from "./runs.ts";
import { auditCodes } from "./audit.schema.ts";

/** How long reports are kept. */
const keptDays = 90;
const daySeconds = 86_400;
const deletedAtOnce = 500;
/** Of a night that nothing comes of. */
const maxAttempts = 3;

export interface NightlyDeps extends Deps<"database" | "clock"> {
  runs: AuditRuns;
  hour: number | null;
  logger: Logger;
}

/** The audit by night, and what time does to reports. */
export function createNightly({ database, runs, hour, clock, logger }: NightlyDeps) {
  const { read } = database;

  /** Once per day (UTC), as the kept runs say, and never for an empty roster. */
  async function isDue(): Promise<boolean> {
    const now = clock.now();
    if (hour === null || now.getUTCHours() !== hour || (await runs.running()) !== null) return false;
    const where = { trigger: "nightly", startedAt: { gte: midnightBefore(now) } };
    const tonight = await read.rosterAudit.findMany({ where, select: { status: true } });
    if (tonight.length >= maxAttempts || tonight.some(({ status }) => status !== "failed")) return false;
    return (await read.rosterEntry.findFirst({ select: { id: true } })) !== null;
  }

  /** A part of the findings of old reports, then a part of the reports: none is deleted in one go with all it found. */
  async function forget(call: Call): Promise<number> {
    const startedAt = { lt: addSeconds(clock.now(), -keptDays * daySeconds) };
    const findings = await inBatches(deletedAtOnce, async () => {
      const old = await read.rosterAudit.findMany({ where: { startedAt }, select: { id: true }, take: 100 });
      const where = { auditId: { in: old.map(({ id }) => id) } };
      const rows = await read.rosterFinding.findMany({ where, select: { id: true }, take: deletedAtOnce });
      const isLeft = rows.length > 0 || old.length > 0;
      if (!isLeft) return 0;
      await database.write(call, async ({ db }) => {
        await db.rosterFinding.deleteMany({ where: { id: { in: rows.map(({ id }) => id) } } });
        if (rows.length < deletedAtOnce) await db.rosterAudit.deleteMany({ where: { id: { in: old.map(({ id }) => id) } } });
      });
      return rows.length < deletedAtOnce && old.length < 100 ? rows.length : deletedAtOnce;
    });
    const over = { until: { lte: clock.now() } };
    if ((await read.rosterAcknowledgement.findFirst({ where: over, select: { key: true } })) !== null)
      await database.write(call, ({ db }) => db.rosterAcknowledgement.deleteMany({ where: over }));
    return findings;
  }

  /** @returns how many runs were made */
  async function runWhenDue(call: Call): Promise<number> {
    if (!(await isDue())) return 0;
    try {
      await runs.run(call, { scope: {}, codes: auditCodes, trigger: "nightly" });
    } catch (error) {
      if (!(error instanceof ProblemError) || error.code !== "sync_in_progress") throw error;
      logger.info("another audit of the roster runs: the nightly one waits a minute");
      return 0;
    }
    return 1;
  }

  return {
    /**
     * The audit of the night when its hour has come; runs that were interrupted are ended, and old reports deleted.
     * @returns how many runs were made
     */
    async sweep(call: Call): Promise<number> {
      requirePermission(call, auditPermissions.sweep);
      const { made } = await partByPart({
        ended: () => runs.endAbandoned(call),
        forgotten: () => forget(call),
        made: () => runWhenDue(call),
      });
      return made;
    },
  };
}
