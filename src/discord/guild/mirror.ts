import type { GuildInfo, MemberState, RoleInfo } from "../guild-state.ts";
import type { Tx } from "../../database/database.ts";
import { insertRows } from "../../database/insert.ts";
import type { MemberPayload, RolePayload } from "./payloads.ts";

/** Rows that are committed, or that are to be committed next. */
export interface GuildRows {
  guilds: Map<string, GuildInfo>;
  /** By guild; always the whole role list of a guild. */
  roles: Map<string, ReadonlyMap<string, RoleInfo>>;
  /** By `guildId:userId`. */
  members: Map<string, MemberState>;
}

/** The committed rows, indexed for warm reads. */
export interface GuildMirror {
  guilds: ReadonlyMap<string, GuildInfo>;
  roles: ReadonlyMap<string, ReadonlyMap<string, RoleInfo>>;
  member(guildId: string, userId: string): MemberState | undefined;
  memberships(userId: string): readonly MemberState[];
  membersOf(guildId: string): Iterable<MemberState>;
  users(): Iterable<string>;
  apply(rows: GuildRows): void;
  forget(userId: string): void;
}

export function emptyRows(): GuildRows {
  return { guilds: new Map(), roles: new Map(), members: new Map() };
}

/** The key of a member in {@link GuildRows}. */
export function memberKey(guildId: string, userId: string): string {
  return `${guildId}:${userId}`;
}

/** An empty mirror. */
export function createGuildMirror(): GuildMirror {
  const guilds = new Map<string, GuildInfo>();
  const roles = new Map<string, ReadonlyMap<string, RoleInfo>>();
  const byGuild = new Map<string, Map<string, MemberState>>();
  const byUser = new Map<string, readonly MemberState[]>();
  const none: readonly MemberState[] = [];

  const applyMember = (state: MemberState): void => {
    let members = byGuild.get(state.guildId);
    if (members === undefined) byGuild.set(state.guildId, (members = new Map()));
    members.set(state.userId, state);
    const others = (byUser.get(state.userId) ?? none).filter((other) => other.guildId !== state.guildId);
    byUser.set(state.userId, [...others, state]);
  };

  return {
    guilds,
    roles,
    member: (guildId, userId) => byGuild.get(guildId)?.get(userId),
    memberships: (userId) => byUser.get(userId) ?? none,
    membersOf: (guildId) => byGuild.get(guildId)?.values() ?? none,
    users: () => byUser.keys(),
    forget(userId) {
      for (const members of byGuild.values()) members.delete(userId);
      byUser.delete(userId);
    },
    apply(rows) {
      for (const [id, info] of rows.guilds) guilds.set(id, info);
      for (const [id, list] of rows.roles) roles.set(id, list);
      for (const state of rows.members.values()) applyMember(state);
    },
  };
}

/** Rows per statement: building one blocks the event loop. */
const statementRows = 100;

/**
 * The stored form of a member that Discord sent; role ids are sorted so that states can be compared.
 * @param known the last known state, for events that leave out what did not change
 */
export function memberState(guildId: string, { user, ...member }: MemberPayload, known?: MemberState): MemberState {
  const orKnown = <T>(value: T | undefined, before: T | undefined): T | null => (value === undefined ? (before ?? null) : value);
  const joinedAt = typeof member.joined_at === "string" ? new Date(member.joined_at) : undefined;
  return {
    guildId,
    userId: user.id,
    username: user.username,
    globalName: orKnown(user.global_name, known?.globalName),
    nick: orKnown(member.nick, known?.nick),
    avatar: orKnown(user.avatar, known?.avatar),
    roleIds: member.roles.toSorted(),
    present: true,
    joinedAt: orKnown(joinedAt, known?.joinedAt),
    isBot: user.bot === true,
  };
}

type MemberRow = Omit<MemberState, "roleIds"> & { roleIds: unknown };

/** The state of a member from its database row. */
export function storedMember(row: MemberRow): MemberState {
  const { guildId, userId, username, globalName, nick, avatar, present, joinedAt, isBot } = row;
  return { guildId, userId, username, globalName, nick, avatar, roleIds: row.roleIds as string[], present, joinedAt, isBot };
}

/** The stored form of a role that Discord sent. */
export function roleInfo({ id, name, position, color, hoist, managed, permissions }: RolePayload): RoleInfo {
  return { id, name, position, color, hoist, managed, ...(permissions !== undefined && { permissions }) };
}

/** Whether two states of a member look the same to readers. */
export function sameMember(a: MemberState, b: MemberState): boolean {
  return (
    a.present === b.present &&
    a.isBot === b.isBot &&
    a.username === b.username &&
    a.globalName === b.globalName &&
    a.nick === b.nick &&
    a.avatar === b.avatar &&
    a.joinedAt?.getTime() === b.joinedAt?.getTime() &&
    a.roleIds.length === b.roleIds.length &&
    a.roleIds.every((id, index) => id === b.roleIds[index])
  );
}

/** Whether a guild looks the same to readers, whatever its `syncedAt`. */
export function sameGuild(a: GuildInfo, b: GuildInfo): boolean {
  return a.name === b.name && a.icon === b.icon && a.ownerId === b.ownerId && a.present === b.present;
}

/** Whether two role lists are stored as the same rows. */
export function sameRoles(a: ReadonlyMap<string, RoleInfo>, b: ReadonlyMap<string, RoleInfo>): boolean {
  if (a.size !== b.size) return false;
  return [...a.values()].every((role) => {
    const other = b.get(role.id);
    return (
      other !== undefined &&
      other.name === role.name &&
      other.position === role.position &&
      other.color === role.color &&
      other.hoist === role.hoist
    );
  });
}

/** Replace these rows; two statements per hundred members. */
export async function writeRows(tx: Tx, { guilds, roles, members }: GuildRows): Promise<void> {
  const { db, now } = tx;
  const updatedAt = now;
  for (const { id, ...data } of guilds.values()) {
    await db.guild.upsert({ where: { id }, create: { id, ...data, updatedAt }, update: { ...data, updatedAt } });
  }
  for (const [guildId, list] of roles) {
    await db.guildRole.deleteMany({ where: { guildId } });
    const data = [...list.values()].map(({ id, name, position, color, hoist }) => ({
      guildId,
      id,
      name,
      position,
      color,
      hoist,
      updatedAt,
    }));
    await db.guildRole.createMany({ data });
  }
  for (const [guildId, states] of byGuild(members.values())) {
    for (let start = 0; start < states.length; start += statementRows) {
      const part = states.slice(start, start + statementRows);
      await db.guildMember.deleteMany({ where: { guildId, userId: { in: part.map((state) => state.userId) } } });
      await insertRows(
        tx,
        "GuildMember",
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
