import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import type { Tx } from "../../../database/database.ts";
import { requirePermission, requireWrite, type Call } from "../../../kernel/call.ts";
import { ProblemError, recordNotFound } from "../../../kernel/errors.ts";
import type { Held } from "../../../kernel/held.ts";
import { toPage, withTotal, type Page } from "../../../kernel/page.ts";
import { requireRevision } from "../../../kernel/revision.ts";
import type { AuditService } from "../../audit/audit.service.ts";
import type { ConfirmationsService } from "../../confirmations/confirmations.service.ts";
import type { PermissionsService } from "../../permissions/permissions.service.ts";
import type { StaffRoleRecord } from "../../permissions/access/access-directory.ts";
import { staffPolicy } from "../staff.policy.ts";
import {
  gainsOf,
  isAboutAccess,
  newRefs,
  presentStaffRole,
  refsOf,
  requireDiscordRoles,
  requireUnclaimed,
  summaryOf,
  type RulesOfRoles,
} from "./roles.policy.ts";
import {
  DeleteStaffRoleInput,
  HeldStaffRoleChange,
  PatchStaffRoleInput,
  PutStaffRoleInput,
  type StaffRolesListQuery,
  type StaffRoleView,
} from "./roles.schema.ts";
import type { RoleWatch } from "./watch.ts";
import { roleRef } from "../../../kernel/ids.ts";

/** The Discord roles of an input that stand for another staff role. */
async function claimsOfOthers({ db }: Tx, key: string, { discord }: PutStaffRoleInput) {
  if (discord.length === 0) return [];
  const refs = discord.map(({ guild_id, role_id }) => ({ guildId: guild_id, roleId: role_id }));
  return await db.staffRoleDiscordRole.findMany({ where: { OR: refs, NOT: { staffRoleKey: key } }, take: 1 });
}

/** Create a staff role or replace its settings; what it allows and denies stays. */
async function writeRole({ db, now }: Tx, key: string, input: PutStaffRoleInput, isKnown: boolean): Promise<void> {
  const { name, rank, level, capacity = null, callsign_pool: callsignPool = null } = input;
  const fields = { name, rank, level, capacity, callsignPool, updatedAt: now };
  if (isKnown) await db.staffRole.update({ where: { key }, data: { ...fields, revision: { increment: 1 } } });
  else await db.staffRole.create({ data: { key, ...fields, createdAt: now } });
  await db.staffRoleDiscordRole.deleteMany({ where: { staffRoleKey: key } });
  await db.staffRoleDiscordRole.createMany({
    data: input.discord.map(({ guild_id, role_id }) => ({ staffRoleKey: key, guildId: guild_id, roleId: role_id })),
  });
}

/** A staff role as it is once the input is written. */
function recordOf(key: string, input: PutStaffRoleInput, before: StaffRoleRecord | null, { roleRules }: RulesOfRoles): StaffRoleRecord {
  const { name, rank, level, capacity = null, callsign_pool: callsignPool = null } = input;
  const discord = mappingsOf(input);
  const rules = roleRules(key, level, before?.rules.allow ?? new Set(), before?.rules.deny ?? new Set());
  return { key, name, rank, level, capacity, callsignPool, discord, rules, revision: (before?.revision ?? 0) + 1 };
}

type Mapping = StaffRoleRecord["discord"][number];

/** The order in which a staff role names its Discord roles. */
function byRef(a: Mapping, b: Mapping): number {
  return roleRef(a.guildId, a.roleId) < roleRef(b.guildId, b.roleId) ? -1 : 1;
}

/** The Discord roles of an input in the order of a staff role. */
function mappingsOf({ discord }: PutStaffRoleInput): Mapping[] {
  return discord.map(({ guild_id, role_id }) => ({ guildId: guild_id, roleId: role_id })).toSorted(byRef);
}

/** A staff role as it is sent, and kept in the audit. */
function settingsOf({ name, rank, level, capacity, callsignPool, discord }: StaffRoleRecord): PutStaffRoleInput {
  const refs = discord.map(({ guildId, roleId }) => ({ guild_id: guildId, role_id: roleId }));
  return { name, rank, level, capacity, callsign_pool: callsignPool, discord: refs };
}

/** Whether an input changes nothing. */
function isSame(role: StaffRoleRecord, input: PutStaffRoleInput): boolean {
  const { name, rank, level, capacity = null, callsign_pool: callsignPool = null } = input;
  const wanted = settingsOf({ ...role, name, rank, level, capacity, callsignPool, discord: mappingsOf(input) });
  return JSON.stringify(settingsOf(role)) === JSON.stringify(wanted);
}

/**
 * Changes of memory in the order of the transactions behind them: their commits may be heard of in another one, and a role that was
 * made again after its deletion has no revision that would tell.
 */
function createKeyedQueue() {
  const newest = new Map<string, number>();
  let last = 0;
  return {
    /**
     * Take a turn while the lock is held that orders the transactions.
     * @returns runs a change of memory, unless a later turn had its own already
     */
    take(thing: string): (change: () => void) => void {
      last += 1;
      const turn = last;
      return (change) => {
        if ((newest.get(thing) ?? 0) > turn) return;
        newest.set(thing, turn);
        change();
      };
    },
  };
}

export interface StaffRolesService {
  /** Staff roles, highest rank first. */
  list(call: Call, query: StaffRolesListQuery): Promise<Page<StaffRoleView>>;
  /** @throws ProblemError record_not_found */
  get(call: Call, key: string): Promise<StaffRoleView>;
  /**
   * Create or replace a staff role.
   * @throws ProblemError precondition_failed, hierarchy_violation, cannot_grant_unheld, last_owner, duplicate_active_record,
   * validation_failed (a guild or Discord role that does not exist)
   */
  put(call: Call, key: string, given: PutStaffRoleInput, ifMatch?: number): Promise<StaffRoleView | Held>;
  /** Change parts of a staff role. @throws ProblemError record_not_found and as `put` */
  patch(call: Call, key: string, given: PatchStaffRoleInput, ifMatch?: number): Promise<StaffRoleView | Held>;
  /**
   * Delete a staff role with its mappings. Its holders keep their Discord roles.
   * @returns the role as it was
   * @throws ProblemError record_not_found, precondition_failed, hierarchy_violation, cannot_grant_unheld, last_owner
   */
  remove(call: Call, key: string, given?: DeleteStaffRoleInput, ifMatch?: number): Promise<StaffRoleView | Held>;
}

export interface StaffRolesDeps extends Deps<"database" | "events" | "guildState" | "access" | "cursors"> {
  audit: AuditService;
  confirmations: Pick<ConfirmationsService, "hold" | "register">;
  permissions: Pick<
    PermissionsService,
    "requireHeld" | "requireLevel" | "requireMayMap" | "requireWaiting" | "requireRankAbove" | "dangerousOf"
  > &
    RulesOfRoles;
  watch: RoleWatch;
}

/** What a change of a staff role is told as. */
const changes = { create: "created", update: "updated", delete: "deleted" } as const;

/** Staff roles and the Discord roles that stand for them. */
export function createStaffRolesService(deps: StaffRolesDeps): StaffRolesService {
  const { database, audit, events, confirmations, guildState, access, permissions, cursors, watch } = deps;
  const queue = createKeyedQueue();

  function present(role: StaffRoleRecord): StaffRoleView {
    const members = access.countHolders(new Set(refsOf(role)));
    return presentStaffRole(role, { permissions: permissions.effectivePermissions(role.rules).length, members }, guildState);
  }

  /** @throws ProblemError hierarchy_violation */
  function requireAbove(call: Call, { rank, level }: Pick<StaffRoleRecord, "rank" | "level">): void {
    permissions.requireRankAbove(call, rank);
    permissions.requireLevel(call, call.actor === null ? "owner" : access.of(call.actor.id).level, level);
  }

  /**
   * The rules of granting, and then whether the change has to wait for a confirmation.
   * @throws ProblemError cannot_grant_unheld, last_owner
   */
  async function allow(tx: Tx, key: string, before: StaffRoleRecord | null, after: StaffRoleRecord | null): Promise<Held | undefined> {
    const gains = gainsOf(before, after, permissions);
    permissions.requireHeld(tx.call, gains);
    permissions.requireWaiting(tx.call, newRefs(before, after));
    permissions.requireMayMap(tx.call, newRefs(before, after));
    if (access.losesLastOwner(key, after)) throw new ProblemError("last_owner", { detail: say("staff.nobody-would-be-an-owner-any-more") });
    if (!isAboutAccess(before, after)) return undefined;
    return await confirmations.hold(tx, {
      action: "staffroles.change",
      group: "permissions",
      permission: staffPolicy.manageRoles,
      input: { key, if_match: before?.revision ?? 0, input: after === null ? null : settingsOf(after) },
      summary: summaryOf(key, before, after),
      dangerous: permissions.dangerousOf(gains),
      rank: Math.max(before?.rank ?? 0, after?.rank ?? 0),
    });
  }

  /** Audit, tell and remember a change, in the order in which transactions got hold of the roles. */
  function finishChange(tx: Tx, key: string, before: StaffRoleRecord | null, after: StaffRoleRecord | null, reason?: string): void {
    const verb = before === null ? "create" : after === null ? "delete" : "update";
    audit.record(tx, {
      action: `staff_role.${verb}`,
      target: { kind: "staff_role", id: key },
      ...(reason !== undefined && { reason }),
      ...(before !== null && { before: settingsOf(before) }),
      ...(after !== null && { after: settingsOf(after) }),
      permission: staffPolicy.manageRoles,
    });
    events.emit(tx, { type: "staff_role.changed", data: { role_key: key, change: changes[verb] } });
    const inTurn = queue.take(key);
    tx.afterCommit(() =>
      inTurn(() => {
        // A new role takes the place of whatever memory still has under its key: its revision says nothing about that one.
        if (before === null || after === null) access.removeRole(key);
        if (after !== null) access.setRole(after);
        watch.look();
      }),
    );
  }

  type Wanted = (before: StaffRoleRecord | null) => PutStaffRoleInput;

  async function put(tx: Tx, key: string, wanted: Wanted, ifMatch: number | undefined): Promise<StaffRoleView | Held> {
    await tx.lock("staff-roles");
    const before = await access.readRole(tx.db, key);
    const input = wanted(before);
    for (const role of [before, input]) if (role !== null) requireAbove(tx.call, role);
    requireDiscordRoles(input.discord, before, guildState);
    requireRevision(ifMatch, before?.revision ?? null);
    requireUnclaimed(await claimsOfOthers(tx, key, input));
    if (before !== null && isSame(before, input)) {
      tx.afterCommit(() => access.setRole(before));
      return present(before);
    }
    const after = recordOf(key, input, before, permissions);
    const held = await allow(tx, key, before, after);
    if (held !== undefined) return held;
    await writeRole(tx, key, input, before !== null);
    finishChange(tx, key, before, after);
    return present(after);
  }

  async function remove(tx: Tx, key: string, reason: string | undefined, ifMatch: number | undefined): Promise<StaffRoleView | Held> {
    await tx.lock("staff-roles");
    const before = await access.readRole(tx.db, key);
    if (before === null) throw recordNotFound();
    requireAbove(tx.call, before);
    requireRevision(ifMatch, before.revision);
    const held = await allow(tx, key, before, null);
    if (held !== undefined) return held;
    const view = present(before);
    await tx.db.staffRole.delete({ where: { key } });
    finishChange(tx, key, before, null, reason);
    return view;
  }

  confirmations.register("staffroles.change", (tx, held) => {
    requireWrite(tx.call, staffPolicy.manageRoles);
    const { key, if_match: ifMatch, input } = HeldStaffRoleChange.parse(held);
    return input === null ? remove(tx, key, undefined, ifMatch) : put(tx, key, () => input, ifMatch);
  });

  return {
    async list(call: Call, query: StaffRolesListQuery): Promise<Page<StaffRoleView>> {
      requirePermission(call, staffPolicy.roles);
      const { limit, cursor } = query;
      const position = cursor === undefined ? undefined : cursors.decode("staffroles", {}, cursor);
      const all = access.roles().toSorted((a, b) => b.rank - a.rank || (a.key < b.key ? -1 : 1));
      const isAfter = (role: StaffRoleRecord): boolean =>
        position === undefined || role.rank < Number(position[0]) || (role.rank === Number(position[0]) && role.key > position[1]);
      const rows = all.filter(isAfter).slice(0, limit + 1);
      const page = toPage(rows, limit, present, (last) => cursors.encode("staffroles", {}, [last.rank, last.key]));
      return withTotal(page, query, () => all.length);
    },

    async get(call: Call, key: string): Promise<StaffRoleView> {
      requirePermission(call, staffPolicy.roles);
      const role = access.role(key);
      if (role === undefined) throw recordNotFound();
      return present(role);
    },

    async put(call: Call, key: string, given: PutStaffRoleInput, ifMatch?: number): Promise<StaffRoleView | Held> {
      requireWrite(call, staffPolicy.manageRoles);
      const input = PutStaffRoleInput.parse(given);
      return await database.write(call, (tx) => put(tx, key, () => input, ifMatch));
    },

    async patch(call: Call, key: string, given: PatchStaffRoleInput, ifMatch?: number): Promise<StaffRoleView | Held> {
      requireWrite(call, staffPolicy.manageRoles);
      const input = PatchStaffRoleInput.parse(given);
      const wanted: Wanted = (before) => {
        if (before === null) throw recordNotFound();
        const sent = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
        return { ...settingsOf(before), ...sent };
      };
      return await database.write(call, (tx) => put(tx, key, wanted, ifMatch));
    },

    async remove(call: Call, key: string, given: DeleteStaffRoleInput = {}, ifMatch?: number): Promise<StaffRoleView | Held> {
      requireWrite(call, staffPolicy.manageRoles);
      const { reason } = DeleteStaffRoleInput.parse(given);
      return await database.write(call, (tx) => remove(tx, key, reason, ifMatch));
    },
  };
}
