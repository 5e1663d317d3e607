import type { Presences } from "./guild/presence.ts";

/**
 * The guilds of this community, as GUILD_IDS names them. No other guild is ours: anybody can add a public bot to a server of theirs, so the
 * presence of the bot says nothing.
 */
export type ServedGuilds = Pick<ReadonlySet<string>, "has">;

/** One person in one guild, as Discord last reported it. */
export interface MemberState {
  guildId: string;
  userId: string;
  username: string;
  globalName: string | null;
  nick: string | null;
  /** The avatar hash of the account, not of the guild profile. */
  avatar: string | null;
  /** While `present` is false these are the last roles known; they give no rights. */
  roleIds: readonly string[];
  present: boolean;
  joinedAt: Date | null;
  /** Whether the account is a bot. An account that was one is one in every later state. */
  isBot: boolean;
}

export interface GuildInfo {
  id: string;
  name: string;
  icon: string | null;
  ownerId: string | null;
  /** False after the bot was removed. */
  present: boolean;
  /** Until when the stored members are known to be complete. */
  syncedAt: Date | null;
}

export interface RoleInfo {
  id: string;
  name: string;
  position: number;
  color: number;
  /** Whether its members are shown apart from the others. */
  hoist: boolean;
  /** Its permission bits. Only in memory, and undefined until the gateway has reported the role to this process. */
  permissions?: bigint;
  /** Whether Discord alone gives and takes it, as the role of a bot. Kept as `permissions` is. */
  managed?: boolean;
}

/** A member as far as it decides what the bot can do to them. */
export interface Standing {
  roleIds: readonly string[];
  /** When their timeout ends, which may be past; null without one. */
  timedOutUntil: Date | null;
}

/** A guild as far as it decides what the bot can do there, as the gateway last reported it. */
export interface GuildStanding {
  id: string;
  name: string;
  ownerId: string | null;
  roles: ReadonlyMap<string, RoleInfo>;
  /** The bot's own account. */
  botId: string;
  /** The bot as a member; null after it was removed. */
  bot: Standing | null;
  /** Somebody as a member. Null: they are none. Undefined: it is not known, as the members are being read. */
  member(userId: string): Standing | null | undefined;
}

/** What the bot can do where. Only the process that has the link to the gateway knows it. */
export interface Standings {
  /** Undefined while it is not known: in other processes, without a link, and until Discord has sent the guild. */
  of(guildId: string): GuildStanding | undefined;
}

/** A guild that is not served, though the bot is in it. */
export interface ForeignGuild {
  id: string;
  name: string;
}

/** How current the state is. Live: `stale` false, age 0. Never synchronised: `asOf` null. */
export interface Freshness {
  stale: boolean;
  asOf: Date | null;
  ageSeconds: number | null;
}

export interface LookedUp {
  members: readonly MemberState[];
  /** False if Discord could not be asked about every guild: then a missing membership proves nothing. */
  isComplete: boolean;
}

/** Who must be stored: holders of these roles (`guildId:roleId`) and these users. */
export interface Tracked {
  roles: ReadonlySet<string>;
  users: ReadonlySet<string>;
}

/** The guilds, roles and members the service knows: rows in the database, mirrored in memory for reads without I/O. */
export interface GuildState {
  /** Fill the mirror from the database; once, at boot. */
  load(): Promise<void>;
  /** The served guilds that are stored, with the bot or, after it was removed, without. */
  guilds(): readonly GuildInfo[];
  /** The guilds the bot is in that are not served. Nothing of them is stored. */
  foreignGuilds(): readonly ForeignGuild[];
  /** The language that a guild states as its own, as Discord names it, such as `de`; undefined until the gateway has reported it. */
  preferredLocale(guildId: string): string | undefined;
  role(guildId: string, roleId: string): RoleInfo | undefined;
  roles(guildId: string): readonly RoleInfo[];
  /** The stored memberships of a person; synchronous, no I/O. */
  members(userId: string): readonly MemberState[];
  /** The stored memberships, or else those that Discord reports on demand. Answers within seconds and never throws. */
  lookUp(userId: string): Promise<LookedUp>;
  /** Everyone stored. */
  trackedUsers(): Iterable<string>;
  freshness(): Freshness;
  /** Whether the state is too old to base privileged writes on. */
  isTooOld(): boolean;
  /** Set who must be stored. Resolves when they were found, or when the search is queued because Discord is down. */
  track(what: Tracked): Promise<void>;
  /** Forget a person whose rows were deleted, until Discord reports them again and there is a reason to store them. */
  forget(userId: string): void;
  /** Who is in which guild, stored or not. */
  presences: Presences;
  /** What decides whether Discord lets the bot do something. */
  standings: Standings;
  /** Listen for changes; null means that anything may have changed. @returns how to stop listening */
  onChange(listener: (userId: string | null) => void): () => void;
}
