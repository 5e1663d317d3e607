import type { Database, ReadClient, TransactionClient } from "../../../database/database.ts";
import { createListings } from "./listings.ts";
import { findOverrides, findRole, readLeaves, readOverrides, readOwners, readRoles, refOf } from "./rows.ts";
import type { Leave, Listing, Override, StaffRoleRecord } from "./subject.ts";

/** What the database says about staff, held in memory. */
export interface Facts {
  load(): Promise<void>;
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
  readRole(db: TransactionClient, key: string): Promise<StaffRoleRecord | null>;
  readOverrides(db: Pick<ReadClient, "userPermission">, userId: string): Promise<Override[]>;
  overridesOf(userId: string): readonly Override[];
  setOverrides(userId: string, entries: readonly Override[], revision: number): void;
  overridden(): Iterable<string>;
  leaveOf(userId: string): Leave | null;
  setLeave(userId: string, leave: Leave | null, revision: number): void;
  /** Look for blacklist records that another process has written. */
  pollListings(): Promise<void>;
  listingOf(userId: string): Listing | null;
  /** @param listing null: this record bars nobody (any more) */
  setListing(userId: string, recordId: string, listing: Listing | null): void;
  /** `configuration`, `owners` or `last_owner` for an owner by name. */
  ownerSource(userId: string): string | null;
  /** Owners by name. */
  owners(): readonly string[];
  /** Owners named in the configuration. */
  configuredOwners(): readonly string[];
  /** Owners by name who are not kept only as the last ones. */
  lastingOwners(): readonly string[];
  setOwners(change: (owners: Map<string, { retained: boolean }>) => void): void;
}

/** @param onChange called after something in memory was replaced: about one person, or (null) about anybody */
export function createFacts(database: Database, configured: ReadonlySet<string>, onChange: (userId: string | null) => void): Facts {
  let owners: Owners = new Map();
  let roles: ReadonlyMap<string, StaffRoleRecord> = new Map();
  let byRef: ReadonlyMap<string, StaffRoleRecord> = new Map();
  let overrides = new Map<string, readonly Override[]>();
  let leaves = new Map<string, Leave>();
  const listings = createListings(database, onChange);
  const newest = createRevisions();

  function takeOver(next: readonly StaffRoleRecord[]): void {
    roles = new Map(next.map((role) => [role.key, role]));
    byRef = new Map(next.flatMap((role) => role.discord.map((one) => [refOf(one), role] as const)));
    onChange(null);
  }

  const others = (key: string): StaffRoleRecord[] => [...roles.values()].filter((one) => one.key !== key);

  return {
    async load() {
      const { read } = database;
      await listings.load();
      [overrides, owners, leaves] = await Promise.all([readOverrides(read), readOwners(read), readLeaves(read)]);
      takeOver(await readRoles(read));
    },
    async pollOwners() {
      const found = await readOwners(database.read);
      if (isSame(found, owners)) return;
      owners = found;
      onChange(null);
    },
    roles: () => [...roles.values()],
    role: (key) => roles.get(key),
    roleAt: (ref) => byRef.get(ref),
    refs: () => new Set(byRef.keys()),
    setRole(role) {
      if ((roles.get(role.key)?.revision ?? 0) < role.revision) takeOver([...others(role.key), role]);
    },
    removeRole(key) {
      if (roles.has(key)) takeOver(others(key));
    },
    readRole: findRole,
    readOverrides: findOverrides,
    overridesOf: (userId) => overrides.get(userId) ?? [],
    setOverrides(userId, entries, revision) {
      if (!newest(`overrides:${userId}`, revision)) return;
      if (entries.length === 0) overrides.delete(userId);
      else overrides.set(userId, entries);
      onChange(userId);
    },
    overridden: () => overrides.keys(),
    leaveOf: (userId) => leaves.get(userId) ?? null,
    setLeave(userId, leave, revision) {
      if (!newest(`leave:${userId}`, revision)) return;
      if (leave === null) leaves.delete(userId);
      else leaves.set(userId, leave);
      onChange(userId);
    },
    pollListings: listings.poll,
    listingOf: listings.of,
    setListing: listings.set,
    ownerSource(userId) {
      if (configured.has(userId)) return "configuration";
      const owner = owners.get(userId);
      return owner === undefined ? null : owner.retained ? "last_owner" : "owners";
    },
    owners: () => [...new Set([...configured, ...owners.keys()])],
    configuredOwners: () => [...configured],
    lastingOwners: () => [...new Set([...configured, ...[...owners].flatMap(([id, { retained }]) => (retained ? [] : [id]))])],
    setOwners(change) {
      const next = new Map(owners);
      change(next);
      owners = next;
      onChange(null);
    },
  };
}

type Owners = ReadonlyMap<string, { retained: boolean }>;

function isSame(a: Owners, b: Owners): boolean {
  return a.size === b.size && [...a].every(([id, { retained }]) => b.get(id)?.retained === retained);
}

/** Commits may be heard of in another order than they happened: an older revision of a thing changes nothing. */
function createRevisions(): (thing: string, revision: number) => boolean {
  const seen = new Map<string, number>();
  return (thing, revision) => {
    if ((seen.get(thing) ?? 0) >= revision) return false;
    seen.set(thing, revision);
    return true;
  };
}
