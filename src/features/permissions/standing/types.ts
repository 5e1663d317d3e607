import type { Database, Logger, TransactionClient } from "../../../database/database.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { Facts } from "./facts.ts";
import type { Ownership } from "./owners.ts";
import type { Standing } from "./person.ts";
import type { ListedRecord } from "./rows.ts";
import type { Override, StaffRoleRecord } from "./subject.ts";

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
