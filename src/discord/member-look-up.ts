import { LRUCache } from "lru-cache";
import { memberState } from "./guild-rows.ts";
import type { MemberState } from "./guild-state.ts";
import type { MemberSource } from "./member-source.ts";

/** What Discord said about a person. Incomplete: it could not be asked about every guild, or not in time. */
export interface Found {
  states: readonly MemberState[];
  isComplete: boolean;
  /** An event about the person arrived meanwhile, so the answer may be outdated. */
  isOutdated: boolean;
}

/** Requests one after the other, with so many at once after a pause. */
interface Pace {
  perSecond: number;
  burst: number;
  /** How long whoever asks waits for an answer; it is looked for on, and remembered. */
  waitMs: number;
}

/** What look-ups of a class cost the process in all; Discord allows 50 requests a second for everything. What strangers cost takes nothing from the staff. */
const paces = {
  stranger: { perSecond: 5, burst: 20, waitMs: 3000 },
  staff: { perSecond: 15, burst: 45, waitMs: 30_000 },
} as const satisfies Record<string, Pace>;

export type LookUpClass = keyof typeof paces;

/** Asks Discord about one person, never twice at the same time, and remembers the answer. */
export interface LookUps {
  ask(userId: string, of: LookUpClass): Promise<Found>;
  /** An event about this person arrived. */
  touched(userId: string): void;
  /** Which guilds count has changed. */
  clear(): void;
}

/** Limits of look-ups in milliseconds. */
export interface LookUpLimits {
  /** How long an answer about a stranger is waited for; default 3,000. */
  waitMs?: number;
  /** How long it is remembered where somebody is a member; default 60,000. */
  lifeMs?: number;
  /** How long it is remembered that somebody is a member nowhere: events tell when they join. Default 600,000. */
  absentLifeMs?: number;
}

interface LookUpOptions extends LookUpLimits {
  source(): MemberSource | undefined;
  guildIds(): readonly string[];
}

/** Who would wait longer than this for the first request is not looked up. */
const longestQueueMs = 30_000;
const unanswered: Found = { states: [], isComplete: false, isOutdated: false };

export function createLookUps({
  source,
  guildIds,
  waitMs = paces.stranger.waitMs,
  lifeMs = 60_000,
  absentLifeMs = 600_000,
}: LookUpOptions): LookUps {
  const queues = { stranger: createQueue({ ...paces.stranger, waitMs }), staff: createQueue(paces.staff) };
  const remembered = new LRUCache<string, Found>({ max: 5000 });
  const flights = new Map<string, { isOutdated: boolean; answer: Promise<Found> }>();

  const askOne = async (guildId: string, userId: string, turn: Promise<void>): Promise<MemberState | null> => {
    await turn;
    const discord = source();
    if (discord === undefined) throw new Error("there is no link to Discord");
    const member = await discord.member(guildId, userId, "lookup");
    return member === null ? null : memberState(guildId, member);
  };

  const fetch = async (userId: string, { turn }: Queue): Promise<Found> => {
    const answers = await Promise.allSettled(guildIds().map((guildId) => askOne(guildId, userId, turn())));
    const states = answers.flatMap((answer) => (answer.status === "fulfilled" && answer.value !== null ? [answer.value] : []));
    const isOutdated = flights.get(userId)?.isOutdated === true;
    const found = { states, isComplete: answers.every((answer) => answer.status === "fulfilled"), isOutdated };
    if (found.isComplete && !isOutdated) remembered.set(userId, found, { ttl: states.length === 0 ? absentLifeMs : lifeMs });
    flights.delete(userId);
    return found;
  };

  return {
    async ask(userId, of) {
      const known = remembered.get(userId);
      if (known !== undefined) return known;
      let flight = flights.get(userId);
      if (flight === undefined) {
        const queue = queues[of];
        if (source() === undefined || queue.lengthMs() > longestQueueMs) return unanswered;
        flight = { isOutdated: false, answer: Promise.resolve().then(() => fetch(userId, queue)) };
        flights.set(userId, flight);
      }
      return inTime(flight.answer, queues[of].waitMs);
    },
    touched(userId) {
      remembered.delete(userId);
      const flight = flights.get(userId);
      if (flight !== undefined) flight.isOutdated = true;
    },
    clear: () => remembered.clear(),
  };
}

type Queue = ReturnType<typeof createQueue>;

function createQueue({ perSecond, burst, waitMs }: Pace) {
  const stepMs = 1000 / perSecond;
  let next = -Infinity;
  return {
    waitMs,
    lengthMs: (): number => next - performance.now(),
    /** Settles when the next request may be made. */
    turn(): Promise<void> {
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
