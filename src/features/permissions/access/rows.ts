import type { ReadClient, TransactionClient } from "../../../database/database.ts";
import { conditionOf } from "../../../database/where.ts";
import { type BlacklistRecord, Prisma, type UserPermission } from "../../../generated/sqlite/client.ts";
import { groupBy } from "../../../kernel/group.ts";
import { roleRef } from "../../../kernel/ids.ts";
import { levels, type Level } from "../../../kernel/permissions.ts";
import { roleRules } from "../resolve.ts";
import type { Leave, Listing, Override, StaffRoleRecord } from "./subject.ts";

/** A staff role with everything that hangs on it. */
const withParts = { discord: true, permissions: true } as const;

/** Every staff role. */
export async function readRoles(db: ReadClient): Promise<StaffRoleRecord[]> {
  const [roles, discord, permissions] = await Promise.all([
    db.$select("StaffRole", Prisma.empty),
    db.$select("StaffRoleDiscordRole", Prisma.empty),
    db.$select("RolePermission", Prisma.empty),
  ]);
  return roles.map((role) => {
    const isOf = ({ staffRoleKey }: { staffRoleKey: string }): boolean => staffRoleKey === role.key;
    return toRecord({ ...role, discord: discord.filter(isOf), permissions: permissions.filter(isOf) });
  });
}

/** One staff role as the transaction sees it. */
export async function findRole(db: TransactionClient, key: string): Promise<StaffRoleRecord | null> {
  const row = await db.staffRole.findUnique({ where: { key }, include: withParts });
  return row === null ? null : toRecord(row);
}

function toOverride({ id, permission, effect, guildId, reason, expiresAt, createdBy, createdAt }: UserPermission): Override {
  return { id, permission, effect: effect === "allow" ? "allow" : "deny", guildId, reason, expiresAt, createdBy, createdAt };
}

/** The allow and deny entries of everybody. */
export async function readOverrides(db: ReadClient): Promise<Map<string, Override[]>> {
  const found = new Map<string, Override[]>();
  for (const row of await db.$select("UserPermission", Prisma.sql`ORDER BY t.id`)) {
    found.set(row.userId, [...(found.get(row.userId) ?? []), toOverride(row)]);
  }
  return found;
}

/** The allow and deny entries of one person as the transaction or the reader sees them, oldest first; expired ones too. */
export async function findOverrides(db: Pick<ReadClient, "userPermission">, userId: string): Promise<Override[]> {
  return (await db.userPermission.findMany({ where: { userId }, orderBy: { id: "asc" } })).map(toOverride);
}

/** Every leave that runs or is planned. */
export async function readLeaves(db: ReadClient): Promise<Map<string, Leave>> {
  const rows = await db.$select("StaffProfile", Prisma.sql`WHERE t.leave_from IS NOT NULL`, ["userId", "leaveFrom", "leaveUntil"]);
  return new Map(
    rows.flatMap(({ userId, leaveFrom, leaveUntil }) => (leaveFrom === null ? [] : [[userId, { from: leaveFrom, until: leaveUntil }]])),
  );
}

/** What bars staff from access: a record about a person, for the whole network, from the severity on at which roster entries are suspended. */
const barring = { kind: "user", scope: "network", severity: { in: ["high", "critical"] }, status: { in: ["active", "scheduled"] } };

const listedFields = ["id", "kind", "scope", "subjectId", "status", "severity", "startsAt", "expiresAt"] as const;
/** A row of the blacklist as far as it may bar somebody. */
export type ListedRecord = Pick<BlacklistRecord, (typeof listedFields)[number]>;

/** Some records by their ids, whether they bar anybody or not. */
export async function readRecords(db: ReadClient, ids: readonly string[]): Promise<ListedRecord[]> {
  return db.$select("BlacklistRecord", Prisma.sql`WHERE t.id IN (${Prisma.join([...ids])})`, listedFields);
}

/** The severe records about people that are or will be in force. */
export async function readListings(db: ReadClient): Promise<Map<string, Listing>> {
  const rows = await db.$select("BlacklistRecord", Prisma.sql`WHERE ${conditionOf("BlacklistRecord", barring)}`, listedFields);
  return new Map(rows.map(({ id, subjectId, startsAt, expiresAt }) => [subjectId, { recordId: id, startsAt, expiresAt }]));
}

/** The same for some people, of whom one can have several: the one that is in force first comes first. */
export async function readListingsOf(db: ReadClient, userIds: readonly string[]): Promise<Map<string, Listing[]>> {
  const about = Prisma.sql`WHERE t.kind = ${barring.kind} AND t.subject_id IN (${Prisma.join([...userIds])}) ORDER BY t.starts_at`;
  const rows = await db.$select("BlacklistRecord", about, listedFields);
  const listings = groupBy(rows, ({ subjectId }) => subjectId);
  return new Map([...listings].map(([userId, some]) => [userId, some.flatMap((row) => listingOf(row) ?? [])]));
}

/** How a record bars its subject; null: not at all. */
export function listingOf({ id, kind, scope, status, severity, startsAt, expiresAt }: ListedRecord): Listing | null {
  const isBarring =
    kind === barring.kind && scope === barring.scope && barring.severity.in.includes(severity) && barring.status.in.includes(status);
  return isBarring ? { recordId: id, startsAt, expiresAt } : null;
}

/** The owners kept in the database, and whether each is kept only as the last one. */
export async function readOwners(db: ReadClient): Promise<Map<string, { retained: boolean }>> {
  return new Map((await db.$select("Owner", Prisma.empty)).map(({ userId, retained }) => [userId, { retained }]));
}

function toRecord(row: Prisma.StaffRoleGetPayload<{ include: typeof withParts }>): StaffRoleRecord {
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
  return roleRef(guildId, roleId);
}
