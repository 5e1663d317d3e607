import type { Logger, ReadClient } from "../../database/database.ts";
import { presentEvent, type Told } from "./events.policy.ts";

export interface TailOptions {
  read: Pick<ReadClient, "outboxEvent">;
  /** Called with every batch that was added, once it can be read. */
  onGrowth: (events: readonly Told[]) => void;
  logger?: Logger;
}

export type Tail = ReturnType<typeof createTail>;

/** Events read at once, and the newest ones kept in memory. */
const pageSize = 500;
const keptInMemory = 1000;

/**
 * The end of the outbox, read once for all streams. Numbers are given and committed in the same order, so whoever has seen one
 * event has nothing to wait for below it.
 */
export function createTail({ read, onGrowth, logger }: TailOptions) {
  let recent: readonly Told[] = [];
  let last = 0;
  let isLooking = false;
  let isAskedAgain = false;

  async function page(after: number): Promise<Told[]> {
    const rows = await read.outboxEvent.findMany({ where: { seq: { gt: after } }, orderBy: { seq: "asc" }, take: pageSize });
    return rows.map(presentEvent);
  }

  async function add(): Promise<void> {
    do {
      isAskedAgain = false;
      const events = await page(last);
      recent = [...recent, ...events].slice(-keptInMemory);
      last = events.at(-1)?.seq ?? last;
      if (events.length > 0) onGrowth(events);
      if (events.length === pageSize) isAskedAgain = true;
    } while (isAskedAgain);
  }

  return {
    /** The number of the newest event that was read. */
    last: (): number => last,

    /** Read what was committed since; one look at a time. */
    async look(): Promise<void> {
      isAskedAgain = true;
      if (isLooking) return;
      isLooking = true;
      try {
        await add();
      } catch (error) {
        logger?.warn({ err: error }, "events could not be read; it is tried again");
      } finally {
        isLooking = false;
      }
    },

    /** Go to the end without reading what is in between: for the first stream after a time without any. */
    skip(to: number): void {
      recent = [];
      last = to;
    },

    /** The next events after a number: at once when memory holds all of them. Empty at the end. */
    after(seq: number): readonly Told[] | Promise<readonly Told[]> {
      if (seq >= (recent[0]?.seq ?? last + 1) - 1) return recent.slice(recent.findLastIndex((event) => event.seq <= seq) + 1);
      return page(seq);
    },

    /** The numbers of the oldest and the newest event there are; 0 and 0 before the first. */
    async ends(): Promise<{ oldest: number; newest: number }> {
      const { _min, _max } = await read.outboxEvent.aggregate({ _min: { seq: true }, _max: { seq: true } });
      return { oldest: _min.seq ?? 0, newest: _max.seq ?? 0 };
    },
  };
}
