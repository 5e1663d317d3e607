import type { Database, TransactionClient } from "../../database/database.ts";
import type { Override, StaffRoleRecord } from "./standing.person.ts";
import { findRole, readOverrides, readOwners, readRoles, refOf } from "./standing.rows.ts";

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
  readRole(db: TransactionClient, key: string): Promise<StaffRoleRecord | null>;
  overridesOf(userId: string): readonly Override[];
  overridden(): Iterable<string>;
  /** `configuration` or `owners` for an owner by name. */
  ownerSource(userId: string): string | null;
  owners(): readonly string[];
}

/** @param onChange called after anything in memory was replaced */
export function createFacts(database: Database, configured: ReadonlySet<string>, onChange: () => void): Facts {
  let kept: ReadonlySet<string> = new Set();
  let roles: ReadonlyMap<string, StaffRoleRecord> = new Map();
  let byRef: ReadonlyMap<string, StaffRoleRecord> = new Map();
  let overrides: ReadonlyMap<string, readonly Override[]> = new Map();

  function takeOver(next: readonly StaffRoleRecord[]): void {
    roles = new Map(next.map((role) => [role.key, role]));
    byRef = new Map(next.flatMap((role) => role.discord.map((one) => [refOf(one), role] as const)));
    onChange();
  }

  return {
    async load() {
      const [nextRoles, nextOverrides, nextOwners] = await Promise.all([
        readRoles(database.read),
        readOverrides(database.read),
        readOwners(database.read),
      ]);
      overrides = nextOverrides;
      kept = nextOwners;
      takeOver(nextRoles);
    },
    async pollOwners() {
      const found = await readOwners(database.read);
      if (found.size === kept.size && [...found].every((id) => kept.has(id))) return;
      kept = found;
      onChange();
    },
    roles: () => [...roles.values()],
    role: (key) => roles.get(key),
    roleAt: (ref) => byRef.get(ref),
    refs: () => new Set(byRef.keys()),
    setRole(role) {
      if ((roles.get(role.key)?.revision ?? 0) < role.revision)
        takeOver([...[...roles.values()].filter((one) => one.key !== role.key), role]);
    },
    readRole: findRole,
    overridesOf: (userId) => overrides.get(userId) ?? [],
    overridden: () => overrides.keys(),
    ownerSource: (userId) => (configured.has(userId) ? "configuration" : kept.has(userId) ? "owners" : null),
    owners: () => [...new Set([...configured, ...kept])],
  };
}
