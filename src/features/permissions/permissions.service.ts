import type { Database, Tx } from "../../database/database.ts";
import type { Call } from "../../kernel/call.ts";
import { requirePermission, requireWrite } from "../../kernel/call.ts";
import { recordNotFound } from "../../kernel/errors.ts";
import type { Cursors, Page } from "../../kernel/page.ts";
import { toPage, withTotal } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";
import { catalog, knownPermissions } from "./catalog.ts";
import {
  effectivePermissions,
  permissionsPolicy,
  presentCatalogEntry,
  presentRolePermissions,
  requireHeld,
  requireRankAbove,
  requireRevision,
} from "./permissions.policy.ts";
import { ReplaceRolePermissionsInput } from "./permissions.schema.ts";
import type { CatalogView, PermissionsListQuery, RolePermissionsView } from "./permissions.schema.ts";
import { createScopes, isKnownScope } from "./scopes.ts";
import type { StaffRoleRecord, Standings } from "./standing.ts";

export type PermissionsService = ReturnType<typeof createPermissionsService>;

export interface PermissionsDeps {
  database: Database;
  audit: AuditService;
  standing: Standings;
  cursors: Cursors;
}

/** What is permitted to whom by role, and the rules of granting that other rooms share. */
export function createPermissionsService({ database, audit, standing, cursors }: PermissionsDeps) {
  async function replace(call: Call, key: string, { allow, deny }: ReplaceRolePermissionsInput, ifMatch: number | undefined) {
    return await database.write(call, async (tx) => {
      await tx.lock("staff-roles");
      const before = await standing.readRole(tx.db, key);
      if (before === null) throw recordNotFound();
      requireRankAbove(call, before.rank);
      requireRevision(ifMatch, before.revision);
      const wanted = { allow: new Set(allow), deny: new Set(deny) };
      if (isSame(before.rules.allow, wanted.allow) && isSame(before.rules.deny, wanted.deny))
        return presentRolePermissions(before, { withEffective: true });
      await writeMapping(tx, key, wanted);
      const after = await requireRole(tx, key);
      const held = new Set(effectivePermissions(before.rules));
      requireHeld(
        call,
        effectivePermissions(after.rules).filter((permission) => !held.has(permission)),
      );
      audit.record(tx, {
        action: "role_permissions.update",
        target: { kind: "staff_role", id: key },
        before: mappingOf(before),
        after: mappingOf(after),
        permission: permissionsPolicy.replaceRole,
      });
      tx.afterCommit(() => standing.setRole(after));
      return presentRolePermissions(after, { withEffective: true });
    });
  }

  async function requireRole(tx: Tx, key: string): Promise<StaffRoleRecord> {
    const role = await standing.readRole(tx.db, key);
    if (role === null) throw recordNotFound();
    return role;
  }

  return {
    /** Every permission there is. */
    knownPermissions,
    isKnownScope,
    createScopes,
    effectivePermissions,
    requireHeld,
    requireRankAbove,
    requireRevision,

    /** The definitions of all permissions, ordered by key. */
    async catalog(call: Call, query: PermissionsListQuery): Promise<Page<CatalogView>> {
      requirePermission(call, permissionsPolicy.catalog);
      const { limit, cursor } = query;
      const after = cursor === undefined ? "" : cursors.decode("permissions.catalog", {}, cursor)[1];
      const rows = catalog.filter((entry) => entry.key > after).slice(0, limit + 1);
      const page = toPage(rows, limit, presentCatalogEntry, (last) => cursors.encode("permissions.catalog", {}, [last.key, last.key]));
      return withTotal(page, query, () => catalog.length);
    },

    /** What every staff role holds, ordered by key. */
    async roles(call: Call, query: PermissionsListQuery): Promise<Page<RolePermissionsView>> {
      requirePermission(call, permissionsPolicy.roles);
      const { limit, cursor } = query;
      const after = cursor === undefined ? "" : cursors.decode("permissions.roles", {}, cursor)[1];
      const rows = standing
        .roles()
        .filter((role) => role.key > after)
        .toSorted(byKey)
        .slice(0, limit + 1);
      const present = (role: StaffRoleRecord): RolePermissionsView => presentRolePermissions(role, { withEffective: false });
      const page = toPage(rows, limit, present, (last) => cursors.encode("permissions.roles", {}, [last.key, last.key]));
      return withTotal(page, query, () => standing.roles().length);
    },

    /** @throws ProblemError record_not_found */
    async role(call: Call, key: string): Promise<RolePermissionsView> {
      requirePermission(call, permissionsPolicy.roles);
      const role = standing.role(key);
      if (role === undefined) throw recordNotFound();
      return presentRolePermissions(role, { withEffective: true });
    },

    /**
     * Replace what a staff role allows and denies. Keys of a newer version are kept.
     * @throws ProblemError record_not_found, precondition_failed, hierarchy_violation, cannot_grant_unheld
     */
    async replaceRole(call: Call, key: string, input: ReplaceRolePermissionsInput, ifMatch?: number): Promise<RolePermissionsView> {
      requireWrite(call, permissionsPolicy.replaceRole);
      return await replace(call, key, ReplaceRolePermissionsInput.parse(input), ifMatch);
    },

    /** Make somebody an owner, as part of another room's transaction; an owner stays one. */
    async addOwner(tx: Tx, userId: string): Promise<void> {
      if ((await tx.db.owner.findUnique({ where: { userId } })) !== null) return;
      await tx.db.owner.create({
        data: { userId, createdAt: tx.now, createdBy: tx.call.actor?.id ?? tx.call.client?.name ?? tx.call.via },
      });
      audit.record(tx, { action: "owner.create", target: { kind: "user", id: userId }, subjectUserId: userId });
    },
  };
}

interface Mapping {
  allow: ReadonlySet<string>;
  deny: ReadonlySet<string>;
}

async function writeMapping({ db, now }: Tx, staffRoleKey: string, { allow, deny }: Mapping): Promise<void> {
  const rows = (keys: ReadonlySet<string>, effect: string): { staffRoleKey: string; permission: string; effect: string }[] =>
    [...keys].map((permission) => ({ staffRoleKey, permission, effect }));
  await db.rolePermission.deleteMany({ where: { staffRoleKey } });
  await db.rolePermission.createMany({ data: [...rows(allow, "allow"), ...rows(deny, "deny")] });
  await db.staffRole.update({ where: { key: staffRoleKey }, data: { revision: { increment: 1 }, updatedAt: now } });
}

function mappingOf({ rules }: StaffRoleRecord): { allow: string[]; deny: string[] } {
  return { allow: [...rules.allow].toSorted(), deny: [...rules.deny].toSorted() };
}

function isSame(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((key) => b.has(key));
}

function byKey(a: StaffRoleRecord, b: StaffRoleRecord): number {
  return a.key < b.key ? -1 : 1;
}
