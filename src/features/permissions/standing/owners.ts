import type { Facts } from "./facts.ts";
import { refOf, type ListedRecord } from "./rows.ts";
import type { StaffRoleRecord, Override } from "./subject.ts";
import type { Database, Logger, TransactionClient } from "../../../database/database.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { Standing } from "./person.ts";

/** Who owns the installation, and that somebody always does. */
export interface Ownership {
  /** Everybody who is an owner now, by name or by a Discord role. */
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
  setOwners: Facts["setOwners"];
  /** Owners named in the configuration. */
  configuredOwners(): readonly string[];
  ownerSource: Facts["ownerSource"];
  /** Hear of those who were the last owners when that was taken away, in Discord or by another process; they stay owners. */
  onLastOwnersLost(listener: (userIds: readonly string[]) => void): void;
  /** Something changed about one person, or (null) about anybody. */
  check(userId: string | null): void;
}

export interface OwnershipOptions {
  facts: Facts;
  people(): string[];
  /** The Discord roles (`guildId:roleId`) of somebody that count. */
  refsOf(userId: string): string[];
}

export function createOwnership({ facts, people, refsOf }: OwnershipOptions): Ownership {
  /** Owners by name or, without any, by a Discord role, as of the last look. */
  let known: ReadonlySet<string> = new Set();
  let listener: (userIds: readonly string[]) => void = () => undefined;

  const holdsOwnerRole = (userId: string, roleAt: Facts["roleAt"] = facts.roleAt): boolean =>
    refsOf(userId).some((ref) => roleAt(ref)?.level === "owner");
  const byRole = (): string[] => people().filter((id) => holdsOwnerRole(id));
  const listOwners = (): string[] => [...new Set([...facts.owners(), ...byRole()])];

  /** With owners by name nobody is the last one by role; then nobody has to be counted. */
  function check(userId: string | null): void {
    if (facts.owners().length > 0) return void (known = new Set(facts.owners()));
    if (userId !== null && !known.has(userId)) {
      if (holdsOwnerRole(userId)) known = new Set([...known, userId]);
      return;
    }
    const still = new Set(userId === null ? byRole() : [...known].filter((id) => holdsOwnerRole(id)));
    const lost = [...known];
    known = still;
    if (still.size > 0 || lost.length === 0) return;
    facts.setOwners((owners) => {
      for (const id of lost) owners.set(id, { retained: true });
    });
    listener(lost);
  }

  return {
    listOwners,
    ownersByRole: byRole,
    isLastOwner(userId) {
      const owners = listOwners();
      return owners.length === 1 && owners[0] === userId;
    },
    losesLastOwner(key, role) {
      if (facts.owners().length > 0 || byRole().length === 0) return false;
      const refs = new Set(role?.discord.map(refOf));
      const roleAt = (ref: string): StaffRoleRecord | undefined => {
        if (role !== null && refs.has(ref)) return role;
        const kept = facts.roleAt(ref);
        return kept?.key === key ? undefined : kept;
      };
      return !people().some((id) => holdsOwnerRole(id, roleAt));
    },
    retainedOwners: () => facts.owners().filter((id) => facts.ownerSource(id) === "last_owner"),
    hasLastingOwner: () => facts.lastingOwners().length > 0 || byRole().length > 0,
    setOwners: facts.setOwners,
    configuredOwners: facts.configuredOwners,
    ownerSource: facts.ownerSource,
    onLastOwnersLost(heard) {
      listener = heard;
    },
    check,
  };
}

export interface StandingOptions {
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
}

/** What is otherwise in a thought experiment. */
export interface Supposition {
  /** Staff roles that are other than they are, by key. */
  roles?: ReadonlyMap<string, StaffRoleRecord>;
  /** The entries of this person. */
  overrides?: readonly Override[];
}

/** Who stands where: staff roles, overrides and owners in memory, so that decisions wait for nothing. */
export interface Standings
  extends
    Pick<
      Facts,
      "roles" | "role" | "setRole" | "removeRole" | "setOverrides" | "setLeave" | "readOverrides" | "pollListings" | "pollOwners"
    >,
    Ownership {
  /** Read everything from the database, once the guild state is loaded. */
  load(): Promise<void>;
  /** The standing by what is stored; synchronous. Somebody not stored looks like a stranger: ask `resolve` for them. */
  of(userId: string): Standing;
  /** The standing, asking Discord about people who are not stored; at once where everything is in memory. */
  resolve(userId: string): Standing | Promise<Standing>;
  /** Who acts: as `resolve`, at once where memory tells. While every member list is known, whoever is not stored is no staff. */
  actorOf(userId: string): Standing | Promise<Standing>;
  /** The standing this person would have with other roles or entries. */
  suppose(standing: Standing, supposition: Supposition): Standing;
  /** Everyone who may be staff: stored people and owners. */
  people(): string[];
  /**
   * Further people whom the guild state is to store, whatever roles they hold.
   * @param neverStaff those of them who are stored for that alone: nobody is former staff who never was staff
   */
  trackAlso(users: ReadonlySet<string>, neverStaff: ReadonlySet<string>): void;
  /** A staff role as the transaction sees it. */
  readRole(db: TransactionClient, key: string): Promise<StaffRoleRecord | null>;
  /** The entries of somebody that are in memory; expired ones too. */
  overridesOf(userId: string): readonly Override[];
  /** A blacklist record was written: a severe one about a person bars them while it is in force. */
  noteRecord(record: ListedRecord): void;
  /** Those who hold one of these Discord roles (`guildId:roleId`) now. */
  holdersOf(refs: ReadonlySet<string>): Standing[];
  /** How many people hold one of these Discord roles (`guildId:roleId`) now. */
  countHolders(refs: ReadonlySet<string>): number;
  /** Grows with every change that can make an earlier answer wrong. */
  readonly version: number;
  close(): void;
}
