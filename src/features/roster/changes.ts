import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import { knowing, viewsOf, type CauseSight } from "./views.ts";
import type { RosterService } from "./roster.service.ts";
import type { Access } from "../permissions/access/access-directory.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { CallsignsService } from "../callsigns/callsigns.service.ts";
import type { Conflicts } from "../links/conflicts.ts";
import type { Tx } from "../../database/database.ts";
import type { RosterEntry } from "../../generated/sqlite/client.ts";
import { notReadable, can, requireAnswered, requirePermission, requireWrite, type Call } from "../../kernel/call.ts";
import { fieldError } from "../../kernel/errors.ts";
import { requireRevision } from "../../kernel/revision.ts";
import type { RosterFacts } from "./facts.ts";
import { stepsTo } from "./patch.ts";
import { rosterPolicy } from "./roster.policy.ts";
import type { RosterStep } from "./records.ts";
import { CreateEntryInput, UpdateEntryInput, type EntryView } from "./roster.schema.ts";
import { isLive } from "./states.ts";

export interface RosterEntriesDeps extends CauseSight, Deps<"database" | "audit" | "access" | "cursors" | "clock"> {
  permissions: Pick<PermissionsService, "requireRankAbove" | "requireMayGiveStaffRole">;
  roster: RosterService;
  callsigns: Pick<CallsignsService, "holdAllInTx">;
  conflicts: Pick<Conflicts, "requireNoOtherOwn">;
}

type Shown = (call: Call, view: EntryView) => Promise<EntryView>;
type Update = ReturnType<typeof UpdateEntryInput.parse>;

/** What staff do to entries by themselves, without a request. */
export function createEntryChanges(deps: RosterEntriesDeps, shown: Shown) {
  const { database, audit, access, permissions, roster, callsigns, conflicts, clock } = deps;

  async function viewOf(tx: Tx, row: RosterEntry, person: Access): Promise<EntryView> {
    const [view] = await viewsOf(tx.db, [row], { access: knowing(access, person), now: tx.now });
    return view as EntryView;
  }

  const rankOf = (key: string | null): number => (key === null ? 0 : (access.role(key)?.rank ?? 0));

  /** Nobody below an owner changes what stands at or above them, nor gives what does. @throws ProblemError hierarchy_violation */
  function requireBelow(call: Call, userId: string, roles: readonly (string | null | undefined)[]): void {
    permissions.requireRankAbove(call, Math.max(access.of(userId).rank, ...roles.map((key) => rankOf(key ?? null))));
  }

  /** The staff role on the roster is what the bot gives in Discord. @throws ProblemError hierarchy_violation, cannot_grant_unheld */
  function requireMayGive(call: Call, userId: string, wanted: string | null, present: string | null): void {
    if (wanted !== null && wanted !== present) permissions.requireMayGiveStaffRole(call, wanted, { userId });
  }

  /** @throws ProblemError validation_failed */
  async function requireKnown(
    { staff_role, supervisor_id }: { staff_role?: unknown; supervisor_id?: unknown },
    userId: string,
  ): Promise<void> {
    if (typeof staff_role === "string" && access.role(staff_role) === undefined)
      throw fieldError("/staff_role", "unknown_role", say("callsigns.there-is-no-such-staff-role"));
    if (typeof supervisor_id !== "string") return;
    const supervisor = await access.resolve(supervisor_id);
    requireAnswered(supervisor);
    if (supervisor_id === userId || !supervisor.isStaff)
      throw fieldError("/supervisor_id", "not_staff", say("roster.a-supervisor-is-another-member-of-the"));
  }

  /** @throws ProblemError validation_failed */
  async function userIdOf(call: Call, key: string): Promise<string> {
    const id = key === "@me" ? (call.actor?.id ?? key) : key.toLowerCase();
    const row = await database.read.rosterEntry.findFirst({ where: { OR: [{ id }, { userId: id }] }, select: { userId: true } });
    if (row === null) throw fieldError("/id", "unknown_entry", say("roster.nobody-of-that-id-is-on-the"), "path");
    return row.userId;
  }

  /** A change of what is noted is no line of the history, and what is noted is not in the audit. */
  async function note(tx: Tx, entry: RosterEntry, notes: string | null): Promise<RosterEntry> {
    const row = await tx.db.rosterEntry.update({
      where: { id: entry.id },
      data: { notes, updatedAt: tx.now, revision: entry.revision + 1 },
    });
    const target = { kind: "roster_entry", id: row.id };
    audit.record(tx, { action: "roster.noted", target, subjectUserId: row.userId, permission: rosterPolicy.edit });
    return row;
  }

  async function written(tx: Tx, entry: RosterEntry, input: Update, { stood, steps }: { stood: RosterFacts; steps: RosterStep[] }) {
    const { notes = entry.notes, reason, effective_at, correction } = input;
    const [first, ...more] = steps;
    if (first === undefined) return notes === entry.notes ? entry : await note(tx, entry, notes);
    const told = {
      causeReference: null,
      permission: correction ? rosterPolicy.correct : rosterPolicy.edit,
      reason,
      effectiveAt: effective_at === undefined ? undefined : new Date(effective_at),
    };
    const whose = { userId: entry.userId, entry };
    const row = await roster.records.write(tx, whose, [first, ...more], told, { before: stood, extras: { notes } });
    // Anyone who leaves leaves their callsigns: they rest.
    if (isLive(entry) && !isLive(row)) await callsigns.holdAllInTx(tx, row.userId, told);
    return row;
  }

  return {
    /**
     * Put somebody on the roster without a request. Who was terminated comes back only at the hands of holders of roster.apply_fixes.
     * @throws ProblemError conflict_of_interest, hierarchy_violation, validation_failed, invalid_transition
     */
    async create(call: Call, given: CreateEntryInput): Promise<EntryView> {
      requireWrite(call, rosterPolicy.edit);
      const input = CreateEntryInput.parse(given);
      const { user_id: userId, staff_role: staffRole = null, department, supervisor_id: supervisorId, notes, reason } = input;
      const person = await access.resolve(userId);
      await requireKnown(input, userId);
      requireBelow(call, userId, [staffRole]);
      const joinedAt = pastOf(input.joined_at, "/joined_at", clock.now());
      const view = await database.write(call, async (tx) => {
        await roster.records.lock(tx, userId);
        const former = await roster.find(tx.db, userId);
        await conflicts.requireNoOtherOwn(tx.db, call, userId);
        requireBelow(call, userId, [former?.staffRole]);
        requireMayGive(call, userId, staffRole, null);
        if (joinedAt !== undefined && former?.endedAt && joinedAt < former.endedAt)
          throw fieldError("/joined_at", "too_early", say("roster.they-come-back-after-they-left"));
        const isCorrection = can(call, rosterPolicy.correct);
        const permission = former?.status === "terminated" ? rosterPolicy.correct : rosterPolicy.edit;
        const beginning = { userId, staffRole, department, supervisorId, trialDays: input.trial_days, isCorrection };
        const told = { causeReference: null, permission, reason, effectiveAt: joinedAt };
        const { entry } = await roster.beginTrialInTx(tx, { ...beginning, ...told });
        return await viewOf(tx, notes === undefined ? entry : await note(tx, entry, notes), person);
      });
      return await shown(call, view);
    },

    /**
     * Change an entry, from now on or since an earlier day; what later lines of its history changed stays changed.
     * @throws ProblemError permission_denied, conflict_of_interest, hierarchy_violation, validation_failed, precondition_failed,
     * invalid_transition
     */
    async update(call: Call, key: string, given: UpdateEntryInput, ifMatch?: number): Promise<EntryView> {
      requireWrite(call, rosterPolicy.edit);
      const input = UpdateEntryInput.parse(given);
      if (input.correction) requirePermission(call, rosterPolicy.correct);
      const userId = await userIdOf(call, key);
      const person = await access.resolve(userId);
      await requireKnown(input, userId);
      const effectiveAt = pastOf(input.effective_at, "/effective_at", clock.now());
      const view = await database.write(call, async (tx) => {
        await roster.records.lock(tx, userId);
        const entry = await tx.db.rosterEntry.findUniqueOrThrow({ where: { userId } });
        await conflicts.requireNoOtherOwn(tx.db, call, userId);
        requireBelow(call, userId, [entry.staffRole, input.staff_role]);
        // Nobody reads what is noted about themselves.
        if (input.notes !== undefined && call.actor?.id === userId) throw notReadable(call, ["/notes"]);
        requireRevision(ifMatch, entry.revision);
        const stood = await roster.records.standAt(tx.db, entry, effectiveAt);
        if (stood === null) throw fieldError("/effective_at", "too_early", say("roster.they-were-not-on-the-roster-then"));
        requireAhead(input, tx.now);
        const ground = { at: effectiveAt ?? tx.now, isCorrection: input.correction, mayCorrect: can(call, rosterPolicy.correct), rankOf };
        const steps = stepsTo(stood, input, ground);
        const after = steps.at(-1)?.after;
        if (after !== undefined && isLive(after)) requireMayGive(call, userId, after.staff_role, isLive(entry) ? entry.staffRole : null);
        return await viewOf(tx, await written(tx, entry, input, { stood, steps }), person);
      });
      return await shown(call, view);
    },
  };
}

/** @throws ProblemError validation_failed for a time that has not come */
function pastOf(at: string | undefined, pointer: string, now: Date): Date | undefined {
  if (at === undefined) return undefined;
  const date = new Date(at);
  if (date > now) throw fieldError(pointer, "in_the_future", say("roster.what-has-not-come-yet-is-not"));
  return date;
}

/** @throws ProblemError validation_failed for an end that is over already */
function requireAhead({ suspended_until: until, correction }: Update, now: Date): void {
  if (typeof until === "string" && !correction && new Date(until) <= now)
    throw fieldError("/suspended_until", "too_early", say("roster.a-suspension-ends-after-now"));
}
