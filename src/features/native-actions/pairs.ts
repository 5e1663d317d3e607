import type { Clock } from "../../kernel/clock.ts";
import type { Seen } from "./entries.ts";

export type Pairs = ReturnType<typeof createPairs>;

/** An event and the entry of the log about the same thing are this close, in milliseconds. */
export const pairedWithinMs = 60_000;

interface Waiting {
  /** Events whose entry has not come, oldest first. */
  events: Seen[];
  /** Entries whose event has not come, oldest first, and when each was seen. */
  entries: number[];
}

/**
 * Pairs what events told with the entries of the audit log about it, in whatever order they come: a ban and its end 60 ms later are two
 * events and two entries. The first event belongs to the first entry of its kind and person.
 */
export function createPairs(clock: Clock) {
  const waiting = new Map<string, Waiting>();
  const explained = new WeakSet<Seen>();
  /** Entries that were seen lately: the gateway and the log itself tell of the same ones. */
  const known = new Map<string, number>();

  const isRecent = (ms: number): boolean => Math.abs(clock.now().getTime() - ms) <= pairedWithinMs;

  function waitingFor({ kind, guildId, userId }: Seen): Waiting {
    const key = [kind, guildId, userId].join(":");
    const found = waiting.get(key) ?? { events: [], entries: [] };
    found.events = found.events.filter(({ at }) => isRecent(at.getTime()));
    found.entries = found.entries.filter(isRecent);
    waiting.set(key, found);
    return found;
  }

  return {
    /** An event told of something. @returns whether its entry was seen before */
    event(seen: Seen): boolean {
      const { events, entries } = waitingFor(seen);
      if (entries.shift() === undefined) events.push(seen);
      else explained.add(seen);
      return explained.has(seen);
    },

    /** The log has an entry. @returns the event about the same thing; undefined: it has not come, or the entry is none of now */
    entry(seen: Seen): Seen | undefined {
      const { entryId, at } = seen;
      if (entryId === null || known.has(entryId) || !isRecent(at.getTime())) return undefined;
      const now = clock.now().getTime();
      known.set(entryId, now);
      const { events, entries } = waitingFor(seen);
      const event = events.shift();
      if (event === undefined) entries.push(now);
      else explained.add(event);
      return event;
    },

    /** Whether the entry about what an event told of was seen. */
    isExplained: (seen: Seen): boolean => explained.has(seen),

    /** Forget what is no longer waited for. */
    sweep(): void {
      for (const [key, { events, entries }] of waiting)
        if (!events.some(({ at }) => isRecent(at.getTime())) && !entries.some(isRecent)) waiting.delete(key);
      for (const [id, at] of known) if (!isRecent(at)) known.delete(id);
    },
  };
}
