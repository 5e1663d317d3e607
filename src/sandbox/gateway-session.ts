import { randomBytes } from "node:crypto";
import type { WorldEvent } from "./model.ts";

/** How many events a session keeps for a client that comes back. */
const replayLength = 2000;

/** What a session needs of the link it is served over. */
export type Link = { send(text: string, entry: { op: number; t: string; d: unknown }): void };

export type Session = ReturnType<typeof createSession>;

/**
 * One gateway session: its sequence, its replay buffer and, while a client is connected, its link.
 * @param shard this shard's number and how many there are
 */
export function createSession(intents: number, shard: readonly [number, number]) {
  const id = randomBytes(16).toString("hex");
  let link: Link | null = null;
  let sequence = 0;
  const replay: { sequence: number; text: string; t: string }[] = [];

  return {
    id,
    intents,
    /** Times of full-list member requests per guild. */
    memberRequests: new Map<string, number>(),
    get link() {
      return link;
    },
    attach(next: Link): void {
      link = next;
    },
    detach(): void {
      link = null;
    },
    /** Whether this session is to be told. */
    wants({ intent, guildId }: Pick<WorldEvent, "intent" | "guildId">): boolean {
      if (intent !== 0 && !(intents & intent)) return false;
      const owner = guildId === null ? 0 : Number((BigInt(guildId) >> 22n) % BigInt(shard[1]));
      return owner === shard[0];
    },
    /** Sends an event, or keeps it for later. Member chunks are not kept: they are lost with their link. */
    dispatch(t: string, d: unknown): void {
      sequence += 1;
      const text = JSON.stringify({ op: 0, s: sequence, t, d });
      if (t !== "GUILD_MEMBERS_CHUNK") replay.push({ sequence, text, t });
      if (replay.length > replayLength) replay.shift();
      link?.send(text, { op: 0, t, d });
    },
    /** Whether everything after the client's last sequence is still there. */
    remembers(last: number): boolean {
      return replay.length < replayLength || (replay[0]?.sequence ?? 0) <= last + 1;
    },
    replayAfter(last: number): void {
      for (const entry of replay) if (entry.sequence > last) link?.send(entry.text, { op: 0, t: entry.t, d: undefined });
    },
    get sequence() {
      return sequence;
    },
  };
}
