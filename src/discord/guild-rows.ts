import type { Tx } from "../database/database.ts";
import { insertRows } from "../database/insert.ts";
import type { MemberPayload, RolePayload } from "./guild-dispatches.ts";
import type { GuildRows } from "./guild-mirror.ts";
import type { GuildInfo, MemberState, RoleInfo } from "./guild-state.ts";

/** Rows of one statement: nobody else has a turn while it is put together. */
const statementRows = 100;

/**
 * A member as Discord tells it, in our words; role ids sorted so that states can be compared.
 * @param known the last known state, for events that leave out what did not change
 */
export function memberState(guildId: string, { user, ...member }: MemberPayload, known?: MemberState): MemberState {
  const told = <T>(value: T | undefined, before: T | undefined): T | null => (value === undefined ? (before ?? null) : value);
  const joinedAt = typeof member.joined_at === "string" ? new Date(member.joined_at) : undefined;
  return {
    guildId,
    userId: user.id,
    username: user.username,
    globalName: told(user.global_name, known?.globalName),
    nick: told(member.nick, known?.nick),
    avatar: told(user.avatar, known?.avatar),
    roleIds: member.roles.toSorted(),
    present: true,
    joinedAt: told(joinedAt, known?.joinedAt),
  };
}

type MemberRow = Omit<MemberState, "roleIds"> & { roleIds: unknown };

/** A row of the database in our words. */
export function storedMember(row: MemberRow): MemberState {
  const { guildId, userId, username, globalName, nick, avatar, present, joinedAt } = row;
  return { guildId, userId, username, globalName, nick, avatar, roleIds: row.roleIds as string[], present, joinedAt };
}

export function roleInfo(role: RolePayload): RoleInfo {
  return { id: role.id, name: role.name, position: role.position, color: role.color };
}

export function sameMember(a: MemberState, b: MemberState): boolean {
  return (
    a.present === b.present &&
    a.username === b.username &&
    a.globalName === b.globalName &&
    a.nick === b.nick &&
    a.avatar === b.avatar &&
    a.joinedAt?.getTime() === b.joinedAt?.getTime() &&
    a.roleIds.length === b.roleIds.length &&
    a.roleIds.every((id, index) => id === b.roleIds[index])
  );
}

/** Whether a guild looks the same to readers; how fresh it is does not matter. */
export function sameGuild(a: GuildInfo, b: GuildInfo): boolean {
  return a.name === b.name && a.icon === b.icon && a.ownerId === b.ownerId && a.present === b.present;
}

export function sameRoles(a: ReadonlyMap<string, RoleInfo>, b: ReadonlyMap<string, RoleInfo>): boolean {
  if (a.size !== b.size) return false;
  return [...a.values()].every((role) => {
    const other = b.get(role.id);
    return other !== undefined && other.name === role.name && other.position === role.position && other.color === role.color;
  });
}

/** Replace the given rows; two statements per hundred members. */
export async function writeRows(tx: Tx, { guilds, roles, members }: GuildRows): Promise<void> {
  const { db, now } = tx;
  const updatedAt = now;
  for (const { id, ...data } of guilds.values()) {
    await db.guild.upsert({ where: { id }, create: { id, ...data, updatedAt }, update: { ...data, updatedAt } });
  }
  for (const [guildId, list] of roles) {
    await db.guildRole.deleteMany({ where: { guildId } });
    await db.guildRole.createMany({ data: [...list.values()].map((role) => ({ guildId, ...role, updatedAt })) });
  }
  for (const [guildId, states] of byGuild(members.values())) {
    for (let start = 0; start < states.length; start += statementRows) {
      const part = states.slice(start, start + statementRows);
      await db.guildMember.deleteMany({ where: { guildId, userId: { in: part.map((state) => state.userId) } } });
      await insertRows(
        tx,
        "guild_members",
        part.map((state) => ({ ...state, updatedAt })),
      );
    }
  }
}

function byGuild(states: Iterable<MemberState>): Map<string, MemberState[]> {
  const groups = new Map<string, MemberState[]>();
  for (const state of states) {
    const group = groups.get(state.guildId);
    if (group === undefined) groups.set(state.guildId, [state]);
    else group.push(state);
  }
  return groups;
}
