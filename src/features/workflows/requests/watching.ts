import type { EventsService } from "../../events/events.service.ts";
import { pause } from "../../../kernel/pause.ts";

/** For how long a reply to a command is edited into what came of it, in seconds. Discord takes edits for 15 minutes. */
export const repliedSeconds = 14 * 60;

export interface RequestWatch {
  /** Resolves when something about a request was committed, or after `ms`. Ask for it before you read the request. */
  changed(id: string, ms: number): Promise<void>;
}

/** Tells whoever waits for the outcome of a request when something about it was written. */
export function createRequestWatch(events: Pick<EventsService, "onEmit" | "onOthers">): RequestWatch {
  const waiting = new Map<string, Set<() => void>>();
  const tell = (id: string): void => {
    for (const resolve of waiting.get(id) ?? []) resolve();
  };
  events.onEmit((tx, { data }) => {
    const id = data["request_id"];
    if (typeof id === "string" && waiting.has(id)) tx.afterCommit(() => tell(id));
  });
  events.onOthers(() => {
    for (const id of waiting.keys()) tell(id);
  });

  return {
    async changed(id: string, ms: number): Promise<void> {
      const alarm = new AbortController();
      const resolve = (): void => alarm.abort();
      const others = waiting.get(id) ?? new Set();
      waiting.set(id, others.add(resolve));
      await pause(ms, alarm.signal);
      others.delete(resolve);
      if (others.size === 0 && waiting.get(id) === others) waiting.delete(id);
    },
  };
}
