import { createKeyTable, idOfKey, keyOfId, type Key, type KeyTable } from "../../kernel/key-table.ts";
import type { MemberPayload } from "./payloads.ts";

/** Somebody who is in a guild, with when they joined: milliseconds since 1970, 1 where Discord does not say it. */
export interface Presence {
  guildId: string;
  userId: string;
  joinedAt: number;
}

/**
 * Who is in which guild, in memory alone: about 24 bytes a member. Of most members nothing is stored, so this is all that is known of them. It is
 * empty until a member list was read; bots are left out.
 */
export interface Presences {
  /** When somebody joined; undefined for anyone who is not known to be in the guild. */
  joinedAt(guildId: string, userId: string): number | undefined;
  /** The members of a guild, in no order. */
  membersOf(guildId: string): Iterable<string>;
  /** Hear of everyone who joins, and of everyone a member list names. */
  onSeen(listener: (presence: Presence) => void): void;
}

/** Hears of the members of guilds, from events and from the reading of member lists. */
export interface MemberWatch {
  /** Somebody joins, or a member list that is being read names them. @param isListed whether it is a list */
  seen(guildId: string, member: MemberPayload, isListed: boolean): void;
  /** An event changes a member. */
  changed(guildId: string, member: MemberPayload): void;
  left(guildId: string, userId: string): void;
  /** The reading of a member list begins. An event about a member is newer than the list: what the list says about them is left out then. */
  begins(guildId: string): void;
  /** The reading of a member list has ended; a complete one leaves only those it has named, and who has joined since. */
  read(guildId: string, isComplete: boolean): void;
  /** The bot is not in the guild any more. */
  drop(guildId: string): void;
}

export interface PresenceRecord extends Presences, MemberWatch {}

/** Nobody is anywhere yet. */
export function createPresences(): PresenceRecord {
  const known = new Map<string, KeyTable>();
  const reading = new Map<string, KeyTable>();
  const listeners = new Set<(presence: Presence) => void>();

  const record: PresenceRecord = {
    joinedAt: (guildId, userId) => joinedIn(known.get(guildId), keyOfId(userId)),
    *membersOf(guildId) {
      for (const key of known.get(guildId)?.keys() ?? []) yield idOfKey(key);
    },
    onSeen: (listener) => void listeners.add(listener),
    seen(guildId, { user, joined_at: joined }, isListed) {
      if (user.bot === true) return;
      const key = keyOfId(user.id);
      // An event leaves out what has not changed.
      const joinedAt = Math.max(1, Date.parse(joined ?? "") || (joinedIn(known.get(guildId), key) ?? 1));
      set(tableOf(known, guildId), key, joinedAt);
      if (isListed || reading.has(guildId)) set(tableOf(reading, guildId), key, joinedAt);
      for (const listener of listeners) listener({ guildId, userId: user.id, joinedAt });
    },
    changed(guildId, member) {
      if (reading.has(guildId)) record.seen(guildId, member, false);
    },
    left(guildId, userId) {
      const key = keyOfId(userId);
      for (const tables of [known, reading]) unset(tables.get(guildId), key);
    },
    begins: (guildId) => void tableOf(reading, guildId),
    read(guildId, isComplete) {
      const list = reading.get(guildId);
      reading.delete(guildId);
      if (isComplete && list !== undefined) known.set(guildId, list);
    },
    drop(guildId) {
      known.delete(guildId);
      reading.delete(guildId);
    },
  };
  return record;
}

function tableOf(tables: Map<string, KeyTable>, guildId: string): KeyTable {
  const found = tables.get(guildId) ?? createKeyTable("times");
  tables.set(guildId, found);
  return found;
}

function joinedIn(table: KeyTable | undefined, key: Key): number | undefined {
  const found = new Set<number>();
  table?.collect(key, found);
  const [joinedAt] = found;
  return joinedAt;
}

function unset(table: KeyTable | undefined, key: Key): void {
  const before = joinedIn(table, key);
  if (before !== undefined) table?.remove(key, before);
}

function set(table: KeyTable, key: Key, joinedAt: number): void {
  if (table.has(key, joinedAt)) return;
  unset(table, key);
  table.put(key, joinedAt);
}
