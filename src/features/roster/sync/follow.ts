import type { Deps } from "../../deps.ts";
import type { Logger } from "pino";
import type { Database } from "../../../database/database.ts";
import { systemCall, type Call } from "../../../kernel/call.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { uuid7 } from "../../../kernel/ids.ts";
import type { AccessDirectory } from "../../permissions/access/access-directory.ts";
import type { Differing, People } from "./people.ts";
import { liveStatuses } from "../states.ts";

export interface FollowDeps extends Deps<"database" | "events" | "guildState" | "clock"> {
  access: Pick<AccessDirectory, "roles">;
  isFollowing: boolean;
  logger: Logger;
}

export interface Follow {
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  note(userId: string | null): void;
  allowance(): Promise<Allowance>;
  state(): Readonly<FollowState> & {
    isAnybody: boolean;
    pending: number;
  };
  /** From now on the roster follows, where it is to. */
  start(): void;
  /** Begin nothing more, and wait for the part that is under way. */
  stop(): Promise<void>;
  /** What was left is tried again; other Discord roles standing for staff roles may mean other entries. @returns how many were changed, or differ where nothing is applied */
  catchUp(call: Call): Promise<number>;
}

/** What is told of at once is looked at together. */
const gatherMs = 250;

/** While the servers are not known for certain nothing is told, not even that they are known again. */
const unknownMs = 2000;

/** How it stands with following. */
export interface FollowState {
  /** How many people are held back because too much would change at once. */
  heldBack: number;
  trippedAt: Date | null;
  lastRoundAt: Date | null;
}

/** Brings the roster in step with what the gateway tells, unless too much would change at once. */
export function createFollow({ database, events, guildState, access, isFollowing, clock, logger }: FollowDeps, people: People): Follow {
  const breaker = createBreaker(database, clock);
  const pending = new Set<string>();
  const state: FollowState = { heldBack: 0, trippedAt: null, lastRoundAt: null };
  let isAnybody = true;
  let mapping = "";
  let isRunning = false;
  let timer: NodeJS.Timeout | undefined;
  let stopListening: (() => void) | undefined;
  let last: Promise<unknown> = Promise.resolve();

  function note(userId: string | null): void {
    if (userId === null) isAnybody = true;
    else pending.add(userId);
    wakeIn(gatherMs);
  }

  function wakeIn(ms: number): void {
    if (isRunning) timer ??= setTimeout(wake, ms).unref();
  }

  function wake(): void {
    timer = undefined;
    inTurn(() => round(systemCall("job", uuid7()))).catch((error: unknown) => {
      logger.error({ err: error }, "roster: what Discord shows could not be brought in; it is tried again within a minute");
    });
  }

  /** One after the other, no matter who asks. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = last.then(work);
    last = next.catch(() => undefined);
    return next;
  }

  /** Take what is pending; what fails is pending again. */
  async function round(call: Call): Promise<number> {
    if (!isRunning) return 0;
    if (!people.isKnown()) {
      wakeIn(unknownMs);
      return 0;
    }
    const taken = { isAnybody, userIds: [...pending] };
    isAnybody = false;
    pending.clear();
    try {
      const differing = await people.differing(taken.isAnybody ? await people.everyone() : taken.userIds, clock.now());
      const done = differing.length === 0 ? inStep() : await applyDifferences(call, differing);
      state.lastRoundAt = clock.now();
      return done;
    } catch (error) {
      isAnybody ||= taken.isAnybody;
      for (const userId of taken.userIds) pending.add(userId);
      throw error;
    }
  }

  async function applyDifferences(call: Call, differing: readonly Differing[]): Promise<number> {
    const allowed = await breaker.allowance();
    const isFirstFilling = allowed.isFirstFilling && differing.every(({ entry }) => entry === null);
    const allowance = { ...allowed, isFirstFilling };
    const changing = differing.flatMap(({ userId, steps }) => (steps.length === 0 ? [] : [userId]));
    if (isTooMuch(allowance, changing)) return await hold(call, differing, changing.length, allowance);
    inStep();
    const mayGoOn = (): boolean => isRunning && people.isKnown();
    const { changed, left } = await people.apply(
      call,
      differing.map(({ userId }) => userId),
      mayGoOn,
    );
    for (const userId of left) pending.add(userId);
    if (isFirstFilling && left.length === 0) breaker.countFrom(clock.now());
    return changed;
  }

  function inStep(): number {
    state.heldBack = 0;
    state.trippedAt = null;
    return 0;
  }

  /** Nothing of the round is applied; it is told once, and everybody stays pending. */
  async function hold(call: Call, differing: readonly Differing[], count: number, { live, limit }: Allowance): Promise<number> {
    for (const { userId } of differing) pending.add(userId);
    state.heldBack = count;
    if (state.trippedAt !== null) return 0;
    const since = clock.now();
    logger.warn({ count, live, limit }, "roster: too much would change at once; nothing is applied until somebody looks at it");
    await database.write(call, (tx) => {
      events.emit(tx, { type: "roster.drift", data: { held_back: count, live, since: since.toISOString() } });
      return Promise.resolve();
    });
    state.trippedAt = since;
    return 0;
  }

  return {
    inTurn,
    note,
    allowance: breaker.allowance,
    state: (): Readonly<FollowState> & { isAnybody: boolean; pending: number } => ({ ...state, isAnybody, pending: pending.size }),

    start(): void {
      if (!isFollowing || isRunning) return;
      isRunning = true;
      stopListening = guildState.onChange(note);
      note(null);
    },

    async stop(): Promise<void> {
      isRunning = false;
      stopListening?.();
      clearTimeout(timer);
      await last;
    },

    async catchUp(call: Call): Promise<number> {
      if (!isFollowing) {
        state.heldBack = people.isKnown() ? await inTurn(() => drift()) : state.heldBack;
        return state.heldBack;
      }
      const now = mappingOf(access);
      if (now !== mapping) isAnybody = true;
      mapping = now;
      return isAnybody || pending.size > 0 ? await inTurn(() => round(call)) : 0;
    },
  };

  async function drift(): Promise<number> {
    const differing = await people.differing(await people.everyone(), clock.now());
    state.lastRoundAt = clock.now();
    return differing.filter(({ steps }) => steps.length > 0).length;
  }
}

/** What stands for the staff roles, as one text. */
function mappingOf({ roles }: Pick<AccessDirectory, "roles">): string {
  const lines = roles().map(({ key, rank, discord }) =>
    [key, rank, ...discord.map(({ guildId, roleId }) => `${guildId}:${roleId}`).toSorted()].join(" "),
  );
  return lines.toSorted().join("\n");
}

/** So many may change in ten minutes however small the roster is. */
const always = 5;
const share = 0.2;
const windowMs = 600_000;

/** What may change by itself at the moment. */
export interface Allowance {
  live: number;
  /** More people than this are not changed within ten minutes. */
  limit: number;
  /** Those who were changed by what Discord shows in the last ten minutes, unless somebody asked for it. */
  changed: ReadonlySet<string>;
  /** Whether there is no entry yet but those the filling has just begun with: what Discord shows is what the roster begins with. */
  isFirstFilling: boolean;
}

/** The most people whose entries may change by themselves within ten minutes: a fifth of those on the roster. */
export function limitFor(live: number): number {
  return Math.max(always, share * live);
}

/** Whether changing these people would be too much at once. */
export function isTooMuch({ limit, changed, isFirstFilling }: Allowance, userIds: readonly string[]): boolean {
  return !isFirstFilling && new Set([...changed, ...userIds]).size > limit;
}

/** Counts what Discord has changed lately. `countFrom` leaves out what came before. */
export function createBreaker(database: Database, clock: Clock) {
  let from = 0;
  return {
    /** The first filling of the roster is no change of it. */
    countFrom: (at: Date): void => void (from = at.getTime()),

    async allowance(): Promise<Allowance> {
      const { rosterEntry, rosterEvent } = database.read;
      const began = new Date(clock.now().getTime() - windowMs);
      const since = new Date(Math.max(from, began.getTime()));
      const where = { source: "discord", actorId: null, recordedAt: { gt: since } };
      const isOther = [{ event: { not: "hired" } }, { source: { not: "discord" } }, { actorId: { not: null } }];
      const [live, first, lines, other] = await Promise.all([
        rosterEntry.count({ where: { status: { in: [...liveStatuses] } } }),
        rosterEntry.findFirst({ select: { id: true } }),
        rosterEvent.findMany({ where, distinct: ["userId"], select: { userId: true } }),
        rosterEvent.findFirst({ where: { OR: [...isOther, { recordedAt: { lte: began } }] }, select: { id: true } }),
      ]);
      // Members become known part by part: the filling goes on for as long as lines count, also after a restart.
      const isFirstFilling = first === null || other === null;
      return { live, limit: limitFor(live), changed: new Set(lines.map(({ userId }) => userId)), isFirstFilling };
    },
  };
}
