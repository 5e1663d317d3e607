import type { Logger } from "pino";
import type { Clock } from "../../kernel/clock.ts";
import type { DiscordCalls, SentBans } from "../../kernel/discord-port.ts";
import { forEachIsolated, requireNoneFailed } from "../../kernel/isolated.ts";
import { readEntry, type ReadEntry, type Seen, idAt, laterOf } from "./entries.ts";
import { createPairs, type NativeRecords } from "./records.ts";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Routes } from "discord-api-types/v10";
import { z } from "zod";
import { ProblemError } from "../../kernel/errors.ts";
import { pause } from "../../kernel/pause.ts";

interface LogReader {
  /** The connection began anew: what is told from now on waits until what was missed has been read. */
  lost(): void;
  /** Read what was missed. */
  readAgain(): void;
  /** Something was done. What only an event told of has to be told of by the log, too, as long as the bot may view it. */
  add(seen: Seen): void;
  /** An entry of the log was told of, whatever it is about. */
  heard(id: string): void;
  /** Once a minute: whether the log may be viewed by now, what is left to be read, and how far it was read though nothing was for us. */
  tend(): Promise<void>;
  /** Whether the bot may view the log; undefined while that is not known. */
  mayView(): boolean | undefined;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
}

interface LogReaderDeps {
  guildId: string;
  rest: DiscordCalls;
  records: Pick<NativeRecords, "positionOf" | "write">;
  /** What an entry says was done. */
  read: (entry: unknown) => ReadEntry;
  /** This could not be recorded, whatever is tried. */
  onSkipped: (seen: Seen, error: unknown) => void;
  /** Whether the entry about what an event told of was seen since. */
  isExplained: (seen: Seen) => boolean;
  clock: Clock;
  logger: Logger;
  stopping: AbortSignal;
}

/** Discord's limit for a page. */
const pageSize = 100;
/** So many pages are read in one go; the next minute goes on from there. */
const maxPages = 50;
/** So many are written at once: between two slices everything else has its turn. */
const sliceSize = 50;
/** What is told while the log is being read waits; with more than this the log is read again instead. */
const maxWaiting = 2000;
/** How long after a failure it is tried again. */
const retryMs = 2000;

const Page = z.object({ audit_log_entries: z.array(z.unknown()) });

/**
 * Follows the audit log of one guild: first what came while the bot was away, from where it stopped, then what the gateway tells.
 * One thing at a time and in order, whatever arrives meanwhile.
 */
function createLogReader(deps: LogReaderDeps): LogReader {
  const { guildId, rest, records, clock, logger, stopping } = deps;
  const waiting: Seen[] = [];
  /** Whether everything before what waits has been read. */
  let isCaughtUp = false;
  let mayView: boolean | undefined;
  /** More was missed than is read in one go. */
  let isResting = false;
  let isFailing = false;
  /** The last entry that was told of. */
  let last = "0";
  /** The last entry that is stored as read. */
  let stored: string | undefined;
  let working: Promise<void> | undefined;

  async function write(seen: readonly Seen[], upTo: string | undefined): Promise<void> {
    try {
      await records.write(guildId, seen, upTo);
    } catch (error) {
      // What repeating cannot mend holds nothing else up.
      if (seen.length === 0 || error instanceof ProblemError || stopping.aborted) throw error;
      if (seen.length > 1) for (const one of seen) await write([one], undefined);
      else for (const one of seen) deps.onSkipped(one, error);
      if (upTo !== undefined) await write([], upTo);
    }
    if (upTo !== undefined) stored = laterOf(stored ?? "0", upTo);
  }

  /** In slices; how far the log was read is written with the last one. */
  async function writeAll(seen: readonly Seen[], upTo: string): Promise<void> {
    let left = seen;
    for (; left.length > sliceSize; left = left.slice(sliceSize)) {
      await write(left.slice(0, sliceSize), undefined);
      await nextTurn();
    }
    await write(left, upTo);
  }

  /** @returns the entries after a position, oldest first; undefined where the bot may not view the log */
  async function page(after: string): Promise<unknown[] | undefined> {
    const query = new URLSearchParams({ after, limit: pageSize.toString() });
    const route = Routes.guildAuditLog(guildId);
    try {
      return Page.parse(await rest.call({ method: "GET", route, query, purpose: "sync", deadlineMs: 20_000, signal: stopping }))
        .audit_log_entries;
    } catch (error) {
      const isRefused = error instanceof ProblemError && error.code === "discord_error" && error.extra?.["discord_status"] === 403;
      if (isRefused) return undefined;
      throw error;
    }
  }

  function noteView(isAllowed: boolean): void {
    if (!isAllowed && mayView !== false)
      logger.warn(
        { guild_id: guildId },
        "the bot may not view the audit log of this server, so what moderators do there is not recorded, except bans without who did it: give the bot's role the permission View Audit Log",
      );
    mayView = isAllowed;
  }

  /** Page after page from where it stopped. @returns whether the end was reached */
  async function catchUp(): Promise<boolean> {
    stored ??= await records.positionOf(guildId);
    // What was done before the first start is nobody's news.
    if (stored === undefined) await write([], idAt(clock.now()));
    for (let count = 0; count < maxPages; count += 1) {
      const from = stored ?? "0";
      const entries = await page(from);
      noteView(entries !== undefined);
      if (entries === undefined || entries.length === 0) return true;
      const read = entries.map(deps.read);
      const end = read.reduce((latest, { id = "0" }) => laterOf(latest, id), from);
      await writeAll(
        read.flatMap(({ seen }) => seen ?? []),
        end,
      );
      if (entries.length < pageSize || end === from || stopping.aborted) return true;
    }
    return false;
  }

  /** What was told, a slice at a time. What is told of later comes after the slice, or waits as well. */
  async function writeWaiting(): Promise<void> {
    for (;;) {
      if (waiting.length === 0 || !isCaughtUp || stopping.aborted) return;
      const slice = waiting.slice(0, sliceSize);
      const upTo = slice.length === waiting.length ? last : slice.findLast(({ entryId }) => entryId !== null)?.entryId;
      await write(
        slice.filter((seen) => !deps.isExplained(seen)),
        upTo ?? undefined,
      );
      waiting.splice(0, slice.length);
      await nextTurn();
    }
  }

  /** Everything there is to do, until there is nothing. What fails stays, and is tried again. */
  async function work(): Promise<void> {
    while (!stopping.aborted && !isResting && (!isCaughtUp || waiting.length > 0)) {
      try {
        if (!isCaughtUp) {
          isCaughtUp = true;
          if (!(await catchUp())) [isCaughtUp, isResting] = [false, true];
        }
        await writeWaiting();
        isFailing = false;
      } catch (error) {
        isCaughtUp = false;
        if (stopping.aborted) return;
        if (!isFailing)
          logger.warn({ err: error, guild_id: guildId }, "what others did in Discord could not be recorded; it is tried again");
        isFailing = true;
        await pause(retryMs, stopping);
      }
    }
  }

  function begin(): void {
    working ??= work().finally(() => {
      working = undefined;
      if (waiting.length > 0 && !isResting && !stopping.aborted) begin();
    });
  }

  function readAgain(): void {
    isCaughtUp = false;
    begin();
  }

  return {
    lost(): void {
      isCaughtUp = false;
    },
    readAgain,
    add(seen: Seen): void {
      waiting.push(seen);
      if (waiting.length > maxWaiting && mayView !== false) {
        waiting.length = 0;
        isCaughtUp = false;
      }
      if (seen.entryId === null && mayView !== false) isCaughtUp = false;
      begin();
    },
    heard(id: string): void {
      last = laterOf(last, id);
      if (mayView === false) readAgain();
    },
    async tend(): Promise<void> {
      isResting = false;
      if (mayView === false || !isCaughtUp) return readAgain();
      if (working === undefined && waiting.length === 0 && stored !== undefined && laterOf(stored, last) !== stored) await write([], last);
    },
    mayView: () => mayView,
    async idle(): Promise<void> {
      for (let task = working; task !== undefined; task = working) await task;
    },
  };
}

export interface NativeWatch {
  /** A connection began anew, as this account. */
  connected(id: string): void;
  /** The bot is in a guild, perhaps again. */
  present(guildId: string): void;
  gone(guildId: string): void;
  /** The log of a guild has a new entry. */
  entry(guildId: string, entry: unknown): void;
  /** Somebody was banned, or their ban was lifted; who did it only the log says. */
  ban(kind: "ban" | "unban", guildId: string, userId: string): void;
  /** Guilds whose audit log the bot may not view. */
  unseen(): string[];
  /** How many entries could not be read or recorded since the start. */
  skipped(): number;
  tend(): Promise<void>;
  idle(): Promise<void>;
  /** Begin nothing more, and wait for what is under way. */
  stop(): Promise<void>;
}

export interface NativeWatchDeps {
  discord: { rest: DiscordCalls; sentBans: SentBans };
  records: NativeRecords;
  clock: Clock;
  logger: Logger;
}

/** So long the entry of the log is waited for that says who banned somebody; without it the ban is recorded without who. */
const entryMs = 1000;

/** Follows what is done to people in the served guilds: by their audit logs, and by the events of bans where the bot may not view the log. */
export function createNativeWatch({ discord, records, clock, logger }: NativeWatchDeps): NativeWatch {
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
    connected(id: string): void {
      selfId = id;
      for (const reader of readers.values()) reader.lost();
    },
    present: (guildId: string): void => readerOf(guildId).readAgain(),
    gone(guildId: string): void {
      readers.delete(guildId);
    },
    entry(guildId: string, entry: unknown): void {
      const { id, seen } = readFrom(guildId, entry);
      const reader = readerOf(guildId);
      if (id !== undefined) reader.heard(id);
      if (seen !== undefined) reader.add(seen);
    },
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
    unseen: (): string[] => [...readers].flatMap(([guildId, reader]) => (reader.mayView() === false ? [guildId] : [])),
    skipped: (): number => skipped,
    async tend(): Promise<void> {
      pairs.sweep();
      const idsOf = ([id]: readonly [string, LogReader]) => ({ guild_id: id });
      const isolation = { logger, failure: "the audit log of a server could not be followed; it is tried again", idsOf };
      requireNoneFailed(await forEachIsolated(readers, ([, reader]) => reader.tend(), isolation));
    },
    idle,
    async stop(): Promise<void> {
      stopping.abort();
      for (const timer of unexplained.values()) clearTimeout(timer);
      unexplained.clear();
      await idle();
    },
  };
}
