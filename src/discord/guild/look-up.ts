import { LRUCache } from "lru-cache";
import { memberState } from "./mirror.ts";
import type { MemberState } from "../guild-state.ts";
import type { MemberSource } from "./member-read.ts";

/** Discord's answer about a person. It is incomplete if a guild could not be asked, or not in time. */
export interface Found {
  states: readonly MemberState[];
  isComplete: boolean;
  /** An event about the person arrived meanwhile, so the answer may be outdated. */
  isOutdated: boolean;
}

/** A rate of requests, with a burst after a pause. */
interface Pace {
  perSecond: number;
  burst: number;
  /** How long a caller waits for the answer; the look-up goes on, and its answer is cached. */
  waitMs: number;
}

/** The rate of each class of look-ups, of the 50 requests a second that Discord allows. Strangers take nothing from the staff. */
const paces = {
  stranger: { perSecond: 5, burst: 20, waitMs: 3000 },
  staff: { perSecond: 15, burst: 45, waitMs: 30_000 },
} as const satisfies Record<string, Pace>;

export type LookUpClass = keyof typeof paces;

/** Looks up single people in Discord, never one twice at the same time, and caches the answers. */
export interface LookUps {
  ask(userId: string, of: LookUpClass): Promise<Found>;
  /** An event about this person arrived. */
  touched(userId: string): void;
  /** The set of present guilds has changed. */
  clear(): void;
}

/** Limits of look-ups in milliseconds. */
export interface LookUpLimits {
  /** How long a caller waits for an answer about a stranger; default 3,000. */
  waitMs?: number;
  /** How long memberships are cached; default 60,000. */
  lifeMs?: number;
  /** How long the absence of a person is cached; an event ends it when they join. Default 600,000. */
  absentLifeMs?: number;
}

interface LookUpOptions extends LookUpLimits {
  source(): MemberSource | undefined;
  guildIds(): readonly string[];
}

/** Nobody is looked up whose first request would wait longer than this. */
const maxQueueMs = 30_000;
const unanswered: Found = { states: [], isComplete: false, isOutdated: false };

/** Look-ups within the rates of their classes. */
export function createLookUps({
  source,
  guildIds,
  waitMs = paces.stranger.waitMs,
  lifeMs = 60_000,
  absentLifeMs = 600_000,
}: LookUpOptions): LookUps {
  const queues = { stranger: createQueue({ ...paces.stranger, waitMs }), staff: createQueue(paces.staff) };
  const cached = new LRUCache<string, Found>({ max: 5000 });
  const flights = new Map<string, { isOutdated: boolean; answer: Promise<Found> }>();

  const lookUpOne = async (guildId: string, userId: string, slot: Promise<void>): Promise<MemberState | null> => {
    await slot;
    const discord = source();
    if (discord === undefined) throw new Error("there is no link to Discord");
    const member = await discord.member(guildId, userId, "lookup");
    return member === null ? null : memberState(guildId, member);
  };

  const fetch = async (userId: string, { takeSlot }: Queue): Promise<Found> => {
    const answers = await Promise.allSettled(guildIds().map((guildId) => lookUpOne(guildId, userId, takeSlot())));
    const states = answers.flatMap((answer) => (answer.status === "fulfilled" && answer.value !== null ? [answer.value] : []));
    const isOutdated = flights.get(userId)?.isOutdated === true;
    const found = { states, isComplete: answers.every((answer) => answer.status === "fulfilled"), isOutdated };
    if (found.isComplete && !isOutdated) cached.set(userId, found, { ttl: states.length === 0 ? absentLifeMs : lifeMs });
    flights.delete(userId);
    return found;
  };

  return {
    async ask(userId, of) {
      const known = cached.get(userId);
      if (known !== undefined) return known;
      let flight = flights.get(userId);
      if (flight === undefined) {
        const queue = queues[of];
        if (source() === undefined || queue.lengthMs() > maxQueueMs) return unanswered;
        flight = { isOutdated: false, answer: Promise.resolve().then(() => fetch(userId, queue)) };
        flights.set(userId, flight);
      }
      return inTime(flight.answer, queues[of].waitMs);
    },
    touched(userId) {
      cached.delete(userId);
      const flight = flights.get(userId);
      if (flight !== undefined) flight.isOutdated = true;
    },
    clear: () => cached.clear(),
  };
}

interface Queue {
  waitMs: number;
  lengthMs(): number;
  /** Resolves when the next request may be made. */
  takeSlot(): Promise<void>;
}

function createQueue({ perSecond, burst, waitMs }: Pace): Queue {
  const stepMs = 1000 / perSecond;
  let next = -Infinity;
  return {
    waitMs,
    lengthMs: (): number => next - performance.now(),
    takeSlot(): Promise<void> {
      const now = performance.now();
      const at = Math.max(next, now - (burst - 1) * stepMs);
      next = at + stepMs;
      return at <= now ? Promise.resolve() : new Promise((resolve) => void setTimeout(resolve, at - now).unref());
    },
  };
}

async function inTime(answer: Promise<Found>, ms: number): Promise<Found> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Found>((resolve) => (timer = setTimeout(() => resolve(unanswered), ms).unref()));
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
