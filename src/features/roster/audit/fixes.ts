import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import type { Tx } from "../../../database/database.ts";
import type { RosterFinding } from "../../../generated/sqlite/client.ts";
import { requirePermission, requireWrite, type Call } from "../../../kernel/call.ts";
import { callerOf, isDenial } from "../../../kernel/denied.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import type { AuditService } from "../../audit/audit.service.ts";
import type { Conflicts } from "../../links/conflicts.ts";
import type { PermissionsService } from "../../permissions/permissions.service.ts";
import { gone } from "./acknowledge.ts";
import { auditChecks, type Fix } from "./checks.ts";
import { createFixings, syncFields, type Fixed, type FixingDeps, type SyncMember } from "./fixing.ts";
import type { AuditDb, AuditedPerson, AuditPeople } from "./people.ts";
import { auditPermissions } from "./audit.policy.ts";
import { findingsOf } from "./scan.ts";
import { AuditCode, FixFindingsInput, type FindingResult, type FindingResults } from "./audit.schema.ts";
import type { RosterService } from "../roster.service.ts";

export interface FixesDeps extends FixingDeps, Deps<"database" | "clock"> {
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
export function createFixes(deps: FixesDeps) {
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
