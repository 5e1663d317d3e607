import type { ReadClient, TransactionClient } from "../../database/database.ts";
import type { Level } from "./catalog.ts";
import { levels } from "./catalog.ts";
import { roleRules } from "./resolve.ts";
import type { Override, StaffRoleRecord } from "./standing.person.ts";

/** A staff role with everything that hangs on it. */
const withParts = { discord: true, permissions: true } as const;

interface StaffRoleRow {
  key: string;
  name: string;
  rank: number;
  level: string;
  capacity: number | null;
  callsignPool: string | null;
  revision: number;
  discord: readonly { guildId: string; roleId: string }[];
  permissions: readonly { permission: string; effect: string }[];
}

/** Every staff role. */
export async function readRoles(db: ReadClient): Promise<StaffRoleRecord[]> {
  return (await db.staffRole.findMany({ include: withParts })).map(toRecord);
}

/** One staff role as the transaction sees it. */
export async function findRole(db: TransactionClient, key: string): Promise<StaffRoleRecord | null> {
  const row = await db.staffRole.findUnique({ where: { key }, include: withParts });
  return row === null ? null : toRecord(row);
}

/** The allow and deny entries of everybody. Entries limited to one guild say nothing about the network. */
export async function readOverrides(db: ReadClient): Promise<Map<string, Override[]>> {
  const found = new Map<string, Override[]>();
  for (const row of await db.userPermission.findMany({ where: { guildId: null }, orderBy: { id: "asc" } })) {
    const entry: Override = {
      id: row.id,
      permission: row.permission,
      effect: row.effect === "allow" ? "allow" : "deny",
      expiresAt: row.expiresAt,
    };
    found.set(row.userId, [...(found.get(row.userId) ?? []), entry]);
  }
  return found;
}

/** The owners kept in the database. */
export async function readOwners(db: ReadClient): Promise<Set<string>> {
  return new Set((await db.owner.findMany({ select: { userId: true } })).map((row) => row.userId));
}

function toRecord(row: StaffRoleRow): StaffRoleRecord {
  const { key, name, rank, capacity, callsignPool, revision } = row;
  const level = toLevel(row.level);
  const of = (effect: string): ReadonlySet<string> =>
    new Set(row.permissions.filter((entry) => entry.effect === effect).map((entry) => entry.permission));
  const discord = row.discord.map(({ guildId, roleId }) => ({ guildId, roleId })).toSorted((a, b) => (refOf(a) < refOf(b) ? -1 : 1));
  return { key, name, rank, level, capacity, callsignPool, revision, discord, rules: roleRules(key, level, of("allow"), of("deny")) };
}

/** A level that this version does not know gives nothing by default. */
function toLevel(text: string): Level {
  return levels.find((level) => level === text) ?? "none";
}

/** A Discord role as one text. */
export function refOf({ guildId, roleId }: { guildId: string; roleId: string }): string {
  return `${guildId}:${roleId}`;
}
