import { say } from "../../kit/say.ts";
import type { Readable } from "node:stream";
import type { Logger } from "../../database/database.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { fieldError, ProblemError } from "../../kernel/errors.ts";
import { createHiddenIds, type HiddenIds } from "../../kernel/visibility.ts";
import { createPlaces, eventsPolicy, presentEvent, requireReadable, type Told } from "./events.policy.ts";
import { FollowEventsQuery, typesOf } from "./events.schema.ts";
import type { EventsService } from "./events.service.ts";
import { createEventStream, type EventStream, type Pace, type Start } from "./stream.ts";
import { createTail, createViewer, type Viewer, type ViewerDeps } from "./tail.ts";

export interface StreamsDeps extends Omit<ViewerDeps, "hiddenIds"> {
  events: Pick<EventsService, "onCommit">;
  logger?: Logger;
  pace?: Partial<Pace> | undefined;
  places?: { all: number; perKey: number };
  /** How often events of other processes, such as the command line, are looked for while somebody listens. */
  pollMs?: number;
}

export interface EventStreamsService {
  /**
   * Leave events about some records out of what a caller is told. Each feature with such records tells its own, at start: what is added
   * answers their ids.
   */
  registerHiddenIds(source: HiddenIds): void;
  /**
   * Follow events: frames of text/event-stream, from after a known event or from now on, until the caller leaves or may not listen
   * any more. Holds no transaction and writes nothing.
   * @param lastEventId the position of a client that comes back, as it sent it
   * @throws ProblemError permission_denied, acting_user_not_staff, rate_limited, overloaded, shutting_down
   */
  follow(call: Call, given: FollowEventsQuery, lastEventId?: string): Promise<Readable>;
  /**
   * Follow as a part of the service: the same events from the same memory, seen through the viewers it asks for.
   * @param hear told of every batch once `after` has it
   * @returns the way to end it
   */
  join(hear: (grown: readonly Told[]) => void): Promise<() => void>;
  /** The next events after a number, for whoever has joined; empty at the end. */
  after(seq: number, most?: number): readonly Told[] | Promise<readonly Told[]>;
  /** An event by its id, as long as it is kept. */
  eventOf(id: string): Promise<Told | undefined>;
  /** What somebody sees of the events, as they stand at each moment. @throws ProblemError credential_revoked */
  viewerOf(call: Call): Promise<Viewer>;
  typesOf(filter: string): ReadonlySet<string>;
  /**
   * Refuse names that stand for no type, and somebody who would hear nothing.
   * @param names types, or `prefix.*`; none: everything
   * @throws ProblemError validation_failed, permission_denied, acting_user_not_staff
   */
  requireTypes(call: Call, names: readonly string[]): void;
  /** How many clients follow now. */
  count(): number;
  /** End every stream; resolves when all are gone, a second later at most. */
  close(): Promise<void>;
}

const usualPace: Pace = { pingMs: 15_000, eventsBehind: 1000, behindMs: 1000, endMs: 1000 };
const defaultPlaces = { all: 100, perKey: 5 };
const positionForm = /^\d{1,15}$/;

export function createEventStreams(deps: StreamsDeps): EventStreamsService {
  const { database, events, logger, places: limits = defaultPlaces, pollMs = 1000 } = deps;
  const pace = { ...usualPace, ...deps.pace };
  const streams = new Set<EventStream>();
  /** Parts of the service that follow. */
  const parts = new Set<(grown: readonly Told[]) => void>();
  const hiddenRecords = createHiddenIds();
  const places = createPlaces(limits);
  const tail = createTail({
    read: database.read,
    onGrowth: (grown) => {
      for (const stream of streams) stream.noteGrowth(grown);
      for (const hear of parts) hear(grown);
    },
    ...(logger !== undefined && { logger }),
  });
  let isClosed = false;
  const isFollowed = (): boolean => streams.size + parts.size > 0;
  const look = (): void => {
    if (isFollowed()) void tail.look();
  };
  events.onCommit(look);
  const timer = setInterval(look, pollMs).unref();

  async function startAt(asked: number | undefined): Promise<Start> {
    const { oldest, newest } = await tail.ends();
    if (!isFollowed()) tail.skip(newest);
    if (asked === undefined) return { cursor: newest };
    const first = Math.max(oldest, 1);
    return asked <= newest ? { cursor: asked } : { cursor: first - 1, lostUntil: first };
  }

  const viewerOf = (call: Call): Promise<Viewer> => createViewer({ ...deps, hiddenIds: hiddenRecords.hiddenIds }, call);

  async function open(call: Call, wanted: ReadonlySet<string> | undefined, position: number | undefined): Promise<Readable> {
    const leave = places.take(call.client?.id ?? call.actor?.id ?? "");
    try {
      const viewer = await viewerOf(call);
      const start = await startAt(position);
      if (isClosed) throw new ProblemError("shutting_down", { retryAfter: 5 });
      const stream = createEventStream({
        tail,
        viewer,
        start,
        isWanted: (type) => wanted?.has(type) ?? true,
        pace,
        onClose: () => {
          streams.delete(stream);
          leave();
        },
      });
      streams.add(stream);
      look();
      return stream.body;
    } catch (error) {
      leave();
      throw error;
    }
  }

  return {
    registerHiddenIds: hiddenRecords.add,

    async follow(call: Call, given: FollowEventsQuery, lastEventId?: string): Promise<Readable> {
      requirePermission(call, eventsPolicy.follow);
      const { types, after } = FollowEventsQuery.parse(given);
      const wanted = types === undefined ? undefined : typesOf(types);
      requireReadable(call, wanted);
      return open(call, wanted, positionOf(lastEventId) ?? after);
    },

    async join(hear: (grown: readonly Told[]) => void): Promise<() => void> {
      const { newest } = await tail.ends();
      if (!isFollowed()) tail.skip(newest);
      parts.add(hear);
      look();
      return () => void parts.delete(hear);
    },
    after: tail.after,
    async eventOf(id: string): Promise<Told | undefined> {
      const row = await database.read.outboxEvent.findUnique({ where: { id } });
      return row === null ? undefined : presentEvent(row);
    },
    viewerOf,
    typesOf,
    requireTypes(call: Call, names: readonly string[]): void {
      requirePermission(call, eventsPolicy.follow);
      const unknown = names.findIndex((name) => typesOf(name).size === 0);
      if (unknown !== -1)
        throw fieldError(`/types/${unknown.toString()}`, "unknown_type", say("events.name-types-of-events-or-prefix-for"));
      requireReadable(call, names.length === 0 ? undefined : typesOf(names.join()));
    },

    count: (): number => streams.size,

    async close(): Promise<void> {
      isClosed = true;
      clearInterval(timer);
      await Promise.all(
        [...streams].map(async (stream) => {
          const gone = new Promise<void>((resolve) => void stream.body.once("close", resolve));
          stream.end();
          await gone;
        }),
      );
    },
  };
}

/** A position that was never given counts as one that is not kept any more. */
function positionOf(lastEventId: string | undefined): number | undefined {
  if (lastEventId === undefined || lastEventId === "") return undefined;
  return positionForm.test(lastEventId) ? Number(lastEventId) : Infinity;
}
