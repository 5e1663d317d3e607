import { GatewayIntentBits, PermissionFlagsBits, type APIAuditLogChange, type APIAuditLogOptions } from "discord-api-types/v10";
import { compareIds } from "./ids.ts";
import type { AuditLogAction, AuditLogEntry, Doing, Guild, Member, User, World } from "./model.ts";
import { isoTime } from "./payloads.ts";

/** How long Discord keeps entries. Source: its documentation of the audit log. */
const keptMs = 45 * 86_400_000;

/**
 * Writes an entry and tells GUILD_AUDIT_LOG_ENTRY_CREATE to a bot that may view the log.
 * It comes after the event of what happened; Discord promises neither order.
 */
export function writeEntry(
  world: World,
  guild: Guild,
  { by, reason }: Doing,
  entry: { action: AuditLogAction; target: User | null; changes?: APIAuditLogChange[]; options?: APIAuditLogOptions },
): void {
  writeRawEntry(world, guild, {
    id: world.nextId(),
    action_type: entry.action,
    user_id: by.id,
    target_id: entry.target?.id ?? null,
    ...(entry.changes && { changes: entry.changes }),
    ...(entry.options && { options: entry.options }),
    ...(reason !== undefined && reason !== null && reason !== "" && { reason }),
  });
}

/** An entry as it is given, whether or not Discord would write it so. */
export function writeRawEntry(world: World, guild: Guild, written: AuditLogEntry): void {
  guild.auditLog.push(written);
  world.emit({
    t: "GUILD_AUDIT_LOG_ENTRY_CREATE",
    guildId: guild.id,
    intent: GatewayIntentBits.GuildModeration,
    permission: PermissionFlagsBits.ViewAuditLog,
    data: () => ({ ...written, guild_id: guild.id }),
  });
}

type Named = Pick<Member, "nick" | "timeoutUntil">;

/** What an entry about a changed member names: nickname and timeout, the old value and the new one, each left out where there is none. */
export function memberChanges(before: Named, after: Named): APIAuditLogChange[] {
  const time = (ms: number | null) => (ms === null ? undefined : isoTime(ms));
  const rows = [
    { key: "nick", from: before.nick ?? undefined, to: after.nick ?? undefined },
    { key: "communication_disabled_until", from: time(before.timeoutUntil), to: time(after.timeoutUntil) },
  ] as const;
  return rows
    .filter(({ from, to }) => from !== to)
    .map(({ key, from, to }) => ({ key, ...(from !== undefined && { old_value: from }), ...(to !== undefined && { new_value: to }) }));
}

export type EntryFilter = {
  before?: string | undefined;
  after?: string | undefined;
  userId?: string | undefined;
  targetId?: string | undefined;
  action?: number | undefined;
  limit: number;
};

/**
 * A page of the log: with `after` the oldest first, otherwise the newest first.
 * Source: Discord's documentation of Get Guild Audit Log.
 */
export function pageOfLog(world: World, guild: Guild, filter: EntryFilter): AuditLogEntry[] {
  const { before, after, userId, targetId, action, limit } = filter;
  const oldest = world.now() - keptMs;
  const found = guild.auditLog.filter(
    (entry) =>
      timeOf(entry.id) >= oldest &&
      (before === undefined || compareIds(entry.id, before) < 0) &&
      (after === undefined || compareIds(entry.id, after) > 0) &&
      (userId === undefined || entry.user_id === userId) &&
      (targetId === undefined || entry.target_id === targetId) &&
      (action === undefined || entry.action_type === action),
  );
  return after === undefined ? found.toReversed().slice(0, limit) : found.slice(0, limit);
}

const timeOf = (id: string) => Number(BigInt(id) >> 22n) + 1_420_070_400_000;
