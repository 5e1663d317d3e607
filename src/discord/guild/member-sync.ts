import type { Logger } from "pino";
import type { Clock } from "../../kernel/clock.ts";
import type { MembersChunk, MemberPayload } from "./payloads.ts";
import { createMemberRead, type MemberRead, type MemberSource } from "./member-read.ts";
import { safeError } from "../rest/errors.ts";

/** Time limits in milliseconds; the defaults are Discord's. */
export interface SyncLimits {
  /** The gateway answers one whole-list request per guild in this time; the next goes over REST. Default 31,000. */
  windowMs?: number;
  /** Longest silence between two chunks; default 10,000. */
  chunkTimeoutMs?: number;
  /** Pause before a failed read is repeated, at least until the gateway answers again; default 30,000. */
  retryMs?: number;
}

interface MemberSyncOptions extends SyncLimits {
  source(): MemberSource | undefined;
  isLinked(): boolean;
  /** Whether the bot is in the guild, and the guild is available. */
  isWanted(guildId: string): boolean;
  presentIds(guildId: string): Iterable<string>;
  /** A read begins: from now on events are newer than what it says. */
  onBegin(guildId: string): void;
  accept(guildId: string, member: MemberPayload): void;
  /** A complete read did not contain this stored member. */
  absent(guildId: string, userId: string): void;
  /** Resolves when everything is written; the list is complete as of `startedAt`. */
  write(guildId: string, startedAt: Date): Promise<void>;
  onDone(guildId: string): void;
  onFailed(guildId: string): void;
  logger: Logger;
  clock: Clock;
}

/** Reads whole member lists, one guild at a time; requests for a waiting guild are merged. */
export interface MemberSync {
  /** Resolves when the read has ended or failed, or at once without a link; never rejects. */
  request(guildId: string): Promise<void>;
  /** Read after a pause, so that many requests become one read. */
  requestLater(guildId: string): void;
  /** The guild is available again: read at once, or at the end of the window if this was so within it. */
  requestAgain(guildId: string): void;
  chunk(data: MembersChunk): void;
  /** The gateway answers the next whole-list request in so many seconds. */
  rateLimited(guildId: string, seconds: number): void;
  touched(guildId: string, userId: string): void;
  /** The link broke; with a guild: the bot was removed from it, or it is unavailable. */
  lost(guildId?: string): void;
}

/** Reads by the gateway first, and by REST where the gateway sends no whole list. */
export function createMemberSync(options: MemberSyncOptions): MemberSync {
  const { source, isLinked, isWanted, logger, clock, windowMs = 31_000, chunkTimeoutMs = 10_000, retryMs = 30_000 } = options;
  const waiting = new Map<string, { ended: Promise<void>; end: () => void }>();
  /** When the gateway answers the next whole-list request. */
  const opensAt = new Map<string, number>();
  /** Until then a guild that is available again is not read at once. */
  const calmUntil = new Map<string, number>();
  const timers = new Map<string, NodeJS.Timeout>();
  let read: MemberRead | undefined;
  let isRunning = false;

  const left = (times: ReadonlyMap<string, number>, guildId: string): number => (times.get(guildId) ?? 0) - performance.now();

  const isWindowOpen = (guildId: string): boolean => {
    if (left(opensAt, guildId) > 0) return false;
    opensAt.set(guildId, performance.now() + windowMs);
    return true;
  };

  const readAll = async (guildId: string, discord: MemberSource): Promise<boolean> => {
    const startedAt = clock.now();
    const current = createMemberRead({ guildId, discord, presentIds: options.presentIds(guildId), accept: options.accept, chunkTimeoutMs });
    read = current;
    options.onBegin(guildId);
    try {
      const isComplete = isWindowOpen(guildId) && (await current.byGateway());
      if (!isComplete) await current.byPages();
      if (current.isLost()) return false;
      for (const userId of current.unseen()) options.absent(guildId, userId);
      await options.write(guildId, startedAt);
      if (current.isLost()) return false;
      options.onDone(guildId);
      return true;
    } catch (error) {
      logger.warn({ err: safeError(error), guild_id: guildId }, "guild state: reading the member list failed; it is repeated");
      return false;
    } finally {
      read = undefined;
    }
  };

  const run = async (): Promise<void> => {
    isRunning = true;
    for (;;) {
      const next = waiting.entries().next().value;
      const discord = source();
      if (next === undefined || discord === undefined || !isLinked()) break;
      const [guildId, { end }] = next;
      waiting.delete(guildId);
      if (isWanted(guildId) && !(await readAll(guildId, discord))) {
        options.onFailed(guildId);
        requestLater(guildId, Math.max(retryMs, left(opensAt, guildId)));
      }
      end();
    }
    isRunning = false;
    // Without a link the waiting reads end: the next session reads every guild anyway.
    for (const { end } of waiting.values()) end();
    waiting.clear();
  };

  const request = (guildId: string): Promise<void> => {
    cancel(guildId);
    if (!isLinked()) return Promise.resolve();
    const known = waiting.get(guildId);
    if (known !== undefined) return known.ended;
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    waiting.set(guildId, { ended, end });
    if (!isRunning) void run();
    return ended;
  };

  const requestLater = (guildId: string, ms = retryMs): void => {
    if (!isLinked() || !isWanted(guildId) || waiting.has(guildId) || timers.has(guildId)) return;
    // Timers may fire a little early, and the gateway refuses early requests.
    timers.set(guildId, setTimeout(() => void request(guildId), Math.ceil(ms) + 2).unref());
  };

  const cancel = (guildId: string): void => {
    clearTimeout(timers.get(guildId));
    timers.delete(guildId);
  };

  return {
    request,
    requestLater: (guildId) => requestLater(guildId),
    requestAgain(guildId) {
      const ms = left(calmUntil, guildId);
      if (ms > 0) return requestLater(guildId, Math.max(ms, left(opensAt, guildId)));
      calmUntil.set(guildId, performance.now() + windowMs);
      void request(guildId);
    },
    chunk: (data) => read?.chunk(data),
    rateLimited(guildId, seconds) {
      opensAt.set(guildId, performance.now() + seconds * 1000);
      if (read?.guildId === guildId) read.refuse();
    },
    touched(guildId, userId) {
      if (read?.guildId === guildId) read.touched(userId);
    },
    lost(guildId) {
      if (read !== undefined && (guildId === undefined || guildId === read.guildId)) read.lose();
      for (const id of guildId === undefined ? [...timers.keys()] : [guildId]) cancel(id);
    },
  };
}
