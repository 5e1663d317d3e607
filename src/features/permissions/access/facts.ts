import type { TransactionClient, ReadClient } from "../../../database/models.ts";
import { isDeepStrictEqual } from "node:util";
import type { Database } from "../../../database/database.ts";
import {
  findOverrides,
  findRole,
  readLeaves,
  readOverrides,
  readOwners,
  readRoles,
  refOf,
  listingOf,
  readListings,
  readListingsOf,
  readRecords,
} from "./rows.ts";
import type { Leave, Override, StaffRoleRecord, Listing } from "./subject.ts";
import { Prisma } from "../../../generated/sqlite/client.ts";
import { oneAtATime } from "../../../cluster/changes.ts";
import { inBatches } from "../../../kernel/pause.ts";
import { createTurns } from "../../../kernel/turns.ts";

/** Changes that are looked at together. */
const atOnce = 500;

/**
 * The severe blacklist records about people, held in memory.
 * @param onChange called after what is known about somebody was replaced
 */
export function createListings({ read }: Pick<Database, "read">, onChange: (userId: string) => void) {
  let known = new Map<string, Listing>();
  /** The last change of the feed that was heard of; it is numbered in the order of commits. */
  let seen = 0;
  /** Records this process told of itself while it looks: what it reads of them may be older. */
  let told: Set<string> | undefined;
  const turns = createTurns();

  /** One look after the other: each has to know what it is told of meanwhile. */
  const looking = (look: (mine: ReadonlySet<string>) => Promise<void>): Promise<void> =>
    turns.take("look", async () => {
      told = new Set();
      try {
        await look(told);
      } finally {
        told = undefined;
      }
    });

  function put(userId: string, recordId: string, listing: Listing | null): void {
    if (listing !== null) known.set(userId, listing);
    else if (known.get(userId)?.recordId === recordId) known.delete(userId);
    else return;
    onChange(userId);
  }

  /** What is known of somebody stays where one of their records says so. */
  function takeOver(userId: string, found: readonly Listing[], mine: ReadonlySet<string>): void {
    const before = known.get(userId);
    const [first = null] = found;
    const recordId = first?.recordId ?? before?.recordId;
    if (recordId === undefined || found.some((one) => isDeepStrictEqual(one, before))) return;
    if (![recordId, before?.recordId].some((id) => id !== undefined && mine.has(id))) put(userId, recordId, first);
  }

  async function learn(ids: ReadonlySet<string>, isOlder: (recordId: string) => boolean): Promise<void> {
    const rows = await readRecords(read, [...ids]);
    for (const row of rows) {
      const listing = listingOf(row);
      if (!isOlder(row.id) && !isDeepStrictEqual(listing, known.get(row.subjectId))) put(row.subjectId, row.id, listing);
    }
    const there = new Set(rows.map(({ id }) => id));
    const gone = new Set([...ids].filter((id) => !there.has(id)));
    if (gone.size > 0) for (const [userId, { recordId }] of known) if (gone.has(recordId)) put(userId, recordId, null);
  }

  async function look(mine: ReadonlySet<string>): Promise<void> {
    await inBatches(atOnce, async () => {
      const changes = await read.blacklistChange.findMany({
        where: { seq: { gt: seen } },
        select: { seq: true, recordId: true, kind: true },
        orderBy: { seq: "asc" },
        take: atOnce,
      });
      const ids = new Set(changes.flatMap(({ kind, recordId }) => (kind === "user" ? [recordId] : [])));
      if (ids.size > 0) await learn(ids, (id) => mine.has(id));
      seen = changes.at(-1)?.seq ?? seen;
      return changes.length;
    });
  }

  return {
    async load(): Promise<void> {
      const [last] = await read.$select("BlacklistChange", Prisma.sql`ORDER BY t.seq DESC LIMIT 1`, ["seq"]);
      known = await readListings(read);
      seen = last?.seq ?? 0;
    },
    /** Look for records that another process has written. */
    poll: oneAtATime(() => looking(look)),
    /** Look what the records themselves say of these people, whatever the feed tells. */
    compare: (userIds: readonly string[]): Promise<void> =>
      looking(async (mine) => {
        for (let from = 0; from < userIds.length; from += atOnce) {
          const some = userIds.slice(from, from + atOnce);
          const found = await readListingsOf(read, some);
          for (const userId of some) takeOver(userId, found.get(userId) ?? [], mine);
        }
      }),
    of: (userId: string) => known.get(userId) ?? null,
    /** @param listing null: this record bars nobody (any more) */
    set(userId: string, recordId: string, listing: Listing | null): void {
      told?.add(recordId);
      put(userId, recordId, listing);
    },
  };
}

export interface Facts {
  load(): Promise<void>;
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

/**
 * What the database says about staff, held in memory.
 * @param configured owners named in the configuration
 * @param onChange called after something in memory was replaced: about one person, or (null) about anybody
 */
export function createFacts(database: Database, configured: ReadonlySet<string>, onChange: (userId: string | null) => void): Facts {
  let owners: Owners = new Map();
  let roles: ReadonlyMap<string, StaffRoleRecord> = new Map();
  let byRef: ReadonlyMap<string, StaffRoleRecord> = new Map();
  let overrides = new Map<string, readonly Override[]>();
  let leaves = new Map<string, Leave>();
  const listings = createListings(database, onChange);
  const newest = createRevisions();
  /** How often this process has told of a change of its own. */
  let told = 0;

  const readAll = async () => {
    const { read } = database;
    return await Promise.all([readOverrides(read), readOwners(read), readLeaves(read), readRoles(read)]);
  };

  function takeOver(next: readonly StaffRoleRecord[]): void {
    told += 1;
    roles = new Map(next.map((role) => [role.key, role]));
    byRef = new Map(next.flatMap((role) => role.discord.map((one) => [refOf(one), role] as const)));
    onChange(null);
  }

  const others = (key: string): StaffRoleRecord[] => [...roles.values()].filter((one) => one.key !== key);

  return {
    async load(): Promise<void> {
      await listings.load();
      const [entries, owned, away, found] = await readAll();
      [overrides, owners, leaves] = [entries, owned, away];
      takeOver(found);
    },
    async reload(): Promise<void> {
      for (;;) {
        const before = told;
        const [entries, owned, away, found] = await readAll();
        // What was read may be older than what this process has changed meanwhile.
        if (told !== before) continue;
        const byKey = new Map(found.map((role) => [role.key, role]));
        if (isDeepStrictEqual([entries, owned, away, byKey], [overrides, owners, leaves, roles])) return;
        [overrides, owners, leaves] = [entries, owned, away];
        return takeOver(found);
      }
    },
    async pollOwners(): Promise<void> {
      const before = told;
      const found = await readOwners(database.read);
      if (told !== before || isDeepStrictEqual(found, owners)) return;
      owners = found;
      onChange(null);
    },
    roles: (): readonly StaffRoleRecord[] => [...roles.values()],
    role: (key: string) => roles.get(key),
    roleAt: (ref: string) => byRef.get(ref),
    refs: (): ReadonlySet<string> => new Set(byRef.keys()),
    setRole(role: StaffRoleRecord): void {
      if ((roles.get(role.key)?.revision ?? 0) < role.revision) takeOver([...others(role.key), role]);
    },
    removeRole(key: string): void {
      if (roles.has(key)) takeOver(others(key));
    },
    readRole: findRole,
    readOverrides: findOverrides,
    overridesOf: (userId: string): readonly Override[] => overrides.get(userId) ?? [],
    setOverrides(userId: string, entries: readonly Override[], revision: number): void {
      if (!newest(`overrides:${userId}`, revision)) return;
      told += 1;
      if (entries.length === 0) overrides.delete(userId);
      else overrides.set(userId, entries);
      onChange(userId);
    },
    overridden: () => overrides.keys(),
    leaveOf: (userId: string) => leaves.get(userId) ?? null,
    setLeave(userId: string, leave: Leave | null, revision: number): void {
      if (!newest(`leave:${userId}`, revision)) return;
      told += 1;
      if (leave === null) leaves.delete(userId);
      else leaves.set(userId, leave);
      onChange(userId);
    },
    pollListings: listings.poll,
    compareListings: listings.compare,
    listingOf: listings.of,
    setListing: listings.set,
    ownerSource(userId: string): string | null {
      if (configured.has(userId)) return "configuration";
      const owner = owners.get(userId);
      return owner === undefined ? null : owner.retained ? "last_owner" : "owners";
    },
    owners: () => [...new Set([...configured, ...owners.keys()])],
    configuredOwners: () => [...configured],
    lastingOwners: () => [...new Set([...configured, ...[...owners].flatMap(([id, { retained }]) => (retained ? [] : [id]))])],
    setOwners(change: (owners: Map<string, { retained: boolean }>) => void): void {
      const next = new Map(owners);
      change(next);
      owners = next;
      told += 1;
      onChange(null);
    },
  };
}

type Owners = ReadonlyMap<string, { retained: boolean }>;

/** Commits may be heard of in another order than they happened: an older revision of a thing changes nothing. */
function createRevisions(): (thing: string, revision: number) => boolean {
  const seen = new Map<string, number>();
  return (thing, revision) => {
    if ((seen.get(thing) ?? 0) >= revision) return false;
    seen.set(thing, revision);
    return true;
  };
}
