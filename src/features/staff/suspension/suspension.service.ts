import { say } from "../../../kit/say.ts";
import type { Database, Tx } from "../../../database/database.ts";
import { requireWrite, type Call } from "../../../kernel/call.ts";
import { fieldError, ProblemError } from "../../../kernel/errors.ts";
import type { AuditService } from "../../audit/audit.service.ts";
import type { KeysService } from "../../keys/keys.service.ts";
import type { PermissionsService } from "../../permissions/permissions.service.ts";
import type { Override, Access, AccessDirectory } from "../../permissions/access/access-directory.ts";
import { endOf, ReinstateInput, SuspendInput, type SuspensionStateView } from "../duty/duty.schema.ts";
import { findColleague, illegal, staffPolicy } from "../staff.policy.ts";
import { presentSuspension } from "../profile/profile.policy.ts";
import type { EventsService } from "../../events/events.service.ts";

export interface SuspensionsDeps extends SuspensionRowDeps {
  database: Database;
  audit: AuditService;
  access: AccessDirectory;
  permissions: Pick<PermissionsService, "requireRankAbove" | "userRows" | "suspensionAt" | "suspensionBy" | "suspensionsAt">;
}

/** A suspension takes every permission away at once: it is a personal entry that denies them all. */
export function createSuspensionsService(deps: SuspensionsDeps) {
  const { database, access, permissions } = deps;
  const { persist } = createSuspensionRows(deps);

  /** @throws ProblemError record_not_found, hierarchy_violation */
  async function targetOf(call: Call, userId: string): Promise<Access> {
    const target = await findColleague(access, userId);
    if (target.isOwner) throw new ProblemError("hierarchy_violation", { detail: say("staff.owners-cannot-be-suspended") });
    if (call.actor?.id === userId)
      throw new ProblemError("hierarchy_violation", { detail: say("staff.nobody-suspends-or-reinstates-themselves") });
    permissions.requireRankAbove(call, target.rank);
    return target;
  }

  return {
    /** @throws ProblemError record_not_found, hierarchy_violation, invalid_transition, validation_failed (an end in the past) */
    async suspend(call: Call, userId: string, given: SuspendInput): Promise<SuspensionStateView> {
      requireWrite(call, staffPolicy.suspend);
      const input = SuspendInput.parse(given);
      const target = await targetOf(call, userId);
      return await database.write(call, async (tx) => {
        const expiresAt = endOf(input, tx.now);
        if (expiresAt !== null && expiresAt <= tx.now)
          throw fieldError("/until", "in_the_past", say("staff.a-suspension-ends-after-it-begins"));
        const { rows } = await permissions.userRows.open(tx, userId);
        const running = permissions.suspensionAt(rows, tx.now);
        if (running !== undefined) throw illegal("suspended", "suspend", ["reinstate"], { suspension: presentSuspension(running) });
        const { reason } = input;
        const entry = permissions.suspensionBy(call, { reason, expiresAt }, tx.now);
        const entries = { rows: [...rows, entry], gone: [], fresh: [entry] };
        return await persist(tx, target, "suspend", entries, { reason, permission: staffPolicy.suspend });
      });
    },

    /** End a suspension before its time. @throws ProblemError record_not_found, hierarchy_violation, invalid_transition */
    async reinstate(call: Call, userId: string, given: ReinstateInput): Promise<SuspensionStateView> {
      requireWrite(call, staffPolicy.suspend);
      const { reason } = ReinstateInput.parse(given);
      const target = await targetOf(call, userId);
      return await database.write(call, async (tx) => {
        const { rows } = await permissions.userRows.open(tx, userId);
        const running = permissions.suspensionAt(rows, tx.now);
        if (running === undefined) throw illegal(target.status, "reinstate", ["suspend"]);
        const gone = permissions.suspensionsAt(rows, tx.now);
        const entries = { rows: rows.filter((entry) => !gone.includes(entry)), gone, fresh: [] };
        return await persist(tx, target, "reinstate", entries, { reason, ended: running, permission: staffPolicy.suspend });
      });
    },
  };
}

type Entries = Parameters<PermissionsService["userRows"]["save"]>[2];

export interface SuspensionRowDeps {
  keys: Pick<KeysService, "madeBy">;
  events: Pick<EventsService, "emit">;
  access: Pick<AccessDirectory, "suppose">;
  permissions: Pick<PermissionsService, "userRows" | "suspensionAt">;
}

/** Why the entries that suspend somebody change, as the audit is told. */
interface Cause {
  reason: string;
  permission: string;
  /** The suspension that is ended. */
  ended?: Override;
  /** The request that led to it. */
  request?: string;
}

/** The entries that suspend somebody, inside a given transaction. */
export function createSuspensionRows(deps: SuspensionRowDeps & { audit: Pick<AuditService, "record"> }) {
  const { audit, events, access, permissions, keys } = deps;
  return {
    /** Write and audit the change, tell anyone who follows along, and present how it stands now. */
    async persist(tx: Tx, target: Access, change: "suspend" | "reinstate", entries: Entries, cause: Cause): Promise<SuspensionStateView> {
      const { id: userId } = target;
      const revision = await permissions.userRows.save(tx, userId, entries);
      events.emit(tx, { type: "staff.access_changed", data: { user_id: userId, change } });
      const status = access.suppose(target, { overrides: entries.rows }).status ?? "former";
      const suspension = presentSuspension(permissions.suspensionAt(entries.rows, tx.now));
      const { ended, request, ...note } = cause;
      const stopped = await keys.madeBy(tx, userId);
      audit.record(tx, {
        action: `staff.${change}`,
        user: userId,
        before: ended === undefined ? { status: target.status } : { suspension: presentSuspension(ended) },
        after: {
          // Anyone who never was staff has no status, before and after.
          status: target.status === null ? null : status,
          ...(change === "suspend" && { until: suspension?.until ?? null }),
          ...(request !== undefined && { request }),
          ...(stopped.length > 0 && { keys: stopped }),
        },
        ...note,
      });
      return { user_id: userId, status, suspension, revision, keys: stopped };
    },
  };
}
