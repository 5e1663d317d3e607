import type { Database, Tx } from "../../database/database.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import type { Call } from "../../kernel/call.ts";
import { requirePermission, requireWrite } from "../../kernel/call.ts";
import { ProblemError, recordNotFound } from "../../kernel/errors.ts";
import type { Cursors, Page } from "../../kernel/page.ts";
import { toPage, withTotal } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { StaffRoleRecord, Standings } from "../permissions/standing.ts";
import { staffPolicy } from "./staff.policy.ts";
import { presentStaffRole, requireDiscordRoles, requireLevel, requireUnclaimed } from "./staff.roles.policy.ts";
import { PutStaffRoleInput } from "./staff.roles.schema.ts";
import type { StaffRolesListQuery, StaffRoleView } from "./staff.roles.schema.ts";

export type StaffRolesService = ReturnType<typeof createStaffRolesService>;

export interface StaffRolesDeps {
  database: Database;
  audit: AuditService;
  guildState: GuildState;
  standing: Standings;
  permissions: Pick<PermissionsService, "effectivePermissions" | "requireHeld" | "requireRankAbove" | "requireRevision">;
  cursors: Cursors;
}

/** Staff roles and the Discord roles that stand for them. */
export function createStaffRolesService({ database, audit, guildState, standing, permissions, cursors }: StaffRolesDeps) {
  function present(role: StaffRoleRecord): StaffRoleView {
    const members = standing.countHolders(new Set(role.discord.map(({ guildId, roleId }) => `${guildId}:${roleId}`)));
    return presentStaffRole(role, { permissions: permissions.effectivePermissions(role.rules).length, members }, guildState);
  }

  /** @throws ProblemError hierarchy_violation, cannot_grant_unheld, last_owner */
  function requireMayPut(call: Call, before: StaffRoleRecord | null, after: StaffRoleRecord): void {
    const gives = permissions.effectivePermissions(after.rules);
    const gave = new Set(before === null || hasNewHolders(before, after) ? [] : permissions.effectivePermissions(before.rules));
    permissions.requireHeld(
      call,
      gives.filter((key) => !gave.has(key)),
    );
    if (standing.losesLastOwner(after)) throw new ProblemError("last_owner", { detail: "Nobody would be an owner any more." });
  }

  async function put(tx: Tx, key: string, input: PutStaffRoleInput, ifMatch: number | undefined): Promise<StaffRoleView> {
    await tx.lock("staff-roles");
    const before = await standing.readRole(tx.db, key);
    permissions.requireRevision(ifMatch, before?.revision ?? null);
    for (const role of [before, input]) {
      if (role === null) continue;
      permissions.requireRankAbove(tx.call, role.rank);
      requireLevel(tx.call, ownLevel(tx.call), role.level);
    }
    requireDiscordRoles(input.discord, before, guildState);
    requireUnclaimed(await claimsOfOthers(tx, key, input));
    if (before !== null && isSame(before, input)) return present(before);
    await write(tx, key, input, before !== null);
    const after = await standing.readRole(tx.db, key);
    if (after === null) throw recordNotFound();
    requireMayPut(tx.call, before, after);
    audit.record(tx, {
      action: before === null ? "staff_role.create" : "staff_role.update",
      target: { kind: "staff_role", id: key },
      ...(before !== null && { before: settingsOf(before) }),
      after: settingsOf(after),
      permission: staffPolicy.manageRoles,
    });
    tx.afterCommit(() => standing.setRole(after));
    return present(after);
  }

  function ownLevel(call: Call): StaffRoleRecord["level"] {
    return call.actor === null ? "owner" : standing.of(call.actor.id).level;
  }

  return {
    /** Staff roles, highest rank first. */
    async list(call: Call, query: StaffRolesListQuery): Promise<Page<StaffRoleView>> {
      requirePermission(call, staffPolicy.roles);
      const { limit, cursor } = query;
      const position = cursor === undefined ? undefined : cursors.decode("staffroles", {}, cursor);
      const all = standing.roles().toSorted((a, b) => b.rank - a.rank || (a.key < b.key ? -1 : 1));
      const isAfter = (role: StaffRoleRecord): boolean =>
        position === undefined || role.rank < Number(position[0]) || (role.rank === Number(position[0]) && role.key > position[1]);
      const rows = all.filter(isAfter).slice(0, limit + 1);
      const page = toPage(rows, limit, present, (last) => cursors.encode("staffroles", {}, [last.rank, last.key]));
      return withTotal(page, query, () => all.length);
    },

    /** @throws ProblemError record_not_found */
    async get(call: Call, key: string): Promise<StaffRoleView> {
      requirePermission(call, staffPolicy.roles);
      const role = standing.role(key);
      if (role === undefined) throw recordNotFound();
      return present(role);
    },

    /**
     * Create or replace a staff role.
     * @throws ProblemError precondition_failed, hierarchy_violation, cannot_grant_unheld, last_owner, duplicate_active_record,
     * validation_failed (a guild or Discord role that does not exist)
     */
    async put(call: Call, key: string, given: PutStaffRoleInput, ifMatch?: number): Promise<StaffRoleView> {
      requireWrite(call, staffPolicy.manageRoles);
      const input = PutStaffRoleInput.parse(given);
      return await database.write(call, (tx) => put(tx, key, input, ifMatch));
    },
  };
}

async function claimsOfOthers({ db }: Tx, key: string, { discord }: PutStaffRoleInput) {
  if (discord.length === 0) return [];
  const refs = discord.map(({ guild_id, role_id }) => ({ guildId: guild_id, roleId: role_id }));
  return await db.staffRoleDiscordRole.findMany({ where: { OR: refs, NOT: { staffRoleKey: key } }, take: 1 });
}

async function write({ db, now }: Tx, key: string, input: PutStaffRoleInput, isKnown: boolean): Promise<void> {
  const { name, rank, level, capacity = null, callsign_pool: callsignPool = null } = input;
  const fields = { name, rank, level, capacity, callsignPool, updatedAt: now };
  if (isKnown) await db.staffRole.update({ where: { key }, data: { ...fields, revision: { increment: 1 } } });
  else await db.staffRole.create({ data: { key, ...fields, createdAt: now } });
  await db.staffRoleDiscordRole.deleteMany({ where: { staffRoleKey: key } });
  await db.staffRoleDiscordRole.createMany({
    data: input.discord.map(({ guild_id, role_id }) => ({ staffRoleKey: key, guildId: guild_id, roleId: role_id })),
  });
}

/** Whether a Discord role stands for this staff role that did not before: its holders gain everything the role gives. */
function hasNewHolders(before: StaffRoleRecord, after: StaffRoleRecord): boolean {
  const known = new Set(before.discord.map(({ guildId, roleId }) => `${guildId}:${roleId}`));
  return after.discord.some(({ guildId, roleId }) => !known.has(`${guildId}:${roleId}`));
}

function settingsOf({ name, rank, level, capacity, callsignPool, discord }: StaffRoleRecord): PutStaffRoleInput {
  const refs = discord.map(({ guildId, roleId }) => ({ guild_id: guildId, role_id: roleId }));
  return { name, rank, level, capacity, callsign_pool: callsignPool, discord: refs };
}

function isSame(role: StaffRoleRecord, input: PutStaffRoleInput): boolean {
  const { name, rank, level, capacity = null, callsign_pool = null } = input;
  const discord = input.discord.toSorted((a, b) => (`${a.guild_id}:${a.role_id}` < `${b.guild_id}:${b.role_id}` ? -1 : 1));
  const wanted = { name, rank, level, capacity, callsign_pool, discord: discord.map(({ guild_id, role_id }) => ({ guild_id, role_id })) };
  return JSON.stringify(settingsOf(role)) === JSON.stringify(wanted);
}
