import type { Database } from "../../../database/database.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { CardRefusal, KeptEnd } from "./keep.ts";
import { openStatuses } from "../state/table.ts";

/** How far the cards are behind what they show. */
export interface CardsState {
  /** The channels that take no cards, each once. */
  refusals: readonly CardRefusal[];
  /** For how many seconds a card has been due, or would have been if Discord took it; 0 when none is. */
  dueSeconds: number;
}

interface LagParts {
  database: Pick<Database, "read">;
  clock: Clock;
  refusals(): readonly CardRefusal[];
  /** Whether there is a channel for cards. */
  isWanted(): boolean;
  /** The last event that was read; 0 before the first look at what there is. */
  seen(): number;
}

/** Keeps in mind since when nothing could be brought, for whoever asks how the cards do. */
export function createLag({ database: { read }, clock, refusals, isWanted, seen }: LagParts) {
  const began = clock.now();
  let lateSince: Date | undefined;

  /** When the oldest change that nobody has looked at yet was made. */
  async function unseenSince(): Promise<Date | undefined> {
    if (!isWanted()) return undefined;
    if (seen() === 0) return (await read.workflowRequest.count({ where: { status: { in: [...openStatuses] } } })) > 0 ? began : undefined;
    const where = { seq: { gt: seen() }, type: { startsWith: "workflow." } };
    return (await read.outboxEvent.findFirst({ where, orderBy: { seq: "asc" }, select: { at: true } }))?.at;
  }

  return {
    /** Note how bringing one message ended, and give it back. */
    note(end: KeptEnd): KeptEnd {
      lateSince = end === undefined ? undefined : (lateSince ?? clock.now());
      return end;
    },

    async state(): Promise<CardsState> {
      const since = [lateSince, await unseenSince()].flatMap((at) => at?.getTime() ?? []);
      const channels = new Map(refusals().map((refusal) => [refusal.channelId, refusal]));
      const dueSeconds = Math.max(0, Math.round((clock.now().getTime() - Math.min(...since)) / 1000));
      return { refusals: [...channels.values()], dueSeconds: since.length === 0 ? 0 : dueSeconds };
    },
  };
}
