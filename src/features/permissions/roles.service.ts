import type { Deps } from "../deps.ts";
import { z } from "zod";
import type { Tx } from "../../database/database.ts";
import { requirePermission, requireWrite, type Call } from "../../kernel/call.ts";
import { recordNotFound } from "../../kernel/errors.ts";
import type { Held } from "../../kernel/held.ts";
import { toPage, withTotal, type Page } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { ConfirmationsService } from "../confirmations/confirmations.service.ts";
import type { EventsService } from "../events/events.service.ts";
import { dangerousOf, loosened, requireRankAbove, type RequireKeys } from "./grant.ts";
import { permissionsPolicy, presentRolePermissions, summaryOf } from "./permissions.policy.ts";
import { requireRevision } from "../../kernel/revision.ts";
import {
  ReplaceRolePermissionsInput,
  StaffRoleKey,
  UpdateRolePermissionsInput,
  type PermissionsListQuery,
  type RolePermissionsView,
} from "./permissions.schema.ts";
import { changedKeys, isSameMapping, mappingOf, replacedWith, updatedWith, type Mapping } from "./simulate.ts";
import { roleRules } from "./resolve.ts";
import type { StaffRoleRecord } from "./access/access-directory.ts";

export interface RolePermissionsDeps extends Deps<"database" | "access" | "cursors"> {
  audit: AuditService;
  events: EventsService;
  confirmations: ConfirmationsService;
  requireKeys: RequireKeys;
}

/** What staff roles hold. */
export function createRolePermissions(deps: RolePermissionsDeps) {
  const { database, audit, events, confirmations, access, cursors, requireKeys } = deps;

  async function write(tx: Tx, before: StaffRoleRecord, after: StaffRoleRecord): Promise<void> {
    await writeMapping(tx, after.key, after.rules);
    audit.record(tx, {
      action: "role_permissions.update",
      target: { kind: "staff_role", id: after.key },
      before: mappingOf(before.rules),
      after: mappingOf(after.rules),
      permission: permissionsPolicy.changeRole,
    });
    events.emit(tx, { type: "permission.changed", data: { role_key: after.key } });
    tx.afterCommit(() => access.setRole(after));
  }

  /** A service method that changes what a role holds: asked for now, and carried out later where it has to be confirmed. */
  function verb<Given, Input extends object>(
    action: "permissions.roles.replace" | "permissions.roles.update",
    schema: z.ZodType<Input, Given>,
    changeOf: (input: Input) => (before: Mapping) => Mapping,
  ) {
    async function apply(tx: Tx, key: string, input: Input, ifMatch: number | undefined): Promise<RolePermissionsView | Held> {
      await tx.lock("staff-roles");
      const before = await access.readRole(tx.db, key);
      if (before === null) throw recordNotFound();
      requireRankAbove(tx.call, before.rank);
      requireRevision(ifMatch, before.revision);
      const wanted = changeOf(input)(before.rules);
      if (isSameMapping(before.rules, wanted)) {
        tx.afterCommit(() => access.setRole(before));
        return presentRolePermissions(before, { withEffective: true });
      }
      const after = { ...before, rules: roleRules(key, before.level, wanted.allow, wanted.deny), revision: before.revision + 1 };
      const gained = loosened(before.rules, after.rules);
      requireKeys(tx.call, gained);
      const held = await confirmations.hold(tx, {
        action,
        group: "permissions",
        permission: permissionsPolicy.changeRole,
        input: { role_key: key, if_match: before.revision, input },
        summary: summaryOf("role", key, changedKeys(before.rules, wanted)),
        dangerous: dangerousOf(gained),
        rank: before.rank,
      });
      if (held !== undefined) return held;
      await write(tx, before, after);
      return presentRolePermissions(after, { withEffective: true });
    }

    const HeldChange = z.strictObject({ role_key: StaffRoleKey, if_match: z.int(), input: schema });
    confirmations.register(action, (tx, held) => {
      requireWrite(tx.call, permissionsPolicy.changeRole);
      const { role_key, input, if_match } = HeldChange.parse(held);
      return apply(tx, role_key, input, if_match);
    });
    return async (call: Call, key: string, given: Given, ifMatch?: number): Promise<RolePermissionsView | Held> => {
      requireWrite(call, permissionsPolicy.changeRole);
      const input = schema.parse(given);
      return await database.write(call, (tx) => apply(tx, key, input, ifMatch));
    };
  }

  return {
    /** What every staff role holds, ordered by key. */
    async roles(call: Call, query: PermissionsListQuery): Promise<Page<RolePermissionsView>> {
      requirePermission(call, permissionsPolicy.roles);
      const { limit, cursor } = query;
      const after = cursor === undefined ? "" : cursors.decode("permissions.roles", {}, cursor)[1];
      const rows = access
        .roles()
        .filter((role) => role.key > after)
        .toSorted((a, b) => (a.key < b.key ? -1 : 1))
        .slice(0, limit + 1);
      const present = (role: StaffRoleRecord): RolePermissionsView => presentRolePermissions(role, { withEffective: false });
      const page = toPage(rows, limit, present, (last) => cursors.encode("permissions.roles", {}, [last.key, last.key]));
      return withTotal(page, query, () => access.roles().length);
    },

    /** @throws ProblemError record_not_found */
    async role(call: Call, key: string): Promise<RolePermissionsView> {
      requirePermission(call, permissionsPolicy.roles);
      const role = access.role(key);
      if (role === undefined) throw recordNotFound();
      return presentRolePermissions(role, { withEffective: true });
    },

    /**
     * Replace what a staff role allows and denies. Keys of a newer version are kept.
     * @throws ProblemError record_not_found, precondition_failed, hierarchy_violation, cannot_grant_unheld
     */
    replaceRole: verb("permissions.roles.replace", ReplaceRolePermissionsInput, replacedWith),

    /**
     * Change what a staff role says about some keys; the others stay.
     * @throws ProblemError as `replaceRole`
     */
    updateRole: verb("permissions.roles.update", UpdateRolePermissionsInput, updatedWith),
  };
}

async function writeMapping({ db, now }: Tx, staffRoleKey: string, { allow, deny }: Mapping): Promise<void> {
  const rows = (keys: ReadonlySet<string>, effect: string): { staffRoleKey: string; permission: string; effect: string }[] =>
    [...keys].map((permission) => ({ staffRoleKey, permission, effect }));
  await db.rolePermission.deleteMany({ where: { staffRoleKey } });
  await db.rolePermission.createMany({ data: [...rows(allow, "allow"), ...rows(deny, "deny")] });
  await db.staffRole.update({ where: { key: staffRoleKey }, data: { revision: { increment: 1 }, updatedAt: now } });
}
