import type { EventsService } from "../../events/events.service.ts";

const changes = { "match.opened": "opened", "match.closed": "closed" } as const;

/** @returns how many matches were opened and closed since the start. A transaction that comes to nothing counts nothing. */
export function createMatchCounts(events: Pick<EventsService, "onEmit">): () => [change: string, count: number][] {
  const counts = { opened: 0, closed: 0 };
  events.onEmit(({ afterCommit }, { type }) => {
    if (type === "match.opened" || type === "match.closed") afterCommit(() => void (counts[changes[type]] += 1));
  });
  return () => Object.entries(counts);
}
