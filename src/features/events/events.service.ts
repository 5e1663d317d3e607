import type { Database, Tx } from "../../database/database.ts";
import type { Series } from "../../database/tx.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { systemClock, type Clock } from "../../kernel/clock.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { createChanges, type Changes } from "../../cluster/changes.ts";
import { eventsPolicy } from "./events.policy.ts";
import { eventTypes, type EventType } from "./types.ts";

/** Something that happened, told thinly: ids, references and statuses, never content. */
export interface EventInput {
  /** Who may be told of it stands in the table of types. */
  type: EventType;
  /** Who may be told of this one, when fewer than of its type. */
  permission?: string;
  data: Readonly<Record<string, string | number | boolean | null | readonly string[]>>;
}

interface EventsDeps {
  database: Database;
  clock?: Clock;
  changes?: Changes;
}

export interface EventsService {
  /** Queue an event that is numbered and inserted when the work of the transaction is done. */
  emit(tx: Tx, event: EventInput): void;
  /** See events as they are told, in their transactions: for what has to follow together with them. */
  onEmit(tap: (tx: Tx, event: EventInput) => void): void;
  /** Whether fewer people may be told of an event of the journal than of others of its type. */
  isForFew(options: { type: string; permission: string }): boolean;
  /** Hear that events were committed, of this process and of others. */
  onCommit(listener: () => void): void;
  /** Hear that another process may have committed events, soon and once for many: for work that hears of what this one does by itself. */
  onOthers(listener: () => void): void;
  /** Delete the oldest events once they are seven days old, a bounded part at a time; the newest stays. Answers how many. */
  sweep(call: Call): Promise<number>;
}

const keptMs = 7 * 86_400_000;
const sweptAtOnce = 5000;

/** PostgreSQL tells each process of its own commits, too: work is not to look for itself after every one of them. */
const gatherOthersMs = 200;

/** The outbox: events are written in the transaction of what they tell of, and come to nothing with it. */
export function createEventsService({ database, clock = systemClock, changes = createChanges() }: EventsDeps): EventsService {
  const heard = new WeakSet<Tx>();
  const taps = new Set<(tx: Tx, event: EventInput) => void>();

  return {
    emit(tx: Tx, event: EventInput): void {
      tx.append(outbox, event);
      for (const tap of taps) tap(tx, event);
      if (heard.has(tx)) return;
      heard.add(tx);
      tx.afterCommit(() => changes.tell("outbox_events", { isOwn: true }));
    },

    onEmit(tap: (tx: Tx, event: EventInput) => void): void {
      taps.add(tap);
    },

    isForFew: ({ type, permission }: { type: string; permission: string }): boolean =>
      eventTypes[type as EventType].permission !== permission,

    onCommit: (listener: () => void): void => changes.listen("outbox_events", listener),

    onOthers(listener: () => void): void {
      let timer: NodeJS.Timeout | undefined;
      const tell = (): void => {
        timer = undefined;
        listener();
      };
      changes.listen("outbox_events", ({ isOwn }) => {
        if (!isOwn) timer ??= setTimeout(tell, gatherOthersMs).unref();
      });
    },

    async sweep(call: Call): Promise<number> {
      requirePermission(call, eventsPolicy.sweep);
      const oldest = await database.read.outboxEvent.findMany({
        orderBy: { seq: "asc" },
        take: sweptAtOnce + 1,
        select: { seq: true, at: true },
      });
      const limit = clock.now().getTime() - keptMs;
      // Only a whole beginning goes, so that what is kept has no holes even where the clock was put back.
      const before = oldest.find(({ at }, index) => index === oldest.length - 1 || at.getTime() >= limit);
      if (before === undefined || before === oldest[0]) return 0;
      return database.write(call, async ({ db }) => (await db.outboxEvent.deleteMany({ where: { seq: { lt: before.seq } } })).count);
    },
  };
}

const outbox: Series<EventInput> = {
  name: "events",
  rowsOf({ now }, events, last) {
    const rows = events.map(({ type, permission, data }, index) => ({
      seq: last.number + 1 + index,
      id: uuid7(now.getTime()),
      at: now,
      type,
      permission: permission ?? eventTypes[type].permission,
      data,
    }));
    return { inserts: [{ model: "OutboxEvent", rows }] };
  },
};
