import type { Deps } from "../../deps.ts";
import { notReadable, requirePermission, requireWrite, type Call } from "../../../kernel/call.ts";
import { seesRedactions } from "../../../kernel/visibility.ts";
import { requireRevision } from "../../../kernel/revision.ts";
import type { AuditService } from "../../audit/audit.service.ts";
import type { PermissionsService } from "../../permissions/permissions.service.ts";
import type { Access } from "../../permissions/access/access-directory.ts";
import { findColleague, permissionUsed, requireMayManage, staffPolicy } from "../staff.policy.ts";
import { availabilityOf, clearanceFor, presentProfile, presentSuspension, quietHoursOf, visibleProfile } from "./profile.policy.ts";
import {
  UpdateProfileInput,
  type DisciplineView,
  type ProfileView,
  type EmploymentView,
  type RoleChangeView,
  type ActivityView,
} from "./profile.schema.ts";
import type { ProfileRow, ProfileStore } from "./store.ts";
import type { ReadClient } from "../../../database/database.ts";
import { isoOrNull } from "../../../kernel/fields.ts";
import { z } from "zod";
import type { Prisma } from "../../../generated/sqlite/client.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import type { Status } from "../../workflows/state/table.ts";

const dayMs = 86_400_000;
/** More votes of 30 days than this are not counted, nor more punishments shown. */
const limits = { votes: 2000, punishments: 50 } as const;
const open: readonly Status[] = ["pending", "in_review", "needs_info", "escalated"];
const investigation: WorkflowKind = "investigation";
const punishment: WorkflowKind = "punishment";

/** A number that moves when an investigation is filed or decided would tell of it. */
const isCounted = { type: { not: investigation }, isRestricted: false } satisfies Prisma.WorkflowRequestWhereInput;

/** A decision as the requests keep it, as far as it counts here. */
interface Decision {
  outcome: string;
  by: string;
}

/** What somebody did with requests in the last weeks. */
async function readActivity(db: ReadClient, userId: string, now: Date): Promise<ActivityView> {
  const since = new Date(now.getTime() - 30 * dayMs);
  const recent = new Date(now.getTime() - 7 * dayMs);
  const filed = (from: Date): Promise<number> =>
    db.workflowRequest.count({ where: { requesterId: userId, createdAt: { gte: from }, ...isCounted } });
  const [votes, filedRecently, filedAtAll, overdue] = await Promise.all([
    db.workflowVote.findMany({
      where: { actorId: userId, at: { gte: since }, request: isCounted },
      select: { at: true, requestId: true, request: { select: { createdAt: true, decidedAt: true, decision: true, status: true } } },
      orderBy: { at: "desc" },
      take: limits.votes,
    }),
    filed(recent),
    filed(since),
    db.workflowRequest.count({
      where: {
        ...isCounted,
        status: { in: [...open] },
        dueDecisionAt: { lt: now },
        OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
        votes: { some: { actorId: userId } },
      },
    }),
  ]);
  const decided = decidedBy(userId, votes);
  const span = (dates: readonly Date[]) => ({ last_7_days: dates.filter((at) => at >= recent).length, last_30_days: dates.length });
  return {
    requests_filed: { last_7_days: filedRecently, last_30_days: filedAtAll },
    requests_decided: span(decided.map(({ at }) => at)),
    votes: span(votes.map(({ at }) => at)),
    median_decision_seconds: medianOf(decided.map(({ seconds }) => seconds)),
    reversal_rate: reversalRate(decided),
    open_overdue: overdue,
  };
}

interface CountedVote {
  requestId: string;
  request: { createdAt: Date; decidedAt: Date | null; decision: unknown; status: string };
}

/** The requests among these votes that were decided by this person, each once. */
function decidedBy(userId: string, votes: readonly CountedVote[]) {
  const found = new Map<string, { at: Date; seconds: number; status: string; outcome: string }>();
  for (const { requestId, request } of votes) {
    const decision = request.decision as Decision | null;
    if (decision?.by !== userId || request.decidedAt === null) continue;
    const seconds = (request.decidedAt.getTime() - request.createdAt.getTime()) / 1000;
    found.set(requestId, { at: request.decidedAt, seconds, status: request.status, outcome: decision.outcome });
  }
  return [...found.values()];
}

function medianOf(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]];
  return low === undefined || high === undefined ? null : Math.round((low + high) / 2);
}

function reversalRate(decided: ReturnType<typeof decidedBy>): number | null {
  const approved = decided.filter(({ outcome }) => outcome === "approved");
  if (approved.length === 0) return null;
  return approved.filter(({ status }) => status === "reversed").length / approved.length;
}

/** What is told of a punishment. */
const Punishment = z.object({ action: z.string(), points: z.number() });

/** The approved punishments of somebody, newest first. */
async function readPunishments(db: ReadClient, userId: string): Promise<DisciplineView["punishments"]> {
  const status: Status = "approved";
  const rows = await db.workflowRequest.findMany({
    where: { type: punishment, status, isRestricted: false, subjects: { some: { kind: "user", subjectId: userId } } },
    select: { reference: true, payload: true, decidedAt: true },
    orderBy: [{ decidedAt: "desc" }, { id: "desc" }],
    take: limits.punishments,
  });
  return rows.map(({ reference, payload, decidedAt }) => {
    const { action, points } = Punishment.parse(payload);
    return { reference, action, points, decided_at: isoOrNull(decidedAt) };
  });
}

const maxChanges = 20;

/** The entry of somebody on the roster, in short; null: they are not on it. */
async function readEmployment(db: ReadClient, userId: string): Promise<EmploymentView | null> {
  const entry = await db.rosterEntry.findUnique({ where: { userId } });
  if (entry === null) return null;
  return {
    status: entry.status,
    staff_role: entry.staffRole,
    department: entry.department,
    supervisor_id: entry.supervisorId,
    joined_at: isoOrNull(entry.joinedAt),
    trial_ends_at: isoOrNull(entry.trialEndsAt),
    suspended_until: isoOrNull(entry.suspendedUntil),
    ended_at: isoOrNull(entry.endedAt),
  };
}

/** The callsigns that somebody has now. */
async function readCallsigns(db: ReadClient, userId: string): Promise<string[]> {
  const where = { userId, state: "assigned" };
  return (await db.callsignSlot.findMany({ where, select: { callsign: true }, orderBy: { callsign: "asc" } })).map(
    ({ callsign }) => callsign,
  );
}

/** How the staff role of somebody changed, newest first. */
async function readRoleChanges(db: ReadClient, userId: string): Promise<RoleChangeView[]> {
  const rows = await db.rosterEvent.findMany({
    where: { userId, OR: [{ formerRole: { not: null } }, { staffRole: { not: null } }] },
    select: { event: true, formerRole: true, staffRole: true, actorId: true, effectiveAt: true },
    orderBy: [{ effectiveAt: "desc" }, { id: "desc" }],
    take: maxChanges,
  });
  return rows.map(({ event, formerRole, staffRole, actorId, effectiveAt }) => ({
    event,
    from: formerRole,
    to: staffRole,
    by: actorId,
    since: effectiveAt.toISOString(),
  }));
}

export interface ProfilesDeps extends Deps<"database" | "events" | "guildState" | "access" | "clock"> {
  audit: AuditService;
  permissions: Pick<PermissionsService, "requireRankAbove" | "suspensionAt">;
  profiles: ProfileStore;
}

/** What is known about present and former staff. */
export function createProfilesService({ database, audit, events, guildState, access, permissions, profiles, clock }: ProfilesDeps) {
  async function disciplineOf(person: Access, now: Date): Promise<DisciplineView> {
    const suspension = presentSuspension(permissions.suspensionAt(person.overrides, now));
    return { suspension, punishments: await readPunishments(database.read, person.id) };
  }

  async function employmentOf(userId: string): Promise<Pick<ProfileView, "roster" | "callsigns" | "role_history">> {
    const { read } = database;
    const [roster, callsigns, changes] = await Promise.all([
      readEmployment(read, userId),
      readCallsigns(read, userId),
      readRoleChanges(read, userId),
    ]);
    return { roster, callsigns, role_history: changes };
  }

  return {
    /** @throws ProblemError record_not_found for somebody who never was staff */
    async profile(call: Call, userId: string): Promise<ProfileView> {
      requirePermission(call, staffPolicy.profile, { own: userId });
      const found = await findColleague(access, userId);
      const now = clock.now();
      const { decider, confidential } = clearanceFor(call, userId);
      const isTold = seesRedactions(call);
      const [row, employment, activity, discipline] = await Promise.all([
        profiles.find(userId),
        employmentOf(userId),
        decider || isTold ? readActivity(database.read, userId, now) : undefined,
        confidential || isTold ? disciplineOf(found, now) : undefined,
      ]);
      return visibleProfile(call, presentProfile(found, row, { guilds: guildState.guilds(), now, employment, activity, discipline }));
    },

    /**
     * Change what is kept about a colleague, or about oneself.
     * @throws ProblemError record_not_found, hierarchy_violation, precondition_failed
     */
    async update(call: Call, userId: string, given: UpdateProfileInput, ifMatch?: number): Promise<ProfileView> {
      requireWrite(call, staffPolicy.manage, { own: userId });
      const input = UpdateProfileInput.parse(given);
      const found = await findColleague(access, userId);
      requireMayManage(call, found, permissions, { isOwnAllowed: input.department === undefined });
      if (input.quiet_hours !== undefined && !clearanceFor(call, userId).requester)
        throw notReadable(call, ["/quiet_hours"], staffPolicy.profile);
      const view = await database.write(call, async (tx) => {
        const row = await profiles.open(tx, userId);
        requireRevision(ifMatch, row.revision);
        const wanted = withInput(row, input);
        const present = (after: ProfileRow): ProfileView => presentProfile(found, after, { guilds: guildState.guilds(), now: tx.now });
        if (JSON.stringify(settingsOf(wanted)) === JSON.stringify(settingsOf(row))) return present(row);
        const { quiet_hours: quietHours, ...others } = settingsOf(wanted);
        const after = await profiles.change(tx, row, { ...others, quietHours });
        audit.record(tx, {
          action: "staff_profile.update",
          user: userId,
          before: settingsOf(row),
          after: settingsOf(after),
          ...permissionUsed(call, userId),
        });
        events.emit(tx, { type: "staff.profile_changed", data: { user_id: userId, revision: after.revision } });
        return present(after);
      });
      return visibleProfile(call, view);
    },
  };
}

function withInput(row: ProfileRow, input: UpdateProfileInput): ProfileRow {
  const { department, timezone, availability, quiet_hours: quietHours } = input;
  return {
    ...row,
    ...(department !== undefined && { department }),
    ...(timezone !== undefined && { timezone }),
    ...(availability !== undefined && { availability }),
    ...(quietHours !== undefined && { quietHours }),
  };
}

/** What of a profile its colleagues may change, each part in one form. */
function settingsOf(row: ProfileRow) {
  const { department, timezone } = row;
  const hours = quietHoursOf(row).map(({ days, from, to }) => ({
    ...(days !== undefined && { days: [...new Set(days)].toSorted((a, b) => a - b) }),
    from,
    to,
  }));
  return { department, timezone, availability: availabilityOf(row), quiet_hours: hours };
}
