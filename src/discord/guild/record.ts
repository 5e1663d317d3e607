import type { Logger } from "pino";
import type { Database } from "../../database/database.ts";
import { Prisma } from "../../generated/sqlite/client.ts";
import { createGuildMirror, type GuildMirror, memberKey, sameGuild, sameMember, sameRoles, storedMember } from "./mirror.ts";
import type { GuildInfo, MemberState, RoleInfo, ServedGuilds } from "../guild-state.ts";
import { createGuildWriter } from "./writer.ts";

const noRoles: ReadonlyMap<string, RoleInfo> = new Map();

/** What a commit changed: these people, or possibly anything (after guilds or roles have changed). */
interface Committed {
  users: readonly string[];
  everything: boolean;
}

/** The latest known state of guilds, roles and members. Setting a known value costs no write. */
export interface GuildRecord {
  /** Committed rows only; this is what readers see. */
  mirror: GuildMirror;
  guild(id: string): GuildInfo | undefined;
  guilds(): GuildInfo[];
  roles(guildId: string): ReadonlyMap<string, RoleInfo>;
  member(guildId: string, userId: string): MemberState | undefined;
  membersOf(guildId: string): MemberState[];
  setGuild(info: GuildInfo): void;
  setRoles(guildId: string, roles: ReadonlyMap<string, RoleInfo>): void;
  setMember(state: MemberState): void;
  /** A stored member is not in the guild any more. */
  setAbsent(guildId: string, userId: string): void;
  /** Forget a person whose rows were deleted. */
  forget(userId: string): void;
  /** The stored members of a guild are complete as of this time. */
  setSynced(guildId: string, at: Date): void;
  /** @param served rows of other guilds, which may have been served once, are not loaded */
  load(served: ServedGuilds): Promise<void>;
  idle(): Promise<void>;
  isFailing(): boolean;
  stop(ms: number): Promise<void>;
}

interface GuildRecordOptions {
  database: Database;
  logger: Logger;
  onCommitted(change: Committed): void;
  onGivenUp(guildIds: ReadonlySet<string>): void;
}

/** An empty record; `load` fills it from the database. */
export function createGuildRecord({ database, logger, onCommitted, onGivenUp }: GuildRecordOptions): GuildRecord {
  const mirror = createGuildMirror();
  const writer = createGuildWriter({
    database,
    logger,
    onGivenUp,
    onCommitted(rows) {
      const isGuildChanged = [...rows.guilds.values()].some((info) => {
        const before = mirror.guilds.get(info.id);
        return before === undefined || !sameGuild(before, info);
      });
      mirror.apply(rows);
      onCommitted({
        users: [...new Set([...rows.members.values()].map((state) => state.userId))],
        everything: isGuildChanged || rows.roles.size > 0,
      });
    },
  });
  const { wanted } = writer;

  const record: GuildRecord = {
    mirror,
    guild: (id) => wanted.guilds.get(id) ?? mirror.guilds.get(id),
    guilds: () => [...new Map([...mirror.guilds, ...wanted.guilds]).values()],
    roles: (guildId) => wanted.roles.get(guildId) ?? mirror.roles.get(guildId) ?? noRoles,
    member: (guildId, userId) => wanted.members.get(memberKey(guildId, userId)) ?? mirror.member(guildId, userId),
    membersOf(guildId) {
      const states = new Map([...mirror.membersOf(guildId)].map((state) => [state.userId, state]));
      for (const state of wanted.members.values()) if (state.guildId === guildId) states.set(state.userId, state);
      return [...states.values()];
    },
    setGuild(info) {
      const before = record.guild(info.id);
      if (before !== undefined && sameGuild(before, info) && before.syncedAt?.getTime() === info.syncedAt?.getTime()) return;
      wanted.guilds.set(info.id, info);
      writer.schedule();
    },
    setRoles(guildId, roles) {
      if (sameRoles(record.roles(guildId), roles)) return;
      wanted.roles.set(guildId, roles);
      writer.schedule();
    },
    setMember(state) {
      const before = record.member(state.guildId, state.userId);
      if (before !== undefined && sameMember(before, state)) return;
      wanted.members.set(memberKey(state.guildId, state.userId), state);
      writer.schedule();
    },
    setAbsent(guildId, userId) {
      const known = record.member(guildId, userId);
      if (known !== undefined) record.setMember({ ...known, present: false });
    },
    forget(userId) {
      for (const [key, state] of wanted.members) if (state.userId === userId) wanted.members.delete(key);
      mirror.forget(userId);
      onCommitted({ users: [userId], everything: false });
    },
    setSynced(guildId, at) {
      const known = record.guild(guildId);
      if (known !== undefined) record.setGuild({ ...known, syncedAt: at });
    },
    load: (served) => loadMirror(database, mirror, served),
    idle: () => writer.idle(),
    isFailing: () => writer.isFailing(),
    stop: (ms) => writer.stop(ms),
  };
  return record;
}

async function loadMirror(database: Database, mirror: GuildMirror, served: ServedGuilds): Promise<void> {
  const [guilds, roles, members] = await Promise.all([
    database.read.$select("Guild", Prisma.empty),
    database.read.$select("GuildRole", Prisma.empty),
    database.read.$select("GuildMember", Prisma.empty),
  ]);
  const roleLists = new Map<string, Map<string, RoleInfo>>();
  for (const { guildId, id, name, position, color, hoist } of roles) {
    if (!served.has(guildId)) continue;
    const list = roleLists.get(guildId) ?? new Map<string, RoleInfo>();
    roleLists.set(guildId, list.set(id, { id, name, position, color, hoist }));
  }
  mirror.apply({
    guilds: new Map(
      guilds
        .filter((row) => served.has(row.id))
        .map(({ id, name, icon, ownerId, present, syncedAt }) => [id, { id, name, icon, ownerId, present, syncedAt }]),
    ),
    roles: roleLists,
    members: new Map(
      members.filter((row) => served.has(row.guildId)).map((row) => [memberKey(row.guildId, row.userId), storedMember(row)]),
    ),
  });
}

/** Changes of more people than this at once are announced as "anything may have changed". */
const manyUsers = 200;

/** Announces changes; a listener that fails stops no other. */
export function createChanges(logger: Logger) {
  const listeners = new Set<(userId: string | null) => void>();

  const announceOne = (userId: string | null): void => {
    for (const listener of listeners) {
      try {
        listener(userId);
      } catch (error) {
        logger.error({ err: error }, "guild state: a listener failed");
      }
    }
  };

  return {
    listen(listener: (userId: string | null) => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    announce({ users, everything }: Committed): void {
      if (everything || users.length > manyUsers) return announceOne(null);
      for (const userId of users) announceOne(userId);
    },
  };
}
