import type { Logger } from "pino";
import type { Clock } from "../../kernel/clock.ts";
import type { DiscordCalls, SentBans } from "../../kernel/discord-port.ts";
import { forEachIsolated, requireNoneFailed } from "../../kernel/isolated.ts";
import { readEntry, type ReadEntry, type Seen } from "./entries.ts";
import { createLogReader, type LogReader } from "./log-reader.ts";
import { createPairs } from "./pairs.ts";
import type { NativeRecords } from "./records.ts";

export type NativeWatch = ReturnType<typeof createNativeWatch>;

export interface NativeWatchDeps {
  discord: { rest: DiscordCalls; sentBans: SentBans };
  records: NativeRecords;
  clock: Clock;
  logger: Logger;
}

/** So long the entry of the log is waited for that says who banned somebody; without it the ban is recorded without who. */
const entryMs = 1000;

/** Follows what is done to people in the served guilds: by their audit logs, and by the events of bans where the bot may not view the log. */
export function createNativeWatch({ discord, records, clock, logger }: NativeWatchDeps) {
  const stopping = new AbortController();
  const readers = new Map<string, LogReader>();
  const pairs = createPairs(clock);
  /** Bans that an event told of and no entry yet. */
  const unexplained = new Map<Seen, NodeJS.Timeout>();
  let selfId: string | undefined;
  let lastAt = 0;
  let skipped = 0;

  function skip(guildId: string, entryId: string | null | undefined, error?: unknown): void {
    skipped += 1;
    // What an entry holds can be about anybody.
    const about = {
      guild_id: guildId,
      ...(typeof entryId === "string" && { entry_id: entryId }),
      ...(error !== undefined && { err: error }),
    };
    logger.warn(about, "an entry of a server's audit log could not be read or recorded, and is left out");
  }

  /** When an event came: each later than the one before, so that what happened in one millisecond stays in its order. */
  function nextMoment(): Date {
    lastAt = Math.max(clock.now().getTime(), lastAt + 1);
    return new Date(lastAt);
  }

  function readerOf(guildId: string): LogReader {
    const known = readers.get(guildId);
    if (known !== undefined) return known;
    const made = createLogReader({
      guildId,
      rest: discord.rest,
      records,
      read: (entry) => readFrom(guildId, entry),
      onSkipped: ({ entryId }, error) => skip(guildId, entryId, error),
      isExplained: (seen) => pairs.isExplained(seen),
      clock,
      logger,
      stopping: stopping.signal,
    });
    readers.set(guildId, made);
    return made;
  }

  /** What an entry says was done, however it was heard of; the event about the same thing waits no more. */
  function readFrom(guildId: string, entry: unknown): ReadEntry {
    const read = readEntry(guildId, entry, { selfId, now: clock.now() });
    const { id, seen, isUnreadable } = read;
    if (isUnreadable) skip(guildId, id);
    if (seen === undefined) return read;
    const event = pairs.entry(seen);
    if (event !== undefined) {
      clearTimeout(unexplained.get(event));
      unexplained.delete(event);
    }
    return seen.actorId === null && isSent(seen) ? { ...read, seen: { ...seen, isOurs: true } } : read;
  }

  /** Whether the bot itself did it a moment ago. */
  function isSent({ kind, guildId, userId }: Seen): boolean {
    return (kind === "ban" || kind === "unban") && userId !== null && discord.sentBans.has({ kind, guildId, userId });
  }

  /** Resolves when nothing is under way. */
  async function idle(): Promise<void> {
    for (const reader of readers.values()) await reader.idle();
  }

  return {
    /** A connection began anew, as this account. */
    connected(id: string): void {
      selfId = id;
      for (const reader of readers.values()) reader.lost();
    },
    /** The bot is in a guild, perhaps again. */
    present: (guildId: string): void => readerOf(guildId).readAgain(),
    gone(guildId: string): void {
      readers.delete(guildId);
    },
    /** The log of a guild has a new entry. */
    entry(guildId: string, entry: unknown): void {
      const { id, seen } = readFrom(guildId, entry);
      const reader = readerOf(guildId);
      if (id !== undefined) reader.heard(id);
      if (seen !== undefined) reader.add(seen);
    },
    /** Somebody was banned, or their ban was lifted; who did it only the log says. */
    ban(kind: "ban" | "unban", guildId: string, userId: string): void {
      if (stopping.signal.aborted) return;
      const unnamed = { entryId: null, actorId: null, reason: null, until: null, rule: null, count: null, days: null, isOurs: false };
      const seen: Seen = { kind, guildId, userId, ...unnamed, at: nextMoment() };
      if (pairs.event(seen)) return;
      const record = (): void => {
        unexplained.delete(seen);
        if (!isSent(seen)) readerOf(guildId).add(seen);
      };
      unexplained.set(seen, setTimeout(record, entryMs));
    },
    /** Guilds whose audit log the bot may not view. */
    unseen: (): string[] => [...readers].flatMap(([guildId, reader]) => (reader.mayView() === false ? [guildId] : [])),
    /** How many entries could not be read or recorded since the start. */
    skipped: (): number => skipped,
    async tend(): Promise<void> {
      pairs.sweep();
      const idsOf = ([id]: readonly [string, LogReader]) => ({ guild_id: id });
      const isolation = { logger, failure: "the audit log of a server could not be followed; it is tried again", idsOf };
      requireNoneFailed(await forEachIsolated(readers, ([, reader]) => reader.tend(), isolation));
    },
    idle,
    /** Begin nothing more, and wait for what is under way. */
    async stop(): Promise<void> {
      stopping.abort();
      for (const timer of unexplained.values()) clearTimeout(timer);
      unexplained.clear();
      await idle();
    },
  };
}
