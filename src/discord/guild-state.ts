/** One person in one guild, as last told by Discord. */
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
}

/** How far the state can be trusted. Live: `stale` false, age 0. Never synchronised: `asOf` null. */
export interface Freshness {
  stale: boolean;
  asOf: Date | null;
  ageSeconds: number | null;
}

export interface LookedUp {
  members: readonly MemberState[];
  /** False where Discord could not be asked: then nothing follows from what is not there. */
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
  guilds(): readonly GuildInfo[];
  role(guildId: string, roleId: string): RoleInfo | undefined;
  roles(guildId: string): readonly RoleInfo[];
  /** The stored memberships of a person; synchronous, no I/O. */
  members(userId: string): readonly MemberState[];
  /** Stored memberships, else those Discord tells on demand; an answer within seconds, never an exception. */
  lookUp(userId: string): Promise<LookedUp>;
  /** Everyone stored. */
  trackedUsers(): Iterable<string>;
  freshness(): Freshness;
  /** Whether the state is too old to base privileged writes on. */
  isTooOld(): boolean;
  /** Tell who must be stored; resolves when they were found, or when the search is queued because Discord is down. */
  track(what: Tracked): Promise<void>;
  /** Somebody's rows were deleted: nothing is known of them until Discord tells of them again and there is a reason to store them. */
  forget(userId: string): void;
  /** Hear of changes; null means that anything may have changed. Returns the way to stop. */
  onChange(listener: (userId: string | null) => void): () => void;
}
