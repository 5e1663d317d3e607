import type { Deps } from "../../deps.ts";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ReadClient } from "../../../database/database.ts";
import type { Prisma, RosterAudit, RosterFinding, RosterAcknowledgement } from "../../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../../kernel/call.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { toPage, withTotal, type Page, type Position } from "../../../kernel/page.ts";
import type { AccessDirectory } from "../../permissions/access/access-directory.ts";
import {
  auditPermissions,
  isVisible,
  presentAudit,
  presentFinding,
  sightOf,
  visibleWhere,
  type AuditSight,
  type VisibleCounts,
} from "./audit.policy.ts";
import type { AuditRuns, FinishedRun, WantedRun } from "./runs.ts";
import {
  AuditCode,
  auditLimits,
  ListRosterAuditsQuery,
  ListRosterFindingsQuery,
  type RosterAuditAnswer,
  type RosterAuditReport,
  type RosterAuditSummary,
  type RosterFindingView,
} from "./audit.schema.ts";

export interface ReportsDeps extends Deps<"database" | "reach" | "cursors" | "clock"> {
  access: Pick<AccessDirectory, "of">;
  runs: Pick<AuditRuns, "running">;
}

const keysAtOnce = 500;

type Resolved = { count: number; first: RosterFinding[] };

/** Reports as their readers may see them. */
export function createAuditReports({ database, access, reach, runs, cursors, clock }: ReportsDeps) {
  const { read } = database;
  const acknowledged = createAcknowledged({ read, clock });

  async function present(rows: readonly RosterFinding[]): Promise<RosterFindingView[]> {
    const known = await acknowledged.of(rows.map(({ key }) => key));
    return rows.map((row) => presentFinding(row, access, known));
  }

  /** What may be seen of several runs, by their ids. */
  async function countsOf(auditIds: readonly string[], sight: AuditSight): Promise<Map<string, VisibleCounts>> {
    const where = { auditId: { in: [...auditIds] }, ...visibleWhere(sight) };
    const groups = await read.rosterFinding.groupBy({ by: ["auditId", "code", "isNew"], where, _count: true });
    const counts = new Map<string, VisibleCounts>();
    for (const { auditId, code, isNew, _count: count } of groups) {
      const before = counts.get(auditId) ?? nothing;
      const known = AuditCode.parse(code);
      const found = { ...before.found, [known]: (before.found[known] ?? 0) + count };
      counts.set(auditId, { found, isNew: before.isNew + (isNew ? count : 0) });
    }
    return counts;
  }

  /** Of however many findings of one run, in their order: others have their turn between two parts. */
  async function keysOf(where: Prisma.RosterFindingWhereInput): Promise<{ id: string; key: string }[]> {
    const found: { id: string; key: string }[] = [];
    for (let after = -1; ;) {
      const asked = { AND: [where, { position: { gt: after } }] };
      const select = { id: true, key: true, position: true } as const;
      const rows = await read.rosterFinding.findMany({ where: asked, select, orderBy: { position: "asc" }, take: keysAtOnce });
      found.push(...rows);
      await nextTurn();
      const last = rows.at(-1);
      if (last === undefined || rows.length < keysAtOnce) return found;
      after = last.position;
    }
  }

  /** What a former run had and a set of keys has not any more. */
  async function resolvedOf(former: RosterAudit, keys: ReadonlySet<string>, sight: AuditSight): Promise<Resolved> {
    const where = { auditId: former.id, ...visibleWhere(sight) };
    const had = await keysOf(where);
    const gone = had.filter(({ key }) => !keys.has(key)).map(({ id }) => id);
    const first = gone.slice(0, auditLimits.resolved);
    return { count: gone.length, first: await read.rosterFinding.findMany({ where: { id: { in: first } }, orderBy: { position: "asc" } }) };
  }

  async function comparison(former: RosterAudit | null, keys: ReadonlySet<string>, isNew: number, sight: AuditSight) {
    if (former === null) return null;
    const { count, first } = await resolvedOf(former, keys, sight);
    return { id: former.id, at: former.startedAt.toISOString(), new: isNew, resolved: count, resolved_findings: await present(first) };
  }

  async function report(call: Call, row: RosterAudit): Promise<RosterAuditReport> {
    const sight = await sightOf(read, reach, call);
    const where = { auditId: row.id, ...visibleWhere(sight) };
    const counts = (await countsOf([row.id], sight)).get(row.id) ?? nothing;
    const rows = await read.rosterFinding.findMany({ where, orderBy: { position: "asc" }, take: auditLimits.findings });
    const keys = (await keysOf(where)).map(({ key }) => key);
    const isAcknowledged = await acknowledged.filter("true");
    const former = row.comparedTo === null ? null : await read.rosterAudit.findUnique({ where: { id: row.comparedTo } });
    const summary = presentAudit(row, counts, await runs.running());
    return {
      ...summary,
      stale: summary.skipped.length > 0,
      findings: await present(rows),
      acknowledged_total: keys.filter((key) => isAcknowledged({ key })).length,
      compared_to: await comparison(former, new Set(keys), counts.isNew, sight),
      withheld: summary.checks.filter((code) => sight.hidden.has(code)).length,
    };
  }

  return {
    /** A run that is kept. @param id of one that exists */
    async of(call: Call, id: string): Promise<RosterAuditReport> {
      return await report(call, await read.rosterAudit.findUniqueOrThrow({ where: { id } }));
    },

    /** A run that is not kept. */
    async unkept(call: Call, run: FinishedRun, { scope, trigger }: WantedRun): Promise<RosterAuditReport> {
      const sight = await sightOf(read, reach, call);
      const visible = run.findings.filter((one) => isVisible(sight, one));
      const shown = visible.slice(0, auditLimits.findings);
      const known = await acknowledged.of(shown.map(({ key }) => key));
      const isAcknowledged = await acknowledged.filter("true");
      const found: Partial<Record<AuditCode, number>> = {};
      for (const { code } of visible) found[code] = (found[code] ?? 0) + 1;
      const isNew = visible.filter((one) => one.isNew).length;
      return {
        id: null,
        status: "done",
        trigger,
        scope,
        checks: run.checks.run,
        skipped: run.checks.skipped,
        by: call.actor?.id ?? null,
        started_at: run.startedAt.toISOString(),
        ended_at: clock.now().toISOString(),
        members_scanned: run.membersScanned,
        findings_total: visible.length,
        new_total: isNew,
        summary: found,
        stale: run.checks.skipped.length > 0,
        findings: shown.map((one) => presentFinding(one, access, known)),
        acknowledged_total: visible.filter(isAcknowledged).length,
        compared_to: await comparison(run.former, new Set(visible.map(({ key }) => key)), isNew, sight),
        withheld: run.checks.run.filter((code) => sight.hidden.has(code)).length,
      };
    },

    /** A kept run, or that there is none. */
    async get(call: Call, id: string): Promise<RosterAuditAnswer> {
      requirePermission(call, auditPermissions.audit);
      const row = await read.rosterAudit.findUnique({ where: { id } });
      return row === null ? { state: "absent" } : { state: "present", ...(await report(call, row)) };
    },

    /** Kept runs, newest first. */
    async list(call: Call, query: ListRosterAuditsQuery): Promise<Page<RosterAuditSummary>> {
      requirePermission(call, auditPermissions.audit);
      const { limit, cursor, count, ...filters } = ListRosterAuditsQuery.parse(query);
      const position = cursor === undefined ? undefined : cursors.decode("roster.audits", filters, cursor);
      const running = await runs.running();
      const asked: Prisma.RosterAuditWhereInput = {
        ...(filters.trigger !== undefined && { trigger: filters.trigger }),
        ...(filters.status !== undefined && statusIs(filters.status, running)),
      };
      const rows = await read.rosterAudit.findMany({
        where: { AND: [asked, position === undefined ? {} : startedBefore(position)] },
        orderBy: [{ startedAt: "desc" }, { id: "desc" }],
        take: limit + 1,
      });
      const sight = await sightOf(read, reach, call);
      const shown = rows.slice(0, limit).map(({ id }) => id);
      const counts = await countsOf(shown, sight);
      const page = toPage(
        rows,
        limit,
        (row) => presentAudit(row, counts.get(row.id) ?? nothing, running),
        (last) => cursors.encode("roster.audits", filters, [last.startedAt.toISOString(), last.id]),
      );
      return await withTotal(page, { count }, () => read.rosterAudit.count({ where: asked }));
    },

    /** What a kept run found, the gravest first; nothing of a run that does not exist. */
    async findings(call: Call, auditId: string, query: ListRosterFindingsQuery): Promise<Page<RosterFindingView>> {
      requirePermission(call, auditPermissions.audit);
      const { limit, cursor, count, ...filters } = ListRosterFindingsQuery.parse(query);
      const bound = { ...filters, audit_id: auditId };
      const after = cursor === undefined ? -1 : Number(cursors.decode("roster.findings", bound, cursor)[0]);
      const sight = await sightOf(read, reach, call);
      const where = { AND: [{ auditId }, visibleWhere(sight), wanted(filters)] };
      const isWanted = await acknowledged.filter(filters.acknowledged);
      const rows: RosterFinding[] = [];
      // Who lives with a finding stands elsewhere: read on until a page is full.
      for (let from = after; rows.length <= limit;) {
        const next = await read.rosterFinding.findMany({
          where: { AND: [where, { position: { gt: from } }] },
          orderBy: { position: "asc" },
          take: auditLimits.findings + 1,
        });
        rows.push(...next.filter(isWanted));
        await nextTurn();
        if (next.length <= auditLimits.findings) break;
        from = next.at(-1)?.position ?? from;
      }
      const known = await acknowledged.of(rows.slice(0, limit).map(({ key }) => key));
      const page = toPage(
        rows,
        limit,
        (row) => presentFinding(row, access, known),
        (last) => cursors.encode("roster.findings", bound, [last.position, last.id]),
      );
      return await withTotal(page, { count }, async () => {
        return (await keysOf(where)).filter(isWanted).length;
      });
    },
  };
}

const nothing: VisibleCounts = { found: {}, isNew: 0 };

function wanted({ code, severity, user_id: userId, is_new: isNew }: ListRosterFindingsQuery): Prisma.RosterFindingWhereInput {
  return {
    ...(code !== undefined && { code }),
    ...(severity !== undefined && { severity }),
    ...(userId !== undefined && { userId }),
    ...(isNew !== undefined && { isNew: isNew === "true" }),
  };
}

/** A run that seems to run and is not the one under way was interrupted. */
function statusIs(status: RosterAuditSummary["status"], running: string | null): Prisma.RosterAuditWhereInput {
  const own = running ?? "";
  if (status === "running") return { status, id: own };
  if (status === "done") return { status };
  return { OR: [{ status }, { status: "running", id: { not: own } }] };
}

function startedBefore([at, id]: Position): Prisma.RosterAuditWhereInput {
  const startedAt = new Date(at);
  return { OR: [{ startedAt: { lt: startedAt } }, { startedAt, id: { lt: id } }] };
}

/** Keys of one statement. */
const atOnce = 500;

/** What people decided to live with, and still do. */
export function createAcknowledged({ read, clock }: { read: ReadClient; clock: Clock }) {
  const inForce = () => ({ OR: [{ until: null }, { until: { gt: clock.now() } }] });

  return {
    /** Those of some findings, by key. */
    async of(keys: readonly string[]): Promise<Map<string, RosterAcknowledgement>> {
      const found = new Map<string, RosterAcknowledgement>();
      for (let from = 0; from < keys.length; from += atOnce) {
        const some = keys.slice(from, from + atOnce);
        const rows = await read.rosterAcknowledgement.findMany({ where: { key: { in: some }, ...inForce() } });
        for (const row of rows) found.set(row.key, row);
      }
      return found;
    },

    /** @param asked only those (`true`), only the others (`false`), or all */
    async filter(asked: "true" | "false" | undefined): Promise<(row: { key: string }) => boolean> {
      if (asked === undefined) return () => true;
      const rows = await read.rosterAcknowledgement.findMany({ where: inForce(), select: { key: true } });
      const keys = new Set(rows.map(({ key }) => key));
      return ({ key }) => keys.has(key) === (asked === "true");
    },
  };
}
