import type { TransactionClient, ReadClient } from "../../../database/models.ts";
import type { Database, Logger } from "../../../database/database.ts";
import type { GuildState, MemberState } from "../../../discord/guild-state.ts";
import { systemClock, type Clock } from "../../../kernel/clock.ts";
import { oneAtATime, type Changes, type Topic } from "../../../cluster/changes.ts";
import { createFacts, type Facts } from "./facts.ts";
import { isBotAccount, presentRefs, standingOf, type Access, type PersonFacts } from "./person.ts";
import { listingOf, type ListedRecord, refOf } from "./rows.ts";
import { namedUntil, type Override, type StaffRoleRecord, type Leave, type Listing } from "./subject.ts";
import type { Decision } from "../../../kernel/call.ts";
import { places } from "../resolve.ts";

interface People {
  people: () => string[];
  /** The Discord roles (`guildId:roleId`) of somebody that count. */
  refsOf: (userId: string) => string[];
  isUnnamedBot: (userId: string) => boolean;
}

/** Who owns the installation, and that somebody always does. */
function createOwnership(facts: Facts, { people, refsOf, isUnnamedBot }: People) {
  /** Owners by name or, without any, by a Discord role, as of the last look. */
  let known: ReadonlySet<string> = new Set();
  let listener: (userIds: readonly string[]) => void = () => undefined;

  /** Owners by name. A bot that was kept as the last one before it was known to be a bot is none. */
  const byName = (): string[] => facts.owners().filter((id) => !isUnnamedBot(id));
  const holdsOwnerRole = (userId: string, roleAt: Facts["roleAt"] = facts.roleAt): boolean =>
    refsOf(userId).some((ref) => roleAt(ref)?.level === "owner");
  const byRole = (): string[] => people().filter((id) => holdsOwnerRole(id));
  /** Everybody who is an owner now, by name or by a Discord role. */
  const listOwners = (): string[] => [...new Set([...byName(), ...byRole()])];

  /**
   * Something changed about one person, or (null) about anybody.
   * With owners by name nobody is the last one by role; then nobody has to be counted.
   */
  function check(userId: string | null): void {
    if (byName().length > 0) return void (known = new Set(byName()));
    if (userId !== null && !known.has(userId)) {
      if (holdsOwnerRole(userId)) known = new Set([...known, userId]);
      return;
    }
    const still = new Set(userId === null ? byRole() : [...known].filter((id) => holdsOwnerRole(id)));
    // A bot is no owner by what it once held.
    const lost = [...known].filter((id) => !isUnnamedBot(id));
    known = still;
    if (still.size > 0 || lost.length === 0) return;
    facts.setOwners((owners) => {
      for (const id of lost) owners.set(id, { retained: true });
    });
    listener(lost);
  }

  return {
    listOwners,
    /** Owners by a Discord role. */
    ownersByRole: byRole,
    /** Whether this person is an owner and nobody else is. */
    isLastOwner(userId: string): boolean {
      const owners = listOwners();
      return owners.length === 1 && owners[0] === userId;
    },
    /** Whether there is an owner now and would be none with this role in place, or, without `role`, with the role of this key gone. */
    losesLastOwner(key: string, role: StaffRoleRecord | null): boolean {
      if (byName().length > 0 || byRole().length === 0) return false;
      const refs = new Set(role?.discord.map(refOf));
      const roleAt = (ref: string): StaffRoleRecord | undefined => {
        if (role !== null && refs.has(ref)) return role;
        const kept = facts.roleAt(ref);
        return kept?.key === key ? undefined : kept;
      };
      return !people().some((id) => holdsOwnerRole(id, roleAt));
    },
    /** Owners by name that are kept only as the last ones. */
    retainedOwners: () => facts.owners().filter((id) => facts.ownerSource(id) === "last_owner"),
    /** Whether somebody is an owner without being kept as the last one. */
    hasLastingOwner: () => facts.lastingOwners().length > 0 || byRole().length > 0,
    /** Hear of those who were the last owners when that was taken away, in Discord or by another process; they stay owners. */
    onLastOwnersLost(heard: (userIds: readonly string[]) => void): void {
      listener = heard;
    },
    check,
  };
}

export type { Access } from "./person.ts";
export type { HeldRole, Leave, Listing, Override, StaffRoleRecord } from "./subject.ts";

export interface AccessDirectory {
  /** Read everything from the database, once the guild state is loaded. */
  load(): Promise<void>;
  of(userId: string): Access;
  known(userId: string): Access;
  /** The standing, asking Discord about people who are not stored; at once where everything is in memory. */
  resolve(userId: string): Access | Promise<Access>;
  /** Who acts: as `resolve`, at once where memory tells. While every member list is known, anyone who is not stored is no staff. */
  actorOf(userId: string): Access | Promise<Access>;
  /** The access this person would have with other roles or entries. */
  suppose(given: Access, supposition: Supposition): Access;
  people(): string[];
  /** The guilds that the bot is in. */
  guildIds(): string[];
  /** Whether each of these people holds a permission everywhere now; true for nobody. */
  allHold(userIds: readonly string[], permission: string): boolean;
  /**
   * Further people whom the guild state is to store, whatever roles they hold.
   * @param neverStaff those of them who are stored for that alone: nobody is former staff who never was staff
   */
  trackAlso(users: ReadonlySet<string>, neverStaff: ReadonlySet<string>): void;
  /** A blacklist record was written: a severe one about a person bars them while it is in force. */
  noteRecord(record: ListedRecord): void;
  /** Those who hold one of these Discord roles (`guildId:roleId`) now. */
  holdersOf(refs: ReadonlySet<string>): Access[];
  /** How many people hold one of these Discord roles (`guildId:roleId`) now. */
  countHolders(refs: ReadonlySet<string>): number;
  /** Grows with every change that can make an earlier answer wrong. */
  version: number;
  close(): void;
  listOwners(): string[];
  /** Owners by a Discord role. */
  ownersByRole(): string[];
  /** Whether this person is an owner and nobody else is. */
  isLastOwner(userId: string): boolean;
  /** Whether there is an owner now and would be none with this role in place, or, without `role`, with the role of this key gone. */
  losesLastOwner(key: string, role: StaffRoleRecord | null): boolean;
  /** Owners by name that are kept only as the last ones. */
  retainedOwners(): string[];
  /** Whether somebody is an owner without being kept as the last one. */
  hasLastingOwner(): boolean;
  /** Hear of those who were the last owners when that was taken away, in Discord or by another process; they stay owners. */
  onLastOwnersLost(heard: (userIds: readonly string[]) => void): void;
  check(userId: string | null): void;
  /** Read again what may have changed without this process, or without its hearing of it. */
  reload(): Promise<void>;
  /** Look for owners that another process has added or removed. */
  pollOwners(): Promise<void>;
  roles(): readonly StaffRoleRecord[];
  role(key: string): StaffRoleRecord | undefined;
  /** The role that a Discord role (`guildId:roleId`) stands for. */
  roleAt(ref: string): StaffRoleRecord | undefined;
  /** Every Discord role that stands for a staff role. */
  refs(): ReadonlySet<string>;
  setRole(role: StaffRoleRecord): void;
  removeRole(key: string): void;
  /** A staff role as the transaction sees it. */
  readRole(db: TransactionClient, key: string): Promise<StaffRoleRecord | null>;
  readOverrides(db: Pick<ReadClient, "userPermission">, userId: string): Promise<Override[]>;
  /** The entries of somebody that are in memory; expired ones too. */
  overridesOf(userId: string): readonly Override[];
  setOverrides(userId: string, entries: readonly Override[], revision: number): void;
  overridden(): MapIterator<string>;
  leaveOf(userId: string): Leave | null;
  setLeave(userId: string, leave: Leave | null, revision: number): void;
  pollListings(): Promise<void>;
  compareListings(userIds: readonly string[]): Promise<void>;
  listingOf(userId: string): Listing | null;
  setListing(userId: string, recordId: string, listing: Listing | null): void;
  /** `configuration`, `owners` or `last_owner` for an owner by name. */
  ownerSource(userId: string): string | null;
  /** Owners by name. */
  owners(): string[];
  /** Owners named in the configuration. */
  configuredOwners(): string[];
  /** Owners by name who are not kept only as the last ones. */
  lastingOwners(): string[];
  setOwners(
    change: (
      owners: Map<
        string,
        {
          retained: boolean;
        }
      >,
    ) => void,
  ): void;
}

export interface AccessOptions {
  database: Database;
  guildState: GuildState;
  /** Owners named in the configuration. */
  ownerIds: readonly string[];
  /** Whether staff on leave have no access. */
  leaveBars?: boolean;
  clock?: Clock;
  logger?: Logger;
  /** How often owners added by another process are looked for. */
  pollMs?: number;
  changes?: Changes;
}

/** The tables that say what is held in memory here. */
const heldTables = [
  "owners",
  "staff_roles",
  "staff_role_discord_roles",
  "role_permissions",
  "user_permissions",
  "staff_profiles",
] as const satisfies Topic[];

/** What is otherwise in a thought experiment. */
export interface Supposition {
  /** Staff roles that are other than they are, by key. */
  roles?: ReadonlyMap<string, StaffRoleRecord>;
  /** The entries of this person. */
  overrides?: readonly Override[];
}

/** How often records that another process has listed are looked for. */
const listingsMs = 30_000;

/**
 * Who stands where: staff roles, overrides and owners in memory, so that decisions wait for nothing.
 * @param options.guildState is loaded before `load` is called
 */
export function createAccess(options: AccessOptions): AccessDirectory {
  const { database, guildState, leaveBars = false, clock = systemClock, logger, pollMs = 1000, changes } = options;
  const memo = new Map<string, Access>();
  const shared = createSharedAccess();
  let version = 0;
  const timers: NodeJS.Timeout[] = [];
  let further: ReadonlySet<string> = new Set();
  let strangers: ReadonlySet<string> = new Set();

  function changed(userId: string | null): void {
    version += 1;
    if (userId === null) {
      memo.clear();
      shared.forget();
    } else memo.delete(userId);
    ownership.check(userId);
  }
  const facts = createFacts(database, new Set(options.ownerIds), (userId) => {
    changed(userId);
    track();
  });
  const stop = guildState.onChange(changed);
  changes?.listen(heldTables, oneAtATime(facts.reload));
  changes?.listen("blacklist_records", facts.pollListings, async () => {
    await facts.pollListings();
    await facts.compareListings(people());
  });

  let tracking = 0;
  const isStale = (): boolean => guildState.isTooOld();
  /** Anyone who holds a staff role is stored, once every member list is known. */
  const isCertain = (): boolean => tracking === 0 && !guildState.freshness().stale;
  const isPresentGuild = (guildId: string): boolean => guildState.guilds().some((guild) => guild.id === guildId && guild.present);

  /** Tell the guild state whom to store; it catches up in its own time. */
  function track(): void {
    const users = new Set([...facts.owners(), ...facts.overridden(), ...further]);
    tracking += 1;
    guildState
      .track({ roles: facts.refs(), users })
      .catch((error: unknown) => logger?.warn({ err: error }, "members could not be tracked"))
      .finally(() => (tracking -= 1));
  }

  function build(
    userId: string,
    members: readonly MemberState[],
    isStored: boolean,
    { supposition, isUnanswered = false }: { supposition?: Supposition; isUnanswered?: boolean } = {},
  ): Access {
    const { roles, overrides = facts.overridesOf(userId) } = supposition ?? {};
    const roleAt = (ref: string): StaffRoleRecord | undefined => {
      const role = facts.roleAt(ref);
      return role && (roles?.get(role.key) ?? role);
    };
    return (supposition === undefined ? shared.of : standingOf)({
      userId,
      now: clock.now(),
      members,
      isStored,
      isUnanswered,
      isCertain,
      ownerSource: facts.ownerSource(userId),
      overrides,
      leave: facts.leaveOf(userId),
      listing: facts.listingOf(userId),
      leaveBars,
      isPresentGuild,
      roleAt,
      isStale,
    });
  }

  /** The access when everything about this person is in memory. */
  function find(userId: string): Access | undefined {
    const known = memo.get(userId);
    if (known !== undefined && (known.expiresAt === null || known.expiresAt.getTime() > clock.now().getTime())) return known;
    const members = guildState.members(userId);
    if (members.length === 0 && facts.ownerSource(userId) === null) return undefined;
    const access = build(userId, members, members.length > 0 && !strangers.has(userId));
    memo.set(userId, access);
    return access;
  }

  /** The access by what is stored; synchronous. Somebody not stored looks like a stranger: ask `resolve` for them. */
  const of = (userId: string): Access => find(userId) ?? build(userId, [], false);
  /** As {@link of}; anyone whom memory does not know is unknown for as long as it has gaps, and no stranger. */
  const known = (userId: string): Access => find(userId) ?? build(userId, [], false, { isUnanswered: !isCertain() });
  /** Everyone who may be staff: stored people and owners. */
  const people = (): string[] => [...new Set([...guildState.trackedUsers(), ...facts.owners()])];
  /** Whether the account is a bot that nobody has named: what it holds in Discord counts for nothing. */
  const isUnnamedBot = (userId: string): boolean =>
    isBotAccount(guildState.members(userId)) && namedUntil(facts.ownerSource(userId), facts.overridesOf(userId), clock.now()) === undefined;
  const refsOf = (userId: string): string[] => (isUnnamedBot(userId) ? [] : presentRefs(guildState.members(userId), isPresentGuild));
  const holders = (refs: ReadonlySet<string>): string[] => people().filter((id) => refsOf(id).some((ref) => refs.has(ref)));
  const ownership = createOwnership(facts, { people, refsOf, isUnnamedBot });

  async function lookUp(userId: string): Promise<Access> {
    const { members, isComplete } = await guildState.lookUp(userId);
    // What only a part of Discord's answer says gives no right: a rule that denies may stand in the other part.
    return find(userId) ?? build(userId, isComplete ? members : [], false, { isUnanswered: !isComplete });
  }

  return {
    ...facts,
    ...ownership,
    async load(): Promise<void> {
      await facts.load();
      if (timers.length > 0) return;
      const again = (work: () => Promise<void>, ms: number) => setInterval(() => void work().catch(() => undefined), ms).unref();
      timers.push(again(facts.pollOwners, pollMs), again(facts.pollListings, listingsMs));
    },
    of,
    known,
    resolve: (userId: string): Access | Promise<Access> => find(userId) ?? lookUp(userId),
    actorOf: (userId: string): Access | Promise<Access> => find(userId) ?? (isCertain() ? build(userId, [], false) : lookUp(userId)),
    suppose: ({ id, members, status }: Access, supposition: Supposition): Access => build(id, members, status !== null, { supposition }),
    people,
    guildIds: (): string[] => guildState.guilds().flatMap(({ id, present }) => (present ? [id] : [])),
    allHold: (userIds: readonly string[], permission: string): boolean =>
      userIds.every((id) => {
        const { isStaff, decide } = of(id);
        return isStaff && decide(permission).allowed;
      }),
    trackAlso(users: ReadonlySet<string>, neverStaff: ReadonlySet<string>): void {
      const concerned = [...strangers, ...neverStaff].filter((id) => strangers.has(id) !== neverStaff.has(id));
      [further, strangers] = [users, neverStaff];
      for (const userId of concerned) changed(userId);
      track();
    },
    noteRecord: (record: ListedRecord): void => facts.setListing(record.subjectId, record.id, listingOf(record)),
    holdersOf: (refs: ReadonlySet<string>): Access[] => holders(refs).map(of),
    countHolders: (refs: ReadonlySet<string>): number => holders(refs).length,
    /** Grows with every change that can make an earlier answer wrong. */
    get version(): number {
      return version;
    },
    close(): void {
      stop();
      for (const timer of timers) clearInterval(timer);
    },
  };
}

/** So many combinations of Discord roles are kept; a staff has few. */
const capacity = 5000;

/** Access answers of which everything but the person is the same for all who hold the same Discord roles. */
export function createSharedAccess() {
  const known = new Map<string, Access>();

  function byRoles(facts: PersonFacts): Access {
    const key = combination(facts);
    const found = known.get(key);
    if (found !== undefined) return found;
    if (known.size >= capacity) known.clear();
    const made = withKeptDecisions(standingOf(facts));
    known.set(key, made);
    return made;
  }

  return {
    of(facts: PersonFacts): Access {
      if (!isByRolesAlone(facts)) return standingOf(facts);
      const { userId: id, members } = facts;
      return { ...byRoles(facts), id, members };
    },
    /** What roles give, or where they count, has changed. */
    forget: () => known.clear(),
  };
}

/** Whether nothing is known of them but the guilds they are in and the roles they hold there. */
function isByRolesAlone({ isStored, members, ownerSource, overrides, leave, listing }: PersonFacts): boolean {
  return isStored && !isBotAccount(members) && ownerSource === null && overrides.length === 0 && leave === null && listing === null;
}

function combination({ members, isPresentGuild }: PersonFacts): string {
  let key = "";
  for (const { present, guildId, roleIds } of members) if (present && isPresentGuild(guildId)) key += `${guildId}:${roleIds.join(",")};`;
  return key;
}

/** Without entries of the person the guild is of no matter, and every decision stays as it is. */
function withKeptDecisions(access: Access): Access {
  const kept: (Decision | undefined)[] = [];
  return {
    ...access,
    decide(permission) {
      const place = places.get(permission);
      return place === undefined ? access.decide(permission) : (kept[place] ??= access.decide(permission));
    },
  };
}
