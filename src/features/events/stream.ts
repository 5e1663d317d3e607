import { Readable } from "node:stream";
import { presentGap, presentPing, presentStart, type Told } from "./events.policy.ts";
import type { Tail, Viewer } from "./tail.ts";

/** Where a stream begins. */
export interface Start {
  /** The number of the last event the client has. */
  cursor: number;
  /** Set when the position the client gave is none of this service: the number of the first event it gets. */
  lostUntil?: number;
}

export interface Pace {
  /** How often an idle connection is kept awake, and everybody's access checked. */
  pingMs: number;
  /** A reader that takes nothing for a while, in which so many more events come, is too slow. */
  eventsBehind: number;
  behindMs: number;
  /** How long the end of a stream may take before its connection is cut. */
  endMs: number;
}

export interface StreamOptions {
  tail: Pick<Tail, "after" | "last">;
  viewer: Viewer;
  start: Start;
  isWanted: (type: string) => boolean;
  pace: Pace;
  onClose: () => void;
}

export interface EventStream {
  body: Readable;
  end(): void;
  /** Tell it of new events. */
  noteGrowth(events: readonly Told[]): void;
}

const bufferedBytes = 16 * 1024;

/**
 * One client's stream. Frames are made when the client takes them, so a slow reader costs no memory; the events themselves wait
 * in the database.
 */
export function createEventStream({ tail, viewer, start, isWanted, pace, onClose }: StreamOptions): EventStream {
  let isOver = false;
  let isPingDue = false;
  let checking: Promise<void> | undefined;
  let wake = (): void => undefined;
  const reader = createReader(pace, tail.last);

  async function check(): Promise<void> {
    const isWelcome = await viewer.isWelcome().catch(() => false);
    if (!isWelcome) end();
  }

  /** End it in good order; what is not on its way yet stays unsaid. */
  function end(): void {
    if (isOver) return;
    isOver = true;
    wake();
    setTimeout(() => body.destroy(), pace.endMs).unref();
  }

  async function mayShow({ type, permission, names }: Told): Promise<boolean> {
    await checking;
    return !isOver && isWanted(type) && (await viewer.holds(permission)) && (names.length === 0 || (await viewer.knows(names)));
  }

  async function* frames(): AsyncGenerator<string, void, void> {
    let { cursor } = start;
    let told = cursor;
    yield presentStart(cursor);
    if (start.lostUntil !== undefined) yield presentGap(null, start.lostUntil);
    for (;;) {
      if (isOver) return;
      const found = tail.after(cursor);
      const events = found instanceof Promise ? await found : found;
      for (const event of events) {
        if (event.seq !== cursor + 1) yield presentGap(cursor, event.seq);
        cursor = event.seq;
        if (!(await mayShow(event))) continue;
        yield event.frame;
        told = cursor;
      }
      if (isPingDue) {
        isPingDue = false;
        yield presentPing(cursor === told ? undefined : cursor);
        told = cursor;
      } else if (events.length === 0 && !isOver) await new Promise<void>((resolve) => (wake = resolve));
    }
  }

  const body = bodyOf(frames(), reader, () => {
    clearInterval(timer);
    end();
    onClose();
  });
  const timer = setInterval(() => {
    if (reader.isStuck()) return void body.destroy();
    checking = check().then(() => {
      isPingDue = true;
      wake();
    });
  }, pace.pingMs).unref();

  return {
    body,
    end,
    noteGrowth(events: readonly Told[]): void {
      if (reader.isBehind()) return void body.destroy();
      if (events.some(({ type }) => type.startsWith("api_key."))) checking = check();
      wake();
    },
  };
}

/** The frames as bytes, each made when the reader asks for it. */
function bodyOf(frames: AsyncGenerator<string, void, void>, reader: Reader, onDestroy: () => void): Readable {
  const body = new Readable({
    highWaterMark: bufferedBytes,
    read() {
      reader.asks();
      frames.next().then(
        ({ value, done }) => {
          reader.gets();
          if (!body.destroyed) body.push(done === true ? null : value);
        },
        (error: unknown) => body.destroy(error instanceof Error ? error : new Error(String(error))),
      );
    },
    destroy(error, done) {
      onDestroy();
      done(error);
    },
  });
  return body;
}

interface Reader {
  asks(): undefined;
  gets(): void;
  /** Nothing was taken since the question before. */
  isStuck(): boolean;
  isBehind(): boolean;
}

/** Notices a reader that stopped taking what is there. */
function createReader({ eventsBehind, behindMs }: Pace, last: () => number): Reader {
  let isAsking = false;
  let taken = 0;
  let takenBefore = -1;
  let stopped = { at: performance.now(), last: last() };
  return {
    asks: () => void (isAsking = true),
    gets() {
      isAsking = false;
      taken += 1;
      stopped = { at: performance.now(), last: last() };
    },
    isStuck(): boolean {
      const isStuck = !isAsking && taken === takenBefore;
      takenBefore = taken;
      return isStuck;
    },
    isBehind: () => !isAsking && last() - stopped.last >= eventsBehind && performance.now() - stopped.at >= behindMs,
  };
}
