import type { Logger } from "pino";
import type { Database } from "../../database/database.ts";
import { type GuildMember, Prisma } from "../../generated/sqlite/client.ts";
import {
  createGuildMirror,
  emptyRows,
  type GuildMirror,
  memberKey,
  sameGuild,
  sameMember,
  sameRoles,
  storedMember,
  type GuildRows,
  writeRows,
} from "./mirror.ts";
import type { GuildInfo, MemberState, RoleInfo, ServedGuilds } from "../guild-state.ts";
import { systemCall } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { backOff, pause } from "../../kernel/pause.ts";

/** Rows of one transaction: enough to swallow a burst, few enough that other writers wait milliseconds. */
const batchSize = 1000;

interface GuildWriterOptions {
  database: Database;
  logger: Logger;
  /** After each commit, with the rows to show from now on. Must not throw. */
  onCommitted(rows: GuildRows): void;
  /** Rows of these guilds were given up after an error that repeating cannot fix. */
  onGivenUp(guildIds: ReadonlySet<string>): void;
  /** First pause after a refusal of the database; doubles up to 5 s. */
  retryMs?: number;
}

/**
 * Writes wanted rows to the database. A row that is set twice before it is written is written once,
 * so a burst costs few transactions and a busy database loses nothing.
 */
interface GuildWriter {
  /** Rows wanted and not committed yet; put rows here, then call `schedule`. */
  wanted: GuildRows;
  schedule(): void;
  /** Resolves when every row wanted so far is committed or given up. */
  idle(): Promise<void>;
  /** True from the first refusal of the database to the next commit. */
  isFailing(): boolean;
  /** Write what is wanted, at most for `ms`, and nothing afterwards. */
  stop(ms: number): Promise<void>;
}

/** A writer without wanted rows; it writes from `schedule` to `stop`. */
function createGuildWriter({ database, logger, onCommitted, onGivenUp, retryMs = 100 }: GuildWriterOptions): GuildWriter {
  const wanted = emptyRows();
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let failures = 0;

  const refused = async (batch: GuildRows, error: unknown): Promise<void> => {
    failures += 1;
    if (!(error instanceof ProblemError)) {
      logger.error({ err: error }, "guild state: a write failed; its guilds are read again");
      forget(wanted, batch);
      onGivenUp(guildsOf(batch));
    } else if (failures === 1) {
      logger.warn({ code: error.code }, "guild state: the database refuses writes; they are repeated");
    }
    await pause(backOff(failures, { firstMs: retryMs, mostMs: 5000 }), stopping.signal);
  };

  const drain = async (): Promise<void> => {
    // Events that arrive in the same tick share a transaction.
    await new Promise(setImmediate);
    while (wanted.guilds.size + wanted.roles.size + wanted.members.size > 0 && !stopping.signal.aborted) {
      const batch = takeBatch(wanted);
      try {
        await database.write(systemCall("job", uuid7()), (tx) => writeRows(tx, batch));
      } catch (error) {
        await refused(batch, error);
        continue;
      }
      failures = 0;
      forget(wanted, batch);
      onCommitted(batch);
    }
    running = undefined;
  };

  return {
    wanted,
    schedule() {
      if (!stopping.signal.aborted) running ??= drain();
    },
    idle: async () => running,
    isFailing: () => failures > 0,
    async stop(ms) {
      const limit = setTimeout(() => stopping.abort(), ms);
      await running;
      clearTimeout(limit);
      stopping.abort();
    },
  };
}

function takeBatch(wanted: GuildRows): GuildRows {
  const members = wanted.members.size <= batchSize ? new Map(wanted.members) : new Map([...wanted.members].slice(0, batchSize));
  return { guilds: new Map(wanted.guilds), roles: new Map(wanted.roles), members };
}

/** Removes written rows, unless they were set again in the meantime. */
function forget(wanted: GuildRows, batch: GuildRows): void {
  const remove = <T>(from: Map<string, T>, done: ReadonlyMap<string, T>): void => {
    for (const [key, value] of done) if (from.get(key) === value) from.delete(key);
  };
  remove(wanted.guilds, batch.guilds);
  remove(wanted.roles, batch.roles);
  remove(wanted.members, batch.members);
}

function guildsOf(batch: GuildRows): Set<string> {
  return new Set([...batch.guilds.keys(), ...batch.roles.keys(), ...[...batch.members.values()].map((state) => state.guildId)]);
}

const noRoles: ReadonlyMap<string, RoleInfo> = new Map();

/** What a commit changed: these people, or possibly anything (after guilds or roles have changed). */
interface Committed {
  users: readonly string[];
  everything: boolean;
}

/** What of the stored state is read again. */
interface Reloaded {
  /** Guilds and their roles. */
  guilds: boolean;
  /** Whose memberships; undefined: everybody's. */
  userIds: readonly string[] | undefined;
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
  /** Show what another process has stored meanwhile. */
  reload(served: ServedGuilds, what: Reloaded): Promise<void>;
  /** Forget those of some people of whom everything was deleted. @param userIds undefined: of everybody */
  forgetDeleted(userIds: readonly string[] | undefined): Promise<void>;
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
      // What is known of roles in memory alone changes without a write, unless their rows are being written anyway.
      if (sameRoles(record.roles(guildId), roles) && !wanted.roles.has(guildId))
        return mirror.apply({ ...emptyRows(), roles: new Map([[guildId, roles]]) });
      wanted.roles.set(guildId, roles);
      writer.schedule();
    },
    setMember(given) {
      const before = record.member(given.guildId, given.userId);
      // Discord leaves the flag out of what is no bot, and an account never stops being one.
      const state = before?.isBot === true && !given.isBot ? { ...given, isBot: true } : given;
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
    async load(served) {
      await Promise.all([loadGuilds(database, mirror, served), loadMembers(database, mirror, served)]);
    },
    async reload(served, { guilds, userIds }) {
      const everything = guilds && (await loadGuilds(database, mirror, served));
      onCommitted({ users: await loadMembers(database, mirror, served, userIds), everything });
    },
    async forgetDeleted(userIds = [...mirror.users()]) {
      const stored = new Set((await readMembers(database, userIds)).map(({ userId }) => userId));
      for (const userId of userIds) if (!stored.has(userId) && mirror.memberships(userId).length > 0) record.forget(userId);
    },
    idle: () => writer.idle(),
    isFailing: () => writer.isFailing(),
    stop: (ms) => writer.stop(ms),
  };
  return record;
}

/** @returns whether they look otherwise than before */
async function loadGuilds(database: Database, mirror: GuildMirror, served: ServedGuilds): Promise<boolean> {
  const [guilds, roles] = await Promise.all([
    database.read.$select("Guild", Prisma.empty),
    database.read.$select("GuildRole", Prisma.empty),
  ]);
  const lists = new Map<string, Map<string, RoleInfo>>([...mirror.roles.keys()].map((guildId) => [guildId, new Map()]));
  for (const { guildId, id, name, position, color, hoist } of roles) {
    if (!served.has(guildId)) continue;
    const list = lists.get(guildId) ?? new Map<string, RoleInfo>();
    // The bits are not stored: what the gateway reported to this process stays known.
    const permissions = mirror.roles.get(guildId)?.get(id)?.permissions;
    lists.set(guildId, list.set(id, { id, name, position, color, hoist, ...(permissions !== undefined && { permissions }) }));
  }
  const found = guilds.filter((row) => served.has(row.id));
  const isChanged =
    found.some((row) => !isSame(mirror.guilds.get(row.id), row, sameGuild)) ||
    [...lists].some(([guildId, list]) => !isSame(mirror.roles.get(guildId), list, sameRoles));
  const infos = found.map(({ id, name, icon, ownerId, present, syncedAt }) => ({ id, name, icon, ownerId, present, syncedAt }));
  mirror.apply({ ...emptyRows(), guilds: new Map(infos.map((info) => [info.id, info])), roles: lists });
  return isChanged;
}

const isSame = <T>(before: T | undefined, now: T, same: (a: T, b: T) => boolean): boolean => before !== undefined && same(before, now);

/**
 * @param userIds only these people. Those of whom nothing is stored are forgotten
 * @returns who looks otherwise than before
 */
async function loadMembers(
  database: Database,
  mirror: GuildMirror,
  served: ServedGuilds,
  userIds?: readonly string[],
): Promise<readonly string[]> {
  const rows = await readMembers(database, userIds);
  const stored = new Set(rows.map(({ userId }) => userId));
  const gone = (userIds ?? [...mirror.users()]).filter((userId) => !stored.has(userId) && mirror.memberships(userId).length > 0);
  for (const userId of gone) mirror.forget(userId);
  const members = rows.filter((row) => served.has(row.guildId)).map(storedMember);
  const changed = members.filter((state) => !isSame(mirror.member(state.guildId, state.userId), state, sameMember));
  mirror.apply({ ...emptyRows(), members: new Map(changed.map((state) => [memberKey(state.guildId, state.userId), state])) });
  return [...new Set([...gone, ...changed.map(({ userId }) => userId)])];
}

/** Values of one statement. */
const idsAtOnce = 900;

async function readMembers({ read }: Database, userIds?: readonly string[]): Promise<GuildMember[]> {
  if (userIds === undefined) return read.$select("GuildMember", Prisma.empty);
  const rows: GuildMember[] = [];
  for (let from = 0; from < userIds.length; from += idsAtOnce) {
    const some = userIds.slice(from, from + idsAtOnce);
    rows.push(...(await read.$select("GuildMember", Prisma.sql`WHERE t.user_id IN (${Prisma.join(some)})`)));
  }
  return rows;
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
