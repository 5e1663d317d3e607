import type { Clock } from "../kernel/clock.ts";

export interface DiscordStatus {
  state: "connecting" | "ready" | "resuming" | "down" | "fatal";
  /** What is wrong, and what the operator can do about it. */
  reason?: string;
  since: Date;
  pingMs?: number;
  /** How often the link to the gateway was lost since the start. */
  reconnects: number;
}

/** Follows the shard events: the library's own idea of being ready stays true during an outage and after a refusal for good. */
export function createStatus(clock: Clock) {
  let now: DiscordStatus = { state: "connecting", since: clock.now(), reconnects: 0 };
  let readies = 0;
  const set = (state: DiscordStatus["state"], reason?: string): void => {
    if (state === "ready") readies += 1;
    const since = state === now.state ? now.since : clock.now();
    now = { state, since, reconnects: now.reconnects, ...(reason !== undefined && { reason }) };
  };
  return {
    set,
    now: () => now,
    readyCount: () => readies,
    lost(failures: number): void {
      if (now.state === "ready") now = { ...now, reconnects: now.reconnects + 1 };
      if (readies === 0) return set("connecting");
      set(failures <= 2 ? "resuming" : "down", failures <= 2 ? undefined : "Discord's gateway cannot be reached; trying again.");
    },
  };
}
