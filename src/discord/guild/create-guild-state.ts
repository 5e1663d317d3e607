import type { Logger } from "pino";
import type { Database } from "../../database/database.ts";
import { systemClock, type Clock } from "../../kernel/clock.ts";
import { roleRef } from "../../kernel/ids.ts";
import { type GatewayListener, listener } from "../gateway/listeners.ts";
import type { GuildState, MemberState, ServedGuilds, Tracked, ForeignGuild } from "../guild-state.ts";
import { createGuildLink, type GuildLink } from "./link.ts";
import { createGuildListeners } from "./listeners.ts";
import { createLookUps, type LookUpLimits, type LookUps } from "./look-up.ts";
import type { MemberSource } from "./member-read.ts";
import { createMemberSync, type SyncLimits } from "./member-sync.ts";
import { memberState } from "./mirror.ts";
import { createPresences, type MemberWatch } from "./presence.ts";
import { createChanges, createGuildRecord, type GuildRecord } from "./record.ts";
import { createStandings } from "./standings.ts";
import { oneAtATime, type Changes } from "../../cluster/changes.ts";
import { GatewayDispatchEvents as Dispatch, GatewayIntentBits as Intent } from "discord-api-types/v10";
import * as payloads from "./payloads.ts";

/** Knows in which guilds the bot is without their being served, so that the operator learns of them. Only ids and names are kept, in memory. */
function createForeignGuilds(logger: Logger) {
  const names = new Map<string, string>();
  /** Reconnects announce every guild again. */
  const logged = new Set<string>();

  const note = ({ id, name }: ForeignGuild): void => {
    names.set(id, name);
    if (logged.has(id)) return;
    logged.add(id);
    logger.warn(
      { guild_id: id, guild: name },
      "the bot is in a server that is not served, and leaves it alone: remove the bot from it, or add its id to GUILD_IDS and restart",
    );
  };

  const rows: readonly GatewayListener[] = [
    listener({
      dispatch: Dispatch.Ready,
      intents: [],
      schema: payloads.ready,
      handle({ guilds }) {
        const present = new Set(guilds.map(({ id }) => id));
        for (const id of names.keys()) if (!present.has(id)) names.delete(id);
      },
    }),
    listener({
      dispatch: Dispatch.GuildCreate,
      intents: [Intent.Guilds],
      schema: payloads.foreignGuildCreate,
      handle: (guild) => ("name" in guild ? note(guild) : undefined),
    }),
    listener({ dispatch: Dispatch.GuildUpdate, intents: [Intent.Guilds], schema: payloads.foreignGuild, handle: note }),
    listener({
      dispatch: Dispatch.GuildDelete,
      intents: [Intent.Guilds],
      schema: payloads.guildDelete,
      handle: ({ id, unavailable }) => (unavailable === true ? undefined : void names.delete(id)),
    }),
  ];

  return {
    listeners: rows.map((row): GatewayListener => ({ ...row, isOfForeignGuilds: true })),
    list: (): ForeignGuild[] => [...names].map(([id, name]) => ({ id, name })),
  };
}

/** Where another process may have the link to Discord, and write the state. */
interface Following {
  changes: Changes;
  /** Whether this process has the link. */
  isLeader(): boolean;
  /** How current the state of the process is that has it; undefined when none has told it lately. */
  leader(): { isLive: boolean; asOf: Date | null } | undefined;
}

interface FollowDeps {
  record: Pick<GuildRecord, "reload" | "forgetDeleted">;
  served: ServedGuilds;
}

/** Show what the process that has the link to Discord stores, and have that one forget whom another process has erased. */
function followLeader({ changes, isLeader }: Following, { record, served }: FollowDeps): void {
  let areGuildsChanged = false;
  /** Whose rows have changed since the last look; undefined: anybody's. */
  let changed: Set<string> | undefined = new Set();

  const look = oneAtATime(async () => {
    const [guilds, userIds] = [areGuildsChanged, changed && [...changed]];
    [areGuildsChanged, changed] = [false, new Set()];
    if (!guilds && userIds?.length === 0) return;
    // Who has the link has written the rest itself.
    if (isLeader()) return record.forgetDeleted(userIds);
    try {
      await record.reload(served, { guilds, userIds });
    } catch (error) {
      [areGuildsChanged, changed] = [true, undefined];
      throw error;
    }
  });
  changes.listen(["guilds", "guild_roles"], () => {
    areGuildsChanged = true;
    return look();
  });
  changes.listen("guild_members", ({ keys }) => {
    if (keys === undefined) changed = undefined;
    else for (const userId of keys) changed?.add(userId);
    return look();
  });
}

/** What the connection to the gateway needs of the guild state. */
export interface GuildFeed {
  /** The rows of the listener table that the state is made by. */
  listeners: readonly GatewayListener[];
  /** Members are read from this source until `stop`. */
  attach(source: MemberSource): void;
  /** The gateway was heard, or answered a heartbeat that was sent at this time. */
  alive(at?: Date): void;
  /** The link to the gateway broke; the last state answers, marked stale, until it is back. */
  lost(): void;
  /** Resolves when everything received so far is stored and visible to readers, or given up. */
  stored(): Promise<void>;
  /** Write what is pending (at most 5 s) and nothing afterwards. */
  stop(): Promise<void>;
}

export interface GuildStateOptions {
  database: Database;
  logger: Logger;
  served: ServedGuilds;
  clock?: Clock;
  /** Age from which the state is too old for privileged writes; default 900. */
  staleLimitSeconds?: number;
  /** How often a live state stores its time, so that a restart knows its age; default 60,000. */
  noteMs?: number;
  sync?: SyncLimits;
  lookUp?: LookUpLimits;
  /** Where another process may have the link to Discord, and write the state. */
  following?: Following;
}

/** Wires the parts of the guild state: record, freshness, member lists, look-ups, tracking and listeners. */
function createGuildEngine({ database, logger, served, clock = systemClock, ...options }: GuildStateOptions) {
  const foreign = createForeignGuilds(logger);
  const changes = createChanges(logger);
  const goneRoles = new Set<string>();
  const locales = new Map<string, string>();
  const presences = createPresences();
  let discord: MemberSource | undefined;
  const source = (): MemberSource | undefined => discord;

  const record = createGuildRecord({
    database,
    logger,
    onCommitted(change) {
      link.sign();
      changes.announce(change);
    },
    onGivenUp: (guildIds) => readLater(guildIds),
  });
  const link = createGuildLink({ clock, isFailing: () => record.isFailing(), leader: options.following?.leader });
  const standings = createStandings({
    guild: (guildId) => record.guild(guildId),
    roles: (guildId) => record.roles(guildId),
    isFollowed: (guildId) => link.isLinked() && !link.isUnavailable(guildId),
    isRead: (guildId) => !link.unread.has(guildId),
  });
  const members = watchedBy([presences, standings]);
  const isLinked = (): boolean => link.isLinked();
  const isPresent = (guildId: string): boolean => record.guild(guildId)?.present === true;
  const presentGuilds = (): string[] => record.guilds().flatMap((guild) => (guild.present ? [guild.id] : []));
  const lookUps = createLookUps({ source, guildIds: presentGuilds, ...options.lookUp });
  const sync = createMemberSync({
    ...options.sync,
    logger,
    clock,
    source,
    isLinked,
    isWanted: (guildId) => isPresent(guildId) && !link.isUnavailable(guildId),
    presentIds: (guildId) => record.membersOf(guildId).flatMap((state) => (state.present ? [state.userId] : [])),
    onBegin: (guildId) => members.begins(guildId),
    accept(guildId, member) {
      observe(memberState(guildId, member));
      members.seen(guildId, member, true);
    },
    absent: (guildId, userId) => record.setAbsent(guildId, userId),
    write(guildId, startedAt) {
      record.setSynced(guildId, startedAt);
      return record.idle();
    },
    onDone(guildId) {
      members.read(guildId, true);
      link.markRead(guildId);
      link.sign();
      changes.announce({ users: [], everything: true });
    },
    onFailed(guildId) {
      members.read(guildId, false);
      if (isPresent(guildId)) link.markUnread(guildId);
    },
  });
  const readLater = (guildIds: Iterable<string>): void => {
    for (const guildId of guildIds) {
      if (isPresent(guildId)) link.markUnread(guildId);
      sync.requestLater(guildId);
    }
  };
  const read = (guildId: string): Promise<void> => sync.request(guildId);
  const markUnread = (guildId: string): void => link.markUnread(guildId);
  const tracking = createTracking({ record, lookUps, presentGuilds, isLinked, read, markUnread });
  // A member list that was requested before a role was deleted still names that role when it arrives.
  const observe = (state: MemberState): void => {
    const roleIds = state.roleIds.filter((roleId) => !goneRoles.has(roleRef(state.guildId, roleId)));
    tracking.observe(roleIds.length === state.roleIds.length ? state : { ...state, roleIds });
  };
  const listeners = createGuildListeners({
    served,
    record,
    link,
    sync,
    readLater,
    observe,
    members,
    standings,
    roleGone: (guildId, roleId) => void goneRoles.add(roleRef(guildId, roleId)),
    localeOf: (guildId, locale) => void locales.set(guildId, locale),
    touched(guildId, userId) {
      sync.touched(guildId, userId);
      lookUps.touched(userId);
    },
    guildsChanged: () => lookUps.clear(),
    doubt: (guildId) => readLater(presentGuilds().filter((id) => guildId === undefined || id === guildId)),
  });

  return {
    record,
    link,
    lookUps,
    tracking,
    changes,
    presentGuilds,
    foreign,
    locales,
    presences,
    standings,
    listeners: [...listeners, ...foreign.listeners],
    attach: (given: MemberSource | undefined) => void (discord = given),
    lost(): void {
      link.lost();
      sync.lost();
    },
    /** Without this a restart after weeks would take its state to be weeks old. */
    storeTime(): void {
      if (link.isLive()) for (const guildId of presentGuilds()) record.setSynced(guildId, clock.now());
    },
  };
}

/** Tells each of them. */
function watchedBy(watches: readonly MemberWatch[]): MemberWatch {
  const tell =
    <Name extends keyof MemberWatch>(name: Name) =>
    (...told: Parameters<MemberWatch[Name]>): void => {
      for (const watch of watches) (watch[name] as (...told: Parameters<MemberWatch[Name]>) => void)(...told);
    };
  return {
    seen: tell("seen"),
    changed: tell("changed"),
    left: tell("left"),
    begins: tell("begins"),
    read: tell("read"),
    drop: tell("drop"),
  };
}

const stopMs = 5000;

/** The state of the guilds; without a link to Discord it answers as last stored. `feed` is for the connection to the gateway. */
export function createGuildState(options: GuildStateOptions): GuildState & { feed: GuildFeed; own: GuildLink["own"] } {
  const { staleLimitSeconds = 900, noteMs = 60_000 } = options;
  const engine = createGuildEngine(options);
  const { record, link, tracking, changes } = engine;
  const { following } = options;
  if (following !== undefined) followLeader(following, { ...options, record });
  let timer: NodeJS.Timeout | undefined;

  return {
    async load() {
      await record.load(options.served);
      link.startFrom(oldest(record.guilds().flatMap((guild) => (guild.present ? [guild.syncedAt] : []))));
    },
    guilds: () => [...record.mirror.guilds.values()],
    foreignGuilds: () => engine.foreign.list(),
    preferredLocale: (guildId) => engine.locales.get(guildId),
    role: (guildId, roleId) => record.mirror.roles.get(guildId)?.get(roleId),
    roles: (guildId) => [...(record.mirror.roles.get(guildId)?.values() ?? [])],
    members: (userId) => record.mirror.memberships(userId),
    async lookUp(userId) {
      const stored = record.mirror.memberships(userId);
      const guilds = engine.presentGuilds().length;
      if (stored.some((state) => state.present) || (guilds > 0 && guilds === stored.length)) return { members: stored, isComplete: true };
      if (guilds === 0) return { members: stored, isComplete: link.isLive() };
      const { states, isComplete, isOutdated } = await engine.lookUps.ask(userId, "stranger");
      const now = record.mirror.memberships(userId);
      const members = [...now, ...states.filter((state) => !now.some((known) => known.guildId === state.guildId))];
      return { members, isComplete: isComplete && !isOutdated };
    },
    trackedUsers: () => record.mirror.users(),
    freshness: () => link.freshness(),
    isTooOld: () => !link.isLive() && link.ageSeconds() > staleLimitSeconds,
    track: (what) => tracking.track(what),
    forget: (userId) => record.forget(userId),
    presences: engine.presences,
    standings: engine.standings,
    onChange: changes.listen,
    own: link.own,
    feed: {
      listeners: engine.listeners,
      attach(source) {
        engine.attach(source);
        timer ??= setInterval(() => engine.storeTime(), noteMs).unref();
      },
      alive: (at) => link.sign(at),
      lost: () => engine.lost(),
      stored: () => record.idle(),
      async stop() {
        clearInterval(timer);
        engine.storeTime();
        engine.lost();
        engine.attach(undefined);
        await record.stop(stopMs);
      },
    },
  };
}

/** Null if any time is null: a guild that was never read makes the age of the whole state unknown. */
function oldest(times: readonly (Date | null)[]): Date | null {
  const known = times.filter((at) => at !== null);
  if (known.length < times.length || known.length === 0) return null;
  return new Date(Math.min(...known.map((at) => at.getTime())));
}

/** More new users than this are found by reading whole member lists instead of single look-ups. */
const maxLookUps = 25;

interface TrackingOptions {
  record: GuildRecord;
  lookUps: LookUps;
  presentGuilds(): readonly string[];
  isLinked(): boolean;
  /** Read a guild's whole member list; never rejects. */
  read(guildId: string): Promise<void>;
  /** Remember that a guild has to be read. */
  markUnread(guildId: string): void;
}

/** Decides who is stored: holders of tracked roles, tracked users, and everyone who is stored already. */
export function createTracking({ record, lookUps, presentGuilds, isLinked, read, markUnread }: TrackingOptions) {
  let tracked: Tracked = { roles: new Set(), users: new Set() };

  const observe = (state: MemberState): void => {
    const isWanted =
      record.member(state.guildId, state.userId) !== undefined ||
      tracked.users.has(state.userId) ||
      state.roleIds.some((roleId) => tracked.roles.has(`${state.guildId}:${roleId}`));
    if (isWanted) record.setMember(state);
  };

  const findOne = async (userId: string): Promise<boolean> => {
    lookUps.touched(userId);
    const found = await lookUps.ask(userId, "staff");
    if (!found.isComplete || found.isOutdated) return false;
    for (const state of found.states) observe(state);
    return true;
  };

  return {
    observe,
    async track(what: Tracked): Promise<void> {
      const before = tracked;
      tracked = { roles: new Set(what.roles), users: new Set(what.users) };
      const newUsers = [...tracked.users].filter((id) => !before.users.has(id));
      const newRoles = [...tracked.roles].filter((key) => !before.roles.has(key));
      const present = presentGuilds();
      const concerned = new Set(newRoles.map((key) => key.split(":")[0] ?? "").filter((id) => present.includes(id)));
      if (newUsers.length > maxLookUps) for (const id of present) concerned.add(id);
      if (!isLinked()) {
        for (const id of newUsers.length > 0 ? present : concerned) markUnread(id);
        return;
      }
      const reads = [...concerned].map(read);
      if (newUsers.length <= maxLookUps && concerned.size < present.length) {
        const found = await Promise.all(newUsers.map(findOne));
        if (found.includes(false)) reads.push(...present.filter((id) => !concerned.has(id)).map(read));
      }
      await Promise.all(reads);
      await record.idle();
    },
  };
}
