import type { Database, Logger, TransactionClient } from "../../database/database.ts";
import type { GuildState, MemberState } from "../../discord/guild-state.ts";
import type { Clock } from "../../kernel/clock.ts";
import { systemClock } from "../../kernel/clock.ts";
import type { Facts } from "./standing.facts.ts";
import { createFacts } from "./standing.facts.ts";
import type { Standing, StaffRoleRecord } from "./standing.person.ts";
import { presentRefs, standingOf } from "./standing.person.ts";
import { refOf } from "./standing.rows.ts";

export type { HeldRole, StaffRoleRecord, Standing } from "./standing.person.ts";

export interface StandingOptions {
  database: Database;
  guildState: GuildState;
  /** Owners named in the configuration. */
  ownerIds: readonly string[];
  clock?: Clock;
  logger?: Logger;
  /** How often owners added by another process are looked for. */
  pollMs?: number;
}

/** Who stands where: staff roles, overrides and owners in memory, so that decisions wait for nothing. */
export interface Standings {
  /** Read everything from the database, once the guild state is loaded. */
  load(): Promise<void>;
  /** The standing by what is stored; synchronous. Somebody not stored looks like a stranger: ask `resolve` for them. */
  of(userId: string): Standing;
  /** The standing, asking Discord about people who are not stored. */
  resolve(userId: string): Promise<Standing>;
  /** As `resolve`, at once where everything is in memory. */
  actorOf(userId: string): Standing | Promise<Standing>;
  /** Everyone who may be staff: stored people and owners. */
  people(): string[];
  roles(): readonly StaffRoleRecord[];
  role(key: string): StaffRoleRecord | undefined;
  /** A staff role as the transaction sees it. */
  readRole(db: TransactionClient, key: string): Promise<StaffRoleRecord | null>;
  /** Take over a staff role that was just committed; an older revision changes nothing. */
  setRole(role: StaffRoleRecord): void;
  /** How many people hold one of these Discord roles (`guildId:roleId`) now. */
  countHolders(refs: ReadonlySet<string>): number;
  /** Whether there is an owner now and would be none with this role in place. */
  losesLastOwner(role: StaffRoleRecord): boolean;
  /** Grows with every change that can make an earlier answer wrong. */
  readonly version: number;
  close(): void;
}

/** @param options.guildState is loaded before `load` is called */
export function createStanding(options: StandingOptions): Standings {
  const { database, guildState, clock = systemClock, logger, pollMs = 1000 } = options;
  const memo = new Map<string, Standing>();
  let version = 0;
  let timer: NodeJS.Timeout | undefined;
  const facts = createFacts(database, new Set(options.ownerIds), () => {
    version += 1;
    memo.clear();
    track(facts, guildState, logger);
  });
  const stop = guildState.onChange((userId) => {
    version += 1;
    if (userId === null) memo.clear();
    else memo.delete(userId);
  });

  const isPresentGuild = (guildId: string): boolean => guildState.guilds().some((guild) => guild.id === guildId && guild.present);

  function build(userId: string, members: readonly MemberState[], isStored: boolean, roleAt = facts.roleAt): Standing {
    const now = clock.now().getTime();
    return standingOf({
      userId,
      members,
      isStored,
      ownerSource: facts.ownerSource(userId),
      overrides: facts.overridesOf(userId).filter((entry) => entry.expiresAt === null || entry.expiresAt.getTime() > now),
      isPresentGuild,
      roleAt,
      isStale: () => guildState.isTooOld(),
    });
  }

  /** The standing when everything about this person is in memory. */
  function find(userId: string): Standing | undefined {
    const known = memo.get(userId);
    if (known !== undefined && (known.expiresAt === null || known.expiresAt.getTime() > clock.now().getTime())) return known;
    const members = guildState.members(userId);
    if (members.length === 0 && facts.ownerSource(userId) === null) return undefined;
    const standing = build(userId, members, members.length > 0);
    memo.set(userId, standing);
    return standing;
  }

  const of = (userId: string): Standing => find(userId) ?? build(userId, [], false);
  const people = (): string[] => [...new Set([...guildState.trackedUsers(), ...facts.owners()])];

  async function resolve(userId: string): Promise<Standing> {
    const known = find(userId);
    if (known !== undefined) return known;
    const members = await guildState.lookUp(userId);
    return find(userId) ?? build(userId, members, false);
  }

  /** Everyone's standing if Discord roles stood for staff roles in this way. */
  const peopleUnder = (roleAt: Facts["roleAt"]): Standing[] => people().map((id) => build(id, guildState.members(id), true, roleAt));

  return {
    async load() {
      await facts.load();
      timer ??= setInterval(() => void facts.pollOwners().catch(() => undefined), pollMs).unref();
    },
    of,
    resolve,
    actorOf: (userId) => find(userId) ?? resolve(userId),
    people,
    roles: facts.roles,
    role: facts.role,
    readRole: facts.readRole,
    setRole: facts.setRole,
    countHolders: (refs) =>
      people().filter((id) => presentRefs(guildState.members(id), isPresentGuild).some((ref) => refs.has(ref))).length,
    losesLastOwner(role) {
      if (facts.owners().length > 0 || !people().some((id) => of(id).isOwner)) return false;
      const refs = new Set(role.discord.map(refOf));
      const roleAt = (ref: string): StaffRoleRecord | undefined => (refs.has(ref) ? role : keptRole(facts.roleAt(ref), role.key));
      return !peopleUnder(roleAt).some((one) => one.isOwner);
    },
    get version() {
      return version;
    },
    close() {
      stop();
      clearInterval(timer);
    },
  };
}

function keptRole(role: StaffRoleRecord | undefined, replaced: string): StaffRoleRecord | undefined {
  return role?.key === replaced ? undefined : role;
}

/** Tell the guild state whom to store; it catches up in its own time. */
function track(facts: Facts, guildState: GuildState, logger: Logger | undefined): void {
  const users = new Set([...facts.owners(), ...facts.overridden()]);
  guildState.track({ roles: facts.refs(), users }).catch((error: unknown) => logger?.warn({ err: error }, "members could not be tracked"));
}
