import type { RosterAcknowledgement, RosterAudit, RosterFinding, Prisma } from "../../../generated/sqlite/client.ts";
import { z } from "zod";
import { can, type Call } from "../../../kernel/call.ts";
import { isoOrNull, type UserRef } from "../../../kernel/fields.ts";
import type { LinkReach } from "../../links/reach.ts";
import type { AccessDirectory } from "../../permissions/access/access-directory.ts";
import { auditChecks } from "./checks.ts";
import type { AuditDb } from "./people.ts";
import { AuditCode, auditCodes, AuditScope, RosterAuditSummary, RosterFindingView, Severity } from "./audit.schema.ts";

/** Permissions of audits of the roster. */
export const auditPermissions = { audit: "roster.audit", fix: "roster.apply_fixes", sweep: "system.act" } as const;

/** What a caller may learn of findings. */
export interface AuditSight {
  /** Kinds of which they learn nothing. */
  hidden: ReadonlySet<AuditCode>;
  /** Their own accounts. */
  own: readonly string[];
}

const ofOthersOnly: readonly AuditCode[] = auditCodes.filter((code) => auditChecks[code].hidesOwn === true);
/** What everybody may count who may audit at all. */
export const openCodes: readonly AuditCode[] = auditCodes.filter((code) => auditChecks[code].permission === undefined);

/** What this caller may see: kinds that they hold the permission of, and nothing grave about themselves. */
export async function sightOf(db: AuditDb, reach: Pick<LinkReach, "linkedAccountsOf">, call: Call): Promise<AuditSight> {
  const hidden = auditCodes.filter((code) => {
    const { permission } = auditChecks[code];
    return permission !== undefined && !can(call, permission);
  });
  const actor = call.actor?.id;
  return { hidden: new Set(hidden), own: actor === undefined ? [] : [actor, ...(await reach.linkedAccountsOf(db, actor))] };
}

/** The findings that may be seen, in the words of the database. */
export function visibleWhere({ hidden, own }: AuditSight): Prisma.RosterFindingWhereInput {
  return {
    code: { notIn: [...hidden] },
    ...(own.length > 0 && { NOT: { code: { in: [...ofOthersOnly] }, userId: { in: [...own] } } }),
  };
}

/** Whether a finding may be seen. */
export function isVisible({ hidden, own }: AuditSight, { code, userId }: { code: AuditCode; userId: string | null }): boolean {
  return !hidden.has(code) && !(ofOthersOnly.includes(code) && userId !== null && own.includes(userId));
}

/** A finding, kept or not. */
export type PresentedFinding = Pick<RosterFinding, "key" | "code" | "severity" | "userId" | "detail" | "isNew" | "since"> &
  Partial<Pick<RosterFinding, "id" | "fixedAt">> & { facts: unknown; fix: unknown };

/** How somebody decided to live with findings, by key. */
export type Acknowledgements = ReadonlyMap<string, RosterAcknowledgement>;

const Stored = RosterFindingView.pick({ facts: true, fix: true });

/** @param known how people stand now */
export function presentFinding(
  row: PresentedFinding,
  known: Pick<AccessDirectory, "of">,
  acknowledged: Acknowledgements,
): RosterFindingView {
  const { facts, fix } = Stored.parse({ facts: row.facts, fix: row.fix });
  const acknowledgement = acknowledged.get(row.key);
  return {
    id: row.id ?? null,
    code: AuditCode.parse(row.code),
    severity: Severity.parse(row.severity),
    user: row.userId === null ? null : presentUser(row.userId, known),
    detail: row.detail,
    facts,
    fix,
    since: row.since.toISOString(),
    is_new: row.isNew,
    acknowledged: acknowledgement === undefined ? null : presentAcknowledgement(acknowledgement),
    fixed_at: isoOrNull(row.fixedAt ?? null),
  };
}

function presentAcknowledgement({ by, at, reason, until }: RosterAcknowledgement) {
  return { by: by === "" ? null : by, at: at.toISOString(), reason, until: isoOrNull(until) };
}

function presentUser(id: string, known: Pick<AccessDirectory, "of">): UserRef {
  const { members, isInGuild } = known.of(id);
  const shown = members.find((member) => member.present) ?? members[0];
  const name =
    shown === undefined ? {} : { username_snapshot: shown.username, display_name: shown.nick ?? shown.globalName ?? shown.username };
  return { id, ...name, in_community: isInGuild };
}

const Checks = z.object({ run: z.array(AuditCode), skipped: z.array(AuditCode) });
export type StoredChecks = z.infer<typeof Checks>;
const checksOf = (row: Pick<RosterAudit, "checks">): StoredChecks => Checks.parse(row.checks);

/** What this caller may see of how much was found, by code. */
export interface VisibleCounts {
  found: Readonly<Partial<Record<AuditCode, number>>>;
  isNew: number;
}

/** @param running the run that is under way; another one that seems to run was interrupted */
export function presentAudit(row: RosterAudit, { found, isNew }: VisibleCounts, running: string | null): RosterAuditSummary {
  const { run, skipped } = checksOf(row);
  const wasInterrupted = row.status === "running" && row.id !== running;
  return {
    id: row.id,
    status: wasInterrupted ? "failed" : RosterAuditSummary.shape.status.parse(row.status),
    trigger: RosterAuditSummary.shape.trigger.parse(row.trigger),
    scope: AuditScope.parse(row.scope),
    checks: run,
    skipped,
    by: row.actorId,
    started_at: row.startedAt.toISOString(),
    ended_at: isoOrNull(row.endedAt),
    members_scanned: row.membersScanned,
    findings_total: Object.values(found).reduce((sum, count) => sum + count, 0),
    new_total: isNew,
    summary: found,
  };
}
