import type { Clock } from "../../kernel/clock.ts";
import type { Freshness } from "../guild-state.ts";

/** Tracks how current the state is: live while linked, with every guild read and available, and every change written. */
export interface GuildLink {
  isLinked(): boolean;
  linked(): void;
  lost(): void;
  /** Guilds whose member list this session has not read yet. */
  unread: ReadonlySet<string>;
  markUnread(guildId: string): void;
  markRead(guildId: string): void;
  setUnavailable(guildId: string, isUnavailable: boolean): void;
  isUnavailable(guildId: string): boolean;
  /** A new session begins: these guilds have to be read. */
  begin(guildIds: readonly string[]): void;
  /** The bot is not in the guild any more. */
  drop(guildId: string): void;
  /** Discord was heard; if the state is live, this is the time of the last good state. */
  sign(at?: Date): void;
  isLive(): boolean;
  freshness(): Freshness;
  ageSeconds(): number;
  /** How current the state is that this process keeps by itself. */
  own(): { isLive: boolean; asOf: Date | null };
}

interface GuildLinkOptions {
  clock: Clock;
  isFailing(): boolean;
  /** How current the state of another process is, which this one follows; undefined where it follows none. */
  leader?: (() => { isLive: boolean; asOf: Date | null } | undefined) | undefined;
}

/** Starts without a link; `startFrom` sets the age of the stored state. */
export function createGuildLink({ clock, isFailing, leader }: GuildLinkOptions): GuildLink & { startFrom(asOf: Date | null): void } {
  const unread = new Set<string>();
  const unavailable = new Set<string>();
  let isUp = false;
  let lastGood: Date | null = null;

  const isLiveHere = (): boolean => isUp && unread.size === 0 && unavailable.size === 0 && !isFailing();
  /** What the process told that is followed counts on when it tells nothing any more. */
  const followed = () => {
    const told = leader?.();
    if (told !== undefined) lastGood = told.isLive ? clock.now() : told.asOf;
    return told;
  };
  const isLive = (): boolean => followed()?.isLive ?? isLiveHere();
  const ageSeconds = (): number => (lastGood === null ? Infinity : Math.max(0, (clock.now().getTime() - lastGood.getTime()) / 1000));

  return {
    unread,
    isLinked: () => isUp,
    linked() {
      isUp = true;
    },
    lost() {
      isUp = false;
    },
    markUnread: (guildId) => void unread.add(guildId),
    markRead: (guildId) => void unread.delete(guildId),
    setUnavailable(guildId, isUnavailable) {
      if (isUnavailable) unavailable.add(guildId);
      else unavailable.delete(guildId);
    },
    isUnavailable: (guildId) => unavailable.has(guildId),
    begin(guildIds) {
      unavailable.clear();
      unread.clear();
      for (const id of guildIds) unread.add(id);
      isUp = true;
    },
    drop(guildId) {
      unread.delete(guildId);
      unavailable.delete(guildId);
    },
    sign(at = clock.now()) {
      if (isLiveHere() && (lastGood === null || at > lastGood)) lastGood = at;
    },
    isLive,
    freshness() {
      if (isLive()) return { stale: false, asOf: clock.now(), ageSeconds: 0 };
      return { stale: true, asOf: lastGood, ageSeconds: lastGood === null ? null : Math.floor(ageSeconds()) };
    },
    ageSeconds,
    own: () => ({ isLive: isLiveHere(), asOf: isLiveHere() ? clock.now() : lastGood }),
    startFrom(asOf) {
      lastGood = asOf;
    },
  };
}
