import type { Page } from "../../../kernel/page.ts";
import { say } from "../../../kit/say.ts";
import type { Claims } from "../../../cluster/claims.ts";
import type { Deps } from "../../deps.ts";
import type { Logger } from "pino";
import { requireWrite, type Call, requirePermission } from "../../../kernel/call.ts";
import { fieldError, ProblemError } from "../../../kernel/errors.ts";
import type { AuditService } from "../../audit/audit.service.ts";
import type { CallsignsService } from "../../callsigns/callsigns.service.ts";
import type { Conflicts } from "../../links/conflicts.ts";
import type { LinkReach } from "../../links/reach.ts";
import type { PermissionsService } from "../../permissions/permissions.service.ts";
import type { StaffService } from "../../staff/staff.service.ts";
import { createAcknowledge, gone } from "./acknowledge.ts";
import { createAuditPeople, type AuditDb, type AuditedPerson, type AuditPeople } from "./people.ts";
import { auditPermissions } from "./audit.policy.ts";
import { createAuditReports } from "./reports.ts";
import { createAuditRuns, midnightBefore, type AuditRuns } from "./runs.ts";
import { createScan, findingsOf } from "./scan.ts";
import {
  auditCodes,
  RunRosterAuditInput,
  type AuditScope,
  type RosterAuditReport,
  AuditCode,
  FixFindingsInput,
  type FindingResult,
  type FindingResults,
  type ListRosterAuditsQuery,
  type RosterAuditSummary,
  type RosterAuditAnswer,
  type ListRosterFindingsQuery,
  type RosterFindingView,
  type AcknowledgeFindingsInput,
  type WithdrawAcknowledgementsInput,
} from "./audit.schema.ts";
import type { RosterService } from "../roster.service.ts";
import type { RosterSync } from "../sync/sync.service.ts";
import { inBatches } from "../../../kernel/pause.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { partByPart } from "../../../kernel/isolated.ts";
import type { Tx } from "../../../database/database.ts";
import type { RosterFinding } from "../../../generated/sqlite/client.ts";
import { callerOf, isDenial } from "../../../kernel/denied.ts";
import { auditChecks, type Fix } from "./checks.ts";
import { createFixings, syncFields, type Fixed, type FixingDeps, type SyncMember } from "./fixing.ts";

interface FixesDeps extends FixingDeps, Deps<"database" | "clock"> {
  audit: Pick<AuditService, "record" | "noteDenied">;
  permissions: Pick<PermissionsService, "requireRankAbove">;
  roster: RosterService;
  people: AuditPeople;
  rosterSync: { member: SyncMember };
  /** The named findings that the caller may see, by id. */
  visible(call: Call, ids: readonly string[]): Promise<Map<string, RosterFinding>>;
  isGuildStateReliable(): boolean;
  conflicts: Pick<Conflicts, "requireNoOtherOwn">;
}

const permission = auditPermissions.fix;

/** Putting findings right, each by itself and only while it still holds. */
function createFixes(deps: FixesDeps) {
  const { database, audit, permissions, roster, rosterSync, people, visible, conflicts, isGuildStateReliable, clock } = deps;
  const fixings = createFixings(deps);

  /** The person of a finding that still holds, and what puts it right now; null when it does not. */
  async function lookAgain(db: AuditDb, { key, code, userId }: RosterFinding, now: Date): Promise<StillFound | null> {
    if (userId === null) return null;
    const time = await people.timeOf(db, now);
    const entry = await roster.find(db, userId);
    const [person = people.stranger(userId)] = entry === null ? [] : await people.read(db, [entry], time);
    const fix = findingsOf(person, time, [AuditCode.parse(code)]).find((found) => found.key === key)?.fix ?? null;
    return fix === null ? null : { person, fix };
  }

  /** Nobody puts right what stands at or above them, nor gives a staff role that does. @throws ProblemError hierarchy_violation */
  function requireRank(call: Call, person: AuditedPerson): void {
    permissions.requireRankAbove(call, Math.max(person.access.rank, person.role?.rank ?? 0));
  }

  async function note(tx: Tx, row: RosterFinding, reason: string): Promise<void> {
    await tx.db.rosterFinding.updateMany({ where: { id: row.id }, data: { fixedAt: tx.now, fixedBy: tx.call.actor?.id ?? null } });
    audit.record(tx, {
      action: "roster.fix",
      target: { kind: "roster_finding", id: row.id },
      ...(row.userId !== null && { subjectUserId: row.userId }),
      reason,
      after: { code: row.code },
      permission,
    });
  }

  /** One fix: a transaction of its own, or what the feature for it does in Discord. */
  async function fix(call: Call, row: RosterFinding, { reason, dry_run: isDryRun }: FixFindings): Promise<Omit<FindingResult, "id">> {
    const { fix: wanted, fixPermission, needsDiscord } = auditChecks[AuditCode.parse(row.code)];
    if (wanted === undefined) return { outcome: "unchanged", detail: say("roster.there-is-no-fix-for-this", { detail: row.detail }) };
    if (fixPermission !== undefined) requirePermission(call, fixPermission);
    if (needsDiscord === true && !isGuildStateReliable())
      return { outcome: "failed", detail: say("roster.the-guilds-are-not-known-well-enough") };
    const found = await lookAgain(database.read, row, clock.now());
    if (found === null) return holdsNoMore;
    const { person, fix: planned } = found;
    await conflicts.requireNoOtherOwn(database.read, call, person.userId);
    requireRank(call, person);
    if (isDryRun) return { outcome: "planned", detail: planned.detail };
    const { action } = planned;
    if (action === "sync_roles" || action === "sync_nickname") {
      const done = await inDiscord(call, person.userId, syncFields[action], reason);
      if (done.outcome === "fixed") await database.write(call, (tx) => note(tx, row, reason));
      return done;
    }
    return await database.write(call, async (tx) => {
      await roster.records.lock(tx, row.userId ?? "");
      const now = await lookAgain(tx.db, row, tx.now);
      if (now === null) return holdsNoMore;
      requireRank(call, now.person);
      const done = await fixings[action](tx, { person: now.person, finding: row.id, reason });
      if (done.outcome === "fixed") await note(tx, row, reason);
      return done;
    });
  }

  async function inDiscord(call: Call, userId: string, field: "held_roles" | "nickname", reason: string): Promise<Fixed> {
    const { changes, warnings } = await rosterSync.member(call, {
      discord_user_id: userId,
      direction: "to_discord",
      apply: [field],
      reason,
    });
    const applied = changes.filter((one) => one.applied).length;
    const why = changes.find((one) => !one.applied)?.reason ?? warnings[0] ?? say("roster.there-was-nothing-to-change-in-discord");
    if (applied === 0) return { outcome: changes.length === 0 ? "unchanged" : "failed", detail: why };
    const detail = say("roster.changes-in-discord", { count: applied });
    // What was done in part still stands in the next report.
    return applied < changes.length ? { outcome: "failed", detail: `${detail} ${why}` } : { outcome: "fixed", detail };
  }

  async function fixOne(call: Call, row: RosterFinding, input: FixFindings): Promise<FindingResult> {
    const { id } = row;
    try {
      return { id, ...(await fix(call, row, input)) };
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      const { code, message: detail } = error;
      if (!isDenial(error)) return { id, outcome: "failed", detail };
      audit.noteDenied({
        caller: callerOf(call),
        action: permission,
        code,
        target: { kind: "roster_finding", id },
        isAboutRecord: true,
      });
      return { id, outcome: "refused", detail };
    }
  }

  return {
    /**
     * Put findings right, one after the other: what is refused keeps nothing else from being done.
     * @throws ProblemError permission_denied, acting_user_required, roster_stale, validation_failed, idempotency_key_reused
     */
    async fix(call: Call, given: FixFindingsInput): Promise<FindingResults> {
      requireWrite(call, permission);
      const input = FixFindingsInput.parse(given);
      const replay = input.dry_run ? undefined : await database.findReplay(call);
      if (replay !== undefined) return replay.value as FindingResults;
      const rows = await visible(call, input.findings);
      // The answer to all of them is kept with the key, not the answer to one.
      const part: Call = { ...call, idempotency: null, replayed: false };
      const results: FindingResult[] = [];
      for (const id of input.findings) {
        const row = rows.get(id);
        results.push(row === undefined ? gone(id) : await fixOne(part, row, input));
      }
      const answer = { dry_run: input.dry_run, results };
      if (!input.dry_run && call.idempotency !== null) await database.write(call, () => Promise.resolve(answer));
      return answer;
    },
  };
}

type FixFindings = ReturnType<typeof FixFindingsInput.parse>;

/** A finding that still holds. */
interface StillFound {
  person: AuditedPerson;
  fix: Fix;
}

const holdsNoMore = { outcome: "gone", detail: say("roster.it-does-not-hold-any-more") } as const;

/** How long reports are kept. */
const keptDays = 90;
const daySeconds = 86_400;
const deletedAtOnce = 500;
/** Of a night that nothing comes of. */
const maxAttempts = 3;

interface NightlyDeps extends Deps<"database" | "clock"> {
  runs: AuditRuns;
  hour: number | null;
  logger: Logger;
}

/** The audit by night, and what time does to reports. */
function createNightly({ database, runs, hour, clock, logger }: NightlyDeps) {
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

export interface RosterAudits {
  /**
   * The audit of the night when its hour has come; runs that were interrupted are ended, and old reports deleted.
   * @returns how many runs were made
   */
  sweep(call: Call): Promise<number>;
  /**
   * Look at everybody in the scope, and keep the report unless told otherwise.
   * @returns what this caller may see of it
   * @throws ProblemError sync_in_progress while another run goes on, validation_failed
   */
  run(call: Call, given: RunRosterAuditInput): Promise<RosterAuditReport>;
  list(call: Call, query: ListRosterAuditsQuery): Promise<Page<RosterAuditSummary>>;
  get(call: Call, id: string): Promise<RosterAuditAnswer>;
  findings(call: Call, auditId: string, query: ListRosterFindingsQuery): Promise<Page<RosterFindingView>>;
  fix(call: Call, given: FixFindingsInput): Promise<FindingResults>;
  acknowledge(call: Call, given: AcknowledgeFindingsInput): Promise<FindingResults>;
  withdraw(call: Call, given: WithdrawAcknowledgementsInput): Promise<FindingResults>;
}

export interface RosterAuditsDeps extends Deps<"database" | "events" | "access" | "cursors" | "clock"> {
  audit: Pick<AuditService, "record" | "noteDenied">;
  permissions: Pick<PermissionsService, "requireRankAbove">;
  reach: LinkReach;
  conflicts: Pick<Conflicts, "requireNoOtherOwn">;
  roster: RosterService;
  callsigns: CallsignsService;
  staff: Pick<StaffService, "suspendInTx">;
  rosterSync: Pick<RosterSync, "isKnown" | "member">;
  claims: Claims | undefined;
  /** The hour (UTC) of the nightly audit; null: none. */
  hour: number | null;
  inactiveDays: number;
  logger: Logger;
}

/** Finds what is not as it should be about those on the roster. */
export function createRosterAudits(deps: RosterAuditsDeps): RosterAudits {
  const { database, access, callsigns } = deps;
  const people = createAuditPeople(deps);
  const scan = createScan({ ...deps, people });
  const runs = createAuditRuns({ ...deps, scan, isGuildStateReliable: deps.rosterSync.isKnown });
  const reports = createAuditReports({ ...deps, runs });
  const acknowledge = createAcknowledge(deps);
  const fixes = createFixes({ ...deps, people, visible: acknowledge.visible, isGuildStateReliable: deps.rosterSync.isKnown });

  /** @throws ProblemError validation_failed for a pool or staff role that nobody knows */
  async function requireKnown({ pool, role }: AuditScope): Promise<void> {
    if (pool !== undefined && !(await callsigns.knowsPool(database.read, pool)))
      throw fieldError("/scope/pool", "unknown_pool", say("callsigns.there-is-no-such-pool-of-callsigns-2"));
    const isKnown = role === undefined || access.role(role) !== undefined || (await isOnRoster(role));
    if (!isKnown) throw fieldError("/scope/role", "unknown_role", say("callsigns.there-is-no-such-staff-role"));
  }

  /** A staff role that was removed may still stand on the roster. */
  async function isOnRoster(staffRole: string): Promise<boolean> {
    return (await database.read.rosterEntry.findFirst({ where: { staffRole }, select: { id: true } })) !== null;
  }

  return {
    async run(call: Call, given: RunRosterAuditInput): Promise<RosterAuditReport> {
      requireWrite(call, auditPermissions.audit);
      const { scope = {}, checks, save } = RunRosterAuditInput.parse(given);
      await requireKnown(scope);
      const codes = auditCodes.filter((code) => checks === undefined || checks.includes(code));
      const wanted = { scope, codes, trigger: "request" } as const;
      if (!save) return await reports.unkept(call, await runs.look(wanted), wanted);
      const replay = await database.findReplay(call);
      const { id } = replay === undefined ? await runs.run(call, wanted) : (replay.value as { id: string });
      return await reports.of(call, id);
    },

    list: reports.list,
    get: reports.get,
    findings: reports.findings,
    fix: fixes.fix,
    acknowledge: acknowledge.acknowledge,
    withdraw: acknowledge.withdraw,

    ...createNightly({ ...deps, runs }),
  };
}
