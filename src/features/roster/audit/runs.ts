import { say } from "../../../kit/say.ts";
import type { Claims } from "../../../cluster/claims.ts";
import type { Deps } from "../../deps.ts";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Logger } from "pino";
import type { Tx } from "../../../database/database.ts";
import { insertRows } from "../../../database/insert.ts";
import type { RosterAudit } from "../../../generated/sqlite/client.ts";
import type { Call } from "../../../kernel/call.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import { forEachIsolated, requireNoneFailed } from "../../../kernel/isolated.ts";
import { uuid7 } from "../../../kernel/ids.ts";
import { auditChecks } from "./checks.ts";
import { auditPermissions, openCodes, type StoredChecks } from "./audit.policy.ts";
import type { createScan, Scan, ScannedFinding } from "./scan.ts";
import type { AuditCode, AuditScope } from "./audit.schema.ts";

/** Rows of one transaction or statement. */
const atOnce = 100;

export interface RunsDeps extends Deps<"database" | "audit" | "events" | "clock"> {
  scan: ReturnType<typeof createScan>;
  /** Whether every guild has been read to its end, and nothing was missed since. */
  isGuildStateReliable(): boolean;
  logger: Logger;
  /** Where other processes run audits, too. */
  claims: Claims | undefined;
}

/** What is looked for, and of whom. */
export interface WantedRun {
  scope: AuditScope;
  codes: readonly AuditCode[];
  trigger: "request" | "nightly";
}

/** A finding beside what the run before says of it. */
export type ComparedFinding = ScannedFinding & { isNew: boolean; since: Date };

/** A run that has looked at everybody. */
export interface FinishedRun {
  checks: StoredChecks;
  startedAt: Date;
  membersScanned: number;
  findings: ComparedFinding[];
  /** The run before. */
  former: RosterAudit | null;
  /** The keys of what it found. */
  formerKeys: ReadonlySet<string>;
}

export interface AuditRuns {
  running(): Promise<string | null>;
  /** Look without keeping anything. @throws ProblemError sync_in_progress */
  look(wanted: WantedRun): Promise<FinishedRun>;
  /**
   * Look, and keep what was found. The last transaction is the one a repeated request is answered from.
   * @returns the id of the run
   * @throws ProblemError sync_in_progress
   */
  run(
    call: Call,
    wanted: WantedRun,
  ): Promise<{
    id: string;
  }>;
  /** End runs that another start of the service began and did not end. @returns how many */
  endAbandoned(call: Call): Promise<number>;
}

const claimed = "roster audit";

/** Runs of the audit, one at a time. */
export function createAuditRuns({ database, audit, events, scan, isGuildStateReliable, clock, logger, claims }: RunsDeps): AuditRuns {
  let current: { id: string } | null = null;

  function checksFor(codes: readonly AuditCode[]): StoredChecks {
    const isReliable = isGuildStateReliable();
    const isLeftOut = (code: AuditCode): boolean => !isReliable && auditChecks[code].needsDiscord === true;
    return { run: codes.filter((code) => !isLeftOut(code)), skipped: codes.filter(isLeftOut) };
  }

  async function look({ scope, codes }: Pick<WantedRun, "scope" | "codes">, startedAt: Date): Promise<FinishedRun> {
    const checks = checksFor(codes);
    const { findings, membersScanned } = await scan(database.read, { scope, codes: checks.run }, startedAt);
    // The guilds may have been cut off meanwhile: what was seen of them counts for nothing then.
    if (checks.skipped.length === 0 && checksFor(codes).skipped.length > 0) return await look({ scope, codes }, startedAt);
    const former = await database.read.rosterAudit.findFirst({
      where: { comparison: comparisonOf(scope, checks), status: "done" },
      orderBy: [{ startedAt: "desc" }, { id: "desc" }],
    });
    const known = former === null ? new Map<string, Date>() : await sincesOf(former.id);
    const compared = findings.map((one) => ({ ...one, isNew: !known.has(one.key), since: known.get(one.key) ?? startedAt }));
    return { checks, startedAt, membersScanned, findings: compared, former, formerKeys: new Set(known.keys()) };
  }

  async function sincesOf(auditId: string): Promise<Map<string, Date>> {
    const found = new Map<string, Date>();
    for (let after = -1; ;) {
      const where = { auditId, position: { gt: after } };
      const select = { key: true, since: true, position: true } as const;
      const rows = await database.read.rosterFinding.findMany({ where, select, orderBy: { position: "asc" }, take: 500 });
      for (const { key, since } of rows) found.set(key, since);
      await nextTurn();
      const last = rows.at(-1);
      if (last === undefined) return found;
      after = last.position;
    }
  }

  async function begin(call: Call, id: string, wanted: WantedRun, startedAt: Date): Promise<void> {
    await database.write(call, async (tx) => {
      if (wanted.trigger === "nightly") await requireFirst(tx, startedAt);
      const checks = checksFor(wanted.codes);
      await tx.db.rosterAudit.create({
        data: {
          id,
          scope: wanted.scope,
          checks,
          comparison: comparisonOf(wanted.scope, checks),
          status: "running",
          trigger: wanted.trigger,
          actorId: call.actor?.id ?? null,
          startedAt,
          summary: {},
        },
      });
    });
  }

  /** Another process over the same database may have had the same thought. @throws ProblemError sync_in_progress */
  async function requireFirst(tx: Tx, startedAt: Date): Promise<void> {
    await tx.lock("roster-audit-night");
    const where = { trigger: "nightly", startedAt: { gte: midnightBefore(startedAt) }, status: { not: "failed" } };
    if ((await tx.db.rosterAudit.findFirst({ where, select: { id: true } })) !== null) throw new ProblemError("sync_in_progress");
  }

  async function keep(call: Call, id: string, { findings, startedAt }: FinishedRun): Promise<void> {
    for (let from = 0; from < findings.length; from += atOnce) {
      const rows = findings.slice(from, from + atOnce).map((finding, index) => rowOf(id, finding, from + index, startedAt));
      await database.write(call, (tx) => insertRows(tx, "RosterFinding", rows));
      await nextTurn();
    }
  }

  /** @throws ProblemError sync_in_progress when the run was ended by somebody else, who took its findings away */
  async function finish(tx: Tx, id: string, run: FinishedRun, { scope, trigger }: WantedRun): Promise<RosterAudit> {
    if ((await tx.db.rosterAudit.updateMany({ where: { id, status: "running" }, data: { status: "done" } })).count === 0)
      throw new ProblemError("sync_in_progress", { detail: say("roster.the-run-was-ended-by-another-one"), retryAfter: 5 });
    const counts = countsOf(run.findings);
    const keys = new Set(run.findings.map(({ key }) => key));
    const resolved = [...run.formerKeys].filter((key) => !keys.has(key));
    // Who may audit may not learn of every kind: what is told to all of them counts only the open ones.
    const open = (codes: readonly string[]): number => codes.filter((code) => openCodes.some((one) => one === code)).length;
    const told = {
      findings: open(run.findings.map(({ code }) => code)),
      new: open(run.findings.flatMap(({ code, isNew }) => (isNew ? [code] : []))),
      resolved: open(resolved.map(codeOf)),
    };
    audit.record(tx, {
      action: "roster.audit",
      target: { kind: "roster_audit", id },
      after: { scope, trigger, ...told },
      permission: trigger === "nightly" ? auditPermissions.sweep : auditPermissions.audit,
    });
    events.emit(tx, { type: "roster.audited", data: { audit_id: id, ...told } });
    return await tx.db.rosterAudit.update({
      where: { id },
      data: {
        checks: run.checks,
        comparison: comparisonOf(scope, run.checks),
        endedAt: clock.now(),
        membersScanned: run.membersScanned,
        summary: counts,
        comparedTo: run.former?.id ?? null,
        newCount: run.findings.filter(({ isNew }) => isNew).length,
        resolvedCount: resolved.length,
      },
    });
  }

  async function fail(call: Call, id: string): Promise<void> {
    await database.write(call, async ({ db, now }) => {
      await db.rosterAudit.updateMany({ where: { id, status: "running" }, data: { status: "failed", endedAt: now } });
      await db.rosterFinding.deleteMany({ where: { auditId: id } });
    });
  }

  /** @throws ProblemError sync_in_progress */
  async function alone<T>(id: string, work: () => Promise<T>): Promise<T> {
    const inProgress = () =>
      new ProblemError("sync_in_progress", { detail: say("roster.an-audit-of-the-roster-runs-already"), retryAfter: 5 });
    if (current !== null) throw inProgress();
    const mine = { id };
    current = mine;
    let release: (() => Promise<void>) | undefined;
    try {
      release = await claims?.hold(claimed);
      if (claims !== undefined && release === undefined) throw inProgress();
      return await work();
    } finally {
      await release?.();
      current = null;
    }
  }

  /** The run that is under way, here or at another process; what else seems to run was interrupted. */
  async function running(): Promise<string | null> {
    if (current !== null || !(await claims?.isHeld(claimed))) return current?.id ?? null;
    const newest = { where: { status: "running" }, orderBy: { startedAt: "desc" }, select: { id: true } } as const;
    return (await database.read.rosterAudit.findFirst(newest))?.id ?? null;
  }

  return {
    running,

    look: (wanted: WantedRun): Promise<FinishedRun> => alone("", () => look(wanted, clock.now())),

    run: (call: Call, wanted: WantedRun): Promise<{ id: string }> => {
      const startedAt = clock.now();
      const id = uuid7(startedAt.getTime());
      const part: Call = { ...call, idempotency: null, replayed: false };
      return alone(id, async () => {
        await begin(part, id, wanted, startedAt);
        try {
          const found = await look(wanted, startedAt);
          await keep(part, id, found);
          return await database.write(call, async (tx) => ({ id: (await finish(tx, id, found, wanted)).id }));
        } catch (error) {
          await fail(part, id).catch((failure: unknown) =>
            logger.warn({ err: failure }, "a failed audit of the roster could not be ended"),
          );
          throw error;
        }
      });
    },

    async endAbandoned(call: Call): Promise<number> {
      const id = await running();
      const where = { status: "running", ...(id !== null && { id: { not: id } }) };
      const rows = await database.read.rosterAudit.findMany({ where, select: { id: true }, take: 100 });
      const failure = "an interrupted audit of the roster could not be ended; it is tried again in a minute";
      const idsOf = (row: { id: string }) => ({ roster_audit: row.id });
      requireNoneFailed(await forEachIsolated(rows, (row) => fail(call, row.id), { logger, failure, idsOf }));
      return rows.length;
    },
  };
}

/** The beginning of a day (UTC). */
export function midnightBefore(at: Date): Date {
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()));
}

function countsOf(findings: readonly Pick<Scan["findings"][number], "code">[]): Partial<Record<AuditCode, number>> {
  const counts: Partial<Record<AuditCode, number>> = {};
  for (const { code } of findings) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}

/** A finding as it is stored. */
function rowOf(auditId: string, { facts, fix, ...finding }: ComparedFinding, position: number, at: Date) {
  return { id: uuid7(at.getTime()), auditId, position, ...finding, facts, fix };
}

/** The kind of a finding, by its key. */
function codeOf(key: string): string {
  return key.slice(0, key.indexOf(":"));
}

/** Runs are compared that looked for the same of the same people: one that had to leave checks out with such a one. */
function comparisonOf({ pool, department, role }: AuditScope, { run }: StoredChecks): string {
  return JSON.stringify([pool ?? null, department ?? null, role ?? null, run.toSorted()]);
}
