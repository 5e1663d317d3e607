import type { Database, Tx } from "../../database/database.ts";
import type { Call } from "../../kernel/call.ts";
import { requireWrite } from "../../kernel/call.ts";
import { fieldError, ProblemError, recordNotFound } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { Override, Standing, Standings } from "../permissions/standing.ts";
import { endOf, ReinstateInput, SuspendInput } from "./staff.duty.schema.ts";
import type { SuspensionStateView } from "./staff.duty.schema.ts";
import { staffPolicy } from "./staff.policy.ts";
import { presentSuspension, suspensionOf } from "./staff.profile.policy.ts";

export interface SuspensionsDeps {
  database: Database;
  audit: AuditService;
  events: Pick<EventsService, "emit">;
  standing: Standings;
  permissions: Pick<PermissionsService, "requireRankAbove">;
}

/** A suspension takes every permission away at once: it is a personal entry that denies them all. */
export function createSuspensionsService({ database, audit, events, standing, permissions }: SuspensionsDeps) {
  /** @throws ProblemError record_not_found, hierarchy_violation */
  async function targetOf(call: Call, userId: string): Promise<Standing> {
    const target = await standing.resolve(userId);
    if (target.status === null) throw recordNotFound();
    if (target.isOwner) throw new ProblemError("hierarchy_violation", { detail: "Owners cannot be suspended." });
    if (call.actor?.id === userId) throw new ProblemError("hierarchy_violation", { detail: "Nobody suspends or reinstates themselves." });
    permissions.requireRankAbove(call, target.rank);
    return target;
  }

  /** The entries of somebody, under the lock their permissions are changed under. */
  async function open(tx: Tx, userId: string): Promise<Override | undefined> {
    await tx.lock(`user-permissions:${userId}`);
    return suspensionOf(await standing.readOverrides(tx.db, userId), tx.now);
  }

  /** Number the change, tell memory and whoever follows along, and present how it stands now. */
  async function settle(tx: Tx, target: Standing, change: "suspend" | "reinstate"): Promise<SuspensionStateView> {
    const { id: userId } = target;
    const { revision } = await tx.db.userPermissionSet.upsert({
      where: { userId },
      create: { userId, updatedAt: tx.now },
      update: { updatedAt: tx.now, revision: { increment: 1 } },
    });
    const entries = await standing.readOverrides(tx.db, userId);
    events.emit(tx, { type: "staff.access_changed", data: { user_id: userId, change } });
    tx.afterCommit(() => standing.setOverrides(userId, entries, revision));
    const status = standing.suppose(target, { overrides: entries }).status ?? "former";
    return { user_id: userId, status, suspension: presentSuspension(suspensionOf(entries, tx.now)), revision };
  }

  return {
    /** @throws ProblemError record_not_found, hierarchy_violation, invalid_transition, validation_failed (an end in the past) */
    async suspend(call: Call, userId: string, given: SuspendInput): Promise<SuspensionStateView> {
      requireWrite(call, staffPolicy.suspend);
      const input = SuspendInput.parse(given);
      const target = await targetOf(call, userId);
      return await database.write(call, async (tx) => {
        const expiresAt = endOf(input, tx.now);
        if (expiresAt !== null && expiresAt <= tx.now) throw fieldError("/until", "in_the_past", "A suspension ends after it begins.");
        const running = await open(tx, userId);
        if (running !== undefined) throw illegal("suspended", "suspend", { suspension: presentSuspension(running) });
        const { reason } = input;
        const entry = { permission: "*", effect: "deny", guildId: null, reason, expiresAt, createdBy: call.actor?.id ?? null };
        await tx.db.userPermission.create({ data: { id: uuid7(tx.now.getTime()), userId, ...entry, createdAt: tx.now } });
        const view = await settle(tx, target, "suspend");
        audit.record(tx, {
          action: "staff.suspend",
          target: { kind: "user", id: userId },
          subjectUserId: userId,
          reason,
          before: { status: target.status },
          after: { status: view.status, until: view.suspension?.until ?? null },
          permission: staffPolicy.suspend,
        });
        return view;
      });
    },

    /** End a suspension before its time. @throws ProblemError record_not_found, hierarchy_violation, invalid_transition */
    async reinstate(call: Call, userId: string, given: ReinstateInput): Promise<SuspensionStateView> {
      requireWrite(call, staffPolicy.suspend);
      const { reason } = ReinstateInput.parse(given);
      const target = await targetOf(call, userId);
      return await database.write(call, async (tx) => {
        const running = await open(tx, userId);
        if (running === undefined) throw illegal(target.status, "reinstate");
        const inForce = [{ expiresAt: null }, { expiresAt: { gt: tx.now } }];
        await tx.db.userPermission.deleteMany({ where: { userId, permission: "*", effect: "deny", OR: inForce } });
        const view = await settle(tx, target, "reinstate");
        audit.record(tx, {
          action: "staff.reinstate",
          target: { kind: "user", id: userId },
          subjectUserId: userId,
          reason,
          before: { suspension: presentSuspension(running) },
          after: { status: view.status },
          permission: staffPolicy.suspend,
        });
        return view;
      });
    },
  };
}

/** @param known what the caller is told besides */
function illegal(from: string | null, action: "suspend" | "reinstate", known: object = {}): ProblemError {
  const allowed = action === "suspend" ? ["reinstate"] : ["suspend"];
  return new ProblemError("invalid_transition", { extra: { from, action, allowed, ...known } });
}
