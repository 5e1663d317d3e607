import { LRUCache } from "lru-cache";
import { memberState } from "./guild-rows.ts";
import type { MemberState } from "./guild-state.ts";
import type { MemberSource } from "./member-source.ts";

/** What Discord said about a person. Incomplete: it could not be asked about every guild. */
export interface Found {
  states: readonly MemberState[];
  isComplete: boolean;
  /** An event about the person arrived meanwhile, so the answer may be outdated. */
  isOutdated: boolean;
}

/** Asks Discord about one person, never twice at the same time, and remembers the answer for a short while. */
export interface LookUps {
  ask(userId: string): Promise<Found>;
  /** An event about this person arrived. */
  touched(userId: string): void;
  /** Which guilds count has changed. */
  clear(): void;
}

interface LookUpOptions {
  source(): MemberSource | undefined;
  guildIds(): readonly string[];
  /** How long an answer is remembered; default 60,000. */
  lifeMs?: number | undefined;
}

/** Requests a second that questions about strangers may cost; Discord allows 50 for everything. */
const requestsPerSecond = 15;

export function createLookUps({ source, guildIds, lifeMs = 60_000 }: LookUpOptions): LookUps {
  let second = 0;
  let spent = 0;
  /** Whether so many requests still fit into this second; a question that does not is answered from what is known. */
  const spend = (requests: number): boolean => {
    const now = Math.floor(performance.now() / 1000);
    if (now !== second) [second, spent] = [now, 0];
    if (spent > 0 && spent + requests > requestsPerSecond) return false;
    spent += requests;
    return true;
  };
  const remembered = new LRUCache<string, Found>({ max: 5000, ttl: lifeMs });
  const flights = new Map<string, { isOutdated: boolean; answer: Promise<Found> }>();

  const fetch = async (userId: string): Promise<Found> => {
    const discord = source();
    const guilds = guildIds();
    if (discord === undefined || !spend(guilds.length)) {
      flights.delete(userId);
      return { states: [], isComplete: false, isOutdated: false };
    }
    const answers = await Promise.allSettled(
      guilds.map(async (guildId) => {
        const member = await discord.member(guildId, userId, "lookup");
        return member === null ? null : memberState(guildId, member);
      }),
    );
    const states = answers.flatMap((answer) => (answer.status === "fulfilled" && answer.value !== null ? [answer.value] : []));
    const isOutdated = flights.get(userId)?.isOutdated === true;
    const found = { states, isComplete: answers.every((answer) => answer.status === "fulfilled"), isOutdated };
    if (found.isComplete && !isOutdated) remembered.set(userId, found);
    flights.delete(userId);
    return found;
  };

  return {
    async ask(userId) {
      const known = remembered.get(userId);
      if (known !== undefined) return known;
      const running = flights.get(userId);
      if (running !== undefined) return running.answer;
      const flight = { isOutdated: false, answer: Promise.resolve().then(() => fetch(userId)) };
      flights.set(userId, flight);
      return flight.answer;
    },
    touched(userId) {
      remembered.delete(userId);
      const flight = flights.get(userId);
      if (flight !== undefined) flight.isOutdated = true;
    },
    clear: () => remembered.clear(),
  };
}
