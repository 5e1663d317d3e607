import type { Tx } from "../../../database/database.ts";
import { roleRef } from "../../../kernel/ids.ts";
import type { StaffRoleRecord } from "../../permissions/access/access-directory.ts";
import type { RulesOfRoles } from "./roles.policy.ts";
import type { PutStaffRoleInput } from "./roles.schema.ts";

/** The Discord roles of an input that stand for another staff role. */
export async function claimsOfOthers({ db }: Tx, key: string, { discord }: PutStaffRoleInput) {
  if (discord.length === 0) return [];
  const refs = discord.map(({ guild_id, role_id }) => ({ guildId: guild_id, roleId: role_id }));
  return await db.staffRoleDiscordRole.findMany({ where: { OR: refs, NOT: { staffRoleKey: key } }, take: 1 });
}

/** Create a staff role or replace its settings; what it allows and denies stays. */
export async function writeRole({ db, now }: Tx, key: string, input: PutStaffRoleInput, isKnown: boolean): Promise<void> {
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
export function recordOf(
  key: string,
  input: PutStaffRoleInput,
  before: StaffRoleRecord | null,
  { roleRules }: RulesOfRoles,
): StaffRoleRecord {
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
export function settingsOf({ name, rank, level, capacity, callsignPool, discord }: StaffRoleRecord): PutStaffRoleInput {
  const refs = discord.map(({ guildId, roleId }) => ({ guild_id: guildId, role_id: roleId }));
  return { name, rank, level, capacity, callsign_pool: callsignPool, discord: refs };
}

/** Whether an input changes nothing. */
export function isSame(role: StaffRoleRecord, input: PutStaffRoleInput): boolean {
  const { name, rank, level, capacity = null, callsign_pool: callsignPool = null } = input;
  const wanted = settingsOf({ ...role, name, rank, level, capacity, callsignPool, discord: mappingsOf(input) });
  return JSON.stringify(settingsOf(role)) === JSON.stringify(wanted);
}

/**
 * Changes of memory in the order of the transactions behind them: their commits may be heard of in another one, and a role that was
 * made again after its deletion has no revision that would tell.
 */
export function createKeyedQueue() {
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
