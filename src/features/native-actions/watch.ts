import type { Logger } from "pino";
import type { Clock } from "../../kernel/clock.ts";
import type { DiscordCalls, SentBans } from "../../kernel/discord-port.ts";
import { readEntry, type LogEntry, type Seen } from "./entries.ts";
import { createLogReader, type LogReader } from "./log-reader.ts";
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
  /** Bans that an event told of and no entry yet. */
  const unexplained = new Map<string, NodeJS.Timeout>();
  let selfId: string | undefined;

  function readerOf(guildId: string): LogReader {
    const known = readers.get(guildId);
    if (known !== undefined) return known;
    const made = createLogReader({ guildId, rest: discord.rest, records, selfId: () => selfId, clock, logger, stopping: stopping.signal });
    readers.set(guildId, made);
    return made;
  }

  const keyOf = ({ kind, guildId, userId }: Pick<Seen, "kind" | "guildId" | "userId">) => [kind, guildId, userId].join(":");

  function explained(seen: Seen): void {
    clearTimeout(unexplained.get(keyOf(seen)));
    unexplained.delete(keyOf(seen));
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
    entry(guildId: string, entry: LogEntry): void {
      const seen = readEntry(guildId, entry, selfId);
      const reader = readerOf(guildId);
      reader.heard(entry);
      if (seen === undefined) return;
      explained(seen);
      reader.add(seen);
    },
    /** Somebody was banned, or their ban was lifted; who did it only the log says. */
    ban(kind: "ban" | "unban", guildId: string, userId: string): void {
      const action = { kind, guildId, userId };
      if (stopping.signal.aborted || unexplained.has(keyOf(action))) return;
      const at = clock.now();
      const record = (): void => {
        unexplained.delete(keyOf(action));
        if (discord.sentBans.has(action)) return;
        readerOf(guildId).add({ ...action, entryId: null, actorId: null, reason: null, until: null, at, isOurs: false });
      };
      unexplained.set(keyOf(action), setTimeout(record, entryMs));
    },
    /** Guilds whose audit log the bot may not view. */
    unseen: (): string[] => [...readers].flatMap(([guildId, reader]) => (reader.mayView() === false ? [guildId] : [])),
    async tend(): Promise<void> {
      for (const reader of readers.values()) await reader.tend();
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
