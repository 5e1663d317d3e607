import { createKeyTable, keyOfId, type KeyTable } from "../../kernel/key-table.ts";
import type { GuildInfo, GuildStanding, RoleInfo, Standing, Standings } from "../guild-state.ts";
import type { MemberPayload } from "./payloads.ts";
import type { MemberWatch } from "./presence.ts";

/** As the listeners and the reading of member lists write it. */
export interface StandingRecord extends Standings, MemberWatch {
  /** A new session begins: until Discord sends a guild again, nothing is known of it. */
  begin(botId: string | undefined): void;
  /** Discord has sent a guild with its roles and the bot's own member. */
  reported(guildId: string, members: readonly MemberPayload[]): void;
}

interface StandingsOptions {
  guild(guildId: string): GuildInfo | undefined;
  roles(guildId: string): ReadonlyMap<string, RoleInfo>;
  /** Whether this process hears of everything that happens in the guild. */
  isFollowed(guildId: string): boolean;
  /** Whether every member of the guild was read in this session. */
  isRead(guildId: string): boolean;
}

/** Fewer distinct sets of roles than this are never looked through for unused ones. */
const fewSets = 4096;

/**
 * The roles and timeouts of all members, in memory alone and only in the process that has the gateway: about 16 bytes a member, as the members
 * with the same roles share one list of them.
 */
export function createStandings(options: StandingsOptions): StandingRecord {
  /** By guild: the number of each member's set of roles. */
  const known = new Map<string, KeyTable>();
  const reading = new Map<string, KeyTable>();
  const sets = createRoleSets(() => [...known.values(), ...reading.values()]);
  /** When timeouts end, by guild and user: milliseconds since 1970. */
  const timeouts = new Map<string, Map<string, number>>();
  const sent = new Set<string>();
  let botId: string | undefined;

  function setTimeoutOf(guildId: string, userId: string, until: string | null | undefined): void {
    // An event leaves out what has not changed.
    if (until === undefined) return;
    const ends = timeouts.get(guildId) ?? new Map<string, number>();
    if (until === null) ends.delete(userId);
    else timeouts.set(guildId, ends.set(userId, Date.parse(until)));
  }

  function standingOf(guildId: string, userId: string): Standing | undefined {
    const set = numberOf(known.get(guildId), userId);
    if (set === undefined) return undefined;
    const ends = timeouts.get(guildId)?.get(userId);
    return { roleIds: sets.get(set), timedOutUntil: ends === undefined ? null : new Date(ends) };
  }

  function of(guildId: string): GuildStanding | undefined {
    const guild = options.guild(guildId);
    if (guild === undefined || botId === undefined || !options.isFollowed(guildId)) return undefined;
    const { name, ownerId } = guild;
    const common = { id: guildId, name, ownerId, botId, roles: options.roles(guildId) };
    if (!guild.present) return { ...common, bot: null, member: () => undefined };
    const bot = sent.has(guildId) ? standingOf(guildId, botId) : undefined;
    if (bot === undefined) return undefined;
    const member = (userId: string) => (options.isRead(guildId) ? (standingOf(guildId, userId) ?? null) : undefined);
    return { ...common, bot, member };
  }

  const record: StandingRecord = {
    of,
    begin(id) {
      botId = id;
      sent.clear();
    },
    reported(guildId, members) {
      for (const member of members) record.seen(guildId, member, false);
      sent.add(guildId);
    },
    seen(guildId, { user, roles, communication_disabled_until: until }, isListed) {
      const set = sets.numberFor(roles);
      setNumber(tableOf(known, guildId), user.id, set);
      if (isListed || reading.has(guildId)) setNumber(tableOf(reading, guildId), user.id, set);
      setTimeoutOf(guildId, user.id, until);
    },
    changed: (guildId, member) => record.seen(guildId, member, false),
    left(guildId, userId) {
      for (const tables of [known, reading]) unset(tables.get(guildId), userId);
      timeouts.get(guildId)?.delete(userId);
    },
    begins: (guildId) => void tableOf(reading, guildId),
    read(guildId, isComplete) {
      const list = reading.get(guildId);
      reading.delete(guildId);
      if (!isComplete || list === undefined) return;
      known.set(guildId, list);
      const ends = timeouts.get(guildId);
      for (const [userId, at] of ends ?? []) if (at <= Date.now() || numberOf(list, userId) === undefined) ends?.delete(userId);
    },
    drop(guildId) {
      for (const tables of [known, reading]) tables.delete(guildId);
      timeouts.delete(guildId);
      sent.delete(guildId);
    },
  };
  return record;
}

/** Numbers sets of roles, so that each is kept once. @param tables what uses the numbers */
function createRoleSets(tables: () => readonly KeyTable[]) {
  const numbers = new Map<string, number>();
  const sets = new Map<number, readonly string[]>();
  let next = 1;
  let limit = fewSets;

  function dropUnused(): void {
    const used = new Set<number>();
    for (const table of tables()) for (const key of table.keys()) table.collect(key, used);
    for (const [text, number] of numbers) {
      if (used.has(number)) continue;
      numbers.delete(text);
      sets.delete(number);
    }
    limit = Math.max(fewSets, 2 * sets.size);
  }

  return {
    get: (number: number): readonly string[] => sets.get(number) ?? [],
    numberFor(roleIds: readonly string[]): number {
      const sorted = roleIds.toSorted();
      const text = sorted.join();
      const found = numbers.get(text);
      if (found !== undefined) return found;
      if (sets.size >= limit) dropUnused();
      numbers.set(text, next);
      sets.set(next, sorted);
      return next++;
    },
  };
}

function tableOf(tables: Map<string, KeyTable>, guildId: string): KeyTable {
  const found = tables.get(guildId) ?? createKeyTable();
  tables.set(guildId, found);
  return found;
}

function numberOf(table: KeyTable | undefined, userId: string): number | undefined {
  const found = new Set<number>();
  table?.collect(keyOfId(userId), found);
  const [number] = found;
  return number;
}

function unset(table: KeyTable | undefined, userId: string): void {
  const before = numberOf(table, userId);
  if (before !== undefined) table?.remove(keyOfId(userId), before);
}

function setNumber(table: KeyTable, userId: string, number: number): void {
  if (table.has(keyOfId(userId), number)) return;
  unset(table, userId);
  table.put(keyOfId(userId), number);
}
