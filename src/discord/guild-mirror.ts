import type { GuildInfo, MemberState, RoleInfo } from "./guild-state.ts";

/** Rows as they are committed, or as they shall be committed next. */
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

export function memberKey(guildId: string, userId: string): string {
  return `${guildId}:${userId}`;
}

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
