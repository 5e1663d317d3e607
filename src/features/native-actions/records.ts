import type { Deps } from "../deps.ts";
import { insertRows } from "../../database/insert.ts";
import type { Tx } from "../../database/database.ts";
import type { NativeAction } from "../../generated/sqlite/client.ts";
import { systemCall } from "../../kernel/call.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { laterOf, type Seen } from "./entries.ts";
import type { Clock } from "../../kernel/clock.ts";

/** An event and the entry of the log about the same thing are this close, in milliseconds. */
const pairedWithinMs = 60_000;

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

export interface NativeRecords {
  /** Have what keeps a ledger of the bot's actions hear of what was ended by hand. */
  registerEnding(handler: OnEnded): void;
  /** The entry up to which a guild's log was read; undefined: never. */
  positionOf(guildId: string): Promise<string | undefined>;
  /**
   * Record what was seen, each thing once, and how far the log was read, in one transaction.
   * @param slice in the order in which it happened, all of one guild
   * @param upTo the last entry that was read; undefined: the position stays
   */
  write(guildId: string, slice: readonly Seen[], upTo?: string): Promise<void>;
}

/** What was ended by hand: whoever keeps a ledger of what the bot did marks it as ended. */
export interface EndedByHand {
  kind: "ban" | "timeout";
  guildId: string;
  userId: string;
  /** Null where nobody knows. */
  actorId: string | null;
  at: Date;
}

/** Runs in the transaction that records what ended it. */
export type OnEnded = (tx: Tx, ended: readonly EndedByHand[]) => Promise<void>;

/** What is compared of what is recorded. */
type Known = Pick<NativeAction, "kind" | "userId" | "at">;

const ends: Partial<Record<Seen["kind"], EndedByHand["kind"]>> = { unban: "ban", timeout_lift: "timeout" };

/** The only writer of what others did, and of how far each log was read. */
export function createNativeRecords({ database }: Deps<"database">): NativeRecords {
  const endings: OnEnded[] = [];

  /** What of a slice is not recorded yet; what an event told of without a name gets it from its entry. */
  async function settle(tx: Tx, guildId: string, slice: readonly Seen[]): Promise<Seen[]> {
    const ids = [...new Set(slice.flatMap(({ entryId }) => entryId ?? []))];
    const known = new Set(
      (await tx.db.nativeAction.findMany({ where: { guildId, entryId: { in: ids } }, select: { entryId: true } })).map(
        ({ entryId }) => entryId,
      ),
    );
    const fresh = slice.filter(({ entryId }) => entryId === null || (!known.has(entryId) && known.add(entryId)));
    const close = await near(tx, guildId, fresh);
    const added: Seen[] = [];
    for (const seen of fresh) {
      if (seen.entryId === null) {
        added.push(seen);
        continue;
      }
      const nameless = close.find((one) => one.entryId === null && isSame(one, seen));
      if (nameless === undefined) {
        if (!seen.isOurs) added.push(seen);
        continue;
      }
      close.splice(close.indexOf(nameless), 1);
      const { entryId, actorId, reason, at } = seen;
      const where = { id: nameless.id };
      if (seen.isOurs) await tx.db.nativeAction.delete({ where });
      else await tx.db.nativeAction.update({ where, data: { entryId, actorId, reason, at } });
    }
    return added;
  }

  /** Bans of these people that are recorded already, from about the same time. */
  async function near({ db }: Tx, guildId: string, slice: readonly Seen[]): Promise<NativeAction[]> {
    const bans = slice.filter(({ kind }) => kind === "ban" || kind === "unban");
    if (bans.length === 0) return [];
    const times = bans.map(({ at }) => at.getTime());
    const from = new Date(Math.min(...times) - pairedWithinMs);
    const to = new Date(Math.max(...times) + pairedWithinMs);
    return await db.nativeAction.findMany({
      where: {
        guildId,
        userId: { in: [...new Set(bans.flatMap(({ userId }) => userId ?? []))] },
        kind: { in: ["ban", "unban"] },
        at: { gte: from, lte: to },
      },
      orderBy: [{ at: "asc" }, { id: "asc" }],
    });
  }

  return {
    registerEnding(handler: OnEnded): void {
      endings.push(handler);
    },

    async positionOf(guildId: string): Promise<string | undefined> {
      return (await database.read.nativeLogPosition.findUnique({ where: { guildId } }))?.entryId;
    },

    async write(guildId: string, slice: readonly Seen[], upTo?: string): Promise<void> {
      await database.write(systemCall("job", uuid7()), async (tx) => {
        await tx.lock(`native_actions:${guildId}`);
        const added = slice.length === 0 ? [] : await settle(tx, guildId, slice);
        // What happened in one millisecond stays in its order.
        const names = added.map(() => uuid7(tx.now.getTime())).toSorted();
        const rows = added.map(({ isOurs: _, ...seen }, index) => ({ id: names[index] ?? "", ...seen, recordedAt: tx.now }));
        await insertRows(tx, "NativeAction", rows);
        const ended = added.flatMap(({ kind, userId, actorId, at }): EndedByHand[] => {
          const what = ends[kind];
          return what === undefined || userId === null ? [] : [{ kind: what, guildId, userId, actorId, at }];
        });
        if (ended.length > 0) for (const handler of endings) await handler(tx, ended);
        if (upTo !== undefined) await moveTo(tx, guildId, upTo);
      });
    },
  };
}

function isSame(one: Known, other: Seen): boolean {
  const isClose = Math.abs(one.at.getTime() - other.at.getTime()) <= pairedWithinMs;
  return one.kind === other.kind && one.userId === other.userId && isClose;
}

/** The position only moves on: a slice that is written late takes nothing back. */
async function moveTo({ db, now }: Tx, guildId: string, entryId: string): Promise<void> {
  const known = await db.nativeLogPosition.findUnique({ where: { guildId } });
  if (known === null) await db.nativeLogPosition.create({ data: { guildId, entryId, updatedAt: now } });
  else if (laterOf(known.entryId, entryId) !== known.entryId)
    await db.nativeLogPosition.update({ where: { guildId }, data: { entryId, updatedAt: now } });
}
