import { createParser, type EventSourceMessage } from "eventsource-parser";
import { ProvostError } from "./problem.ts";
import { pause } from "./send.ts";

/** Something that happened. `data` has ids, references and statuses: read the record for more. */
export interface ServiceEvent {
  /** Its place in the order of all events; where to go on from. */
  seq: number;
  id: string;
  at: string;
  type: string;
  data: Record<string, unknown>;
}

/** The events after `after` and before `next` are no longer kept: read again what you keep a copy of. `after` is null where it was unknown. */
export interface EventGap {
  type: "gap";
  after: number | null;
  next: number;
}

export interface FollowOptions {
  /** Types and prefixes, such as `workflow.*`; by default all. */
  types?: readonly string[];
  /** The last position that was handled; 0 begins with the oldest event kept. By default only what happens from now on. */
  after?: number;
  /** Ends the following: the loop over it ends. */
  signal?: AbortSignal;
  /**
   * Told of every position up to which all is handled, and waited for: first as soon as the stream is there, then whenever the body of the
   * loop over an event has ended, and where only events happened that are not for this caller. Who keeps it and passes it as `after` goes
   * on there after an end of the process; an event whose loop was left by `break` comes again.
   */
  onPosition?: (position: number) => unknown;
}

/** Asks for the stream from a position on. @throws ProvostError */
export type Connect = (asked: { types?: string; lastEventId?: string; signal: AbortSignal }) => Promise<ReadableStream<Uint8Array>>;

export interface Pace {
  /** The first wait before connecting again, doubled while that does not succeed. */
  retryMs: number;
  longestRetryMs: number;
  /** The service says something every 15 seconds: a connection that is silent for longer is given up. */
  silenceMs: number;
}
export const usualPace: Pace = { retryMs: 1000, longestRetryMs: 30_000, silenceMs: 45_000 };

/** A part of a stream: what happened, and where it stands afterwards. */
interface Said {
  message?: EventSourceMessage;
  position?: number;
}

/**
 * Follow what happens, over every loss of the connection, without a gap or a repetition.
 * @throws ProvostError where to ask again would be refused again
 */
export async function* followEvents(connect: Connect, options: FollowOptions, pace: Pace): AsyncGenerator<ServiceEvent | EventGap, void> {
  const { types, after, signal, onPosition } = options;
  const ending = new AbortController();
  const end = (): void => ending.abort(signal?.reason);
  if (isOver(signal)) return;
  signal?.addEventListener("abort", end, { once: true });
  let position = after;
  let failures = 0;
  try {
    for (;;) {
      const asked = {
        ...(types !== undefined && { types: types.join() }),
        ...(position !== undefined && { lastEventId: String(position) }),
      };
      for await (const said of readStream((silence) => connect({ ...asked, signal: silence }), ending.signal, pace.silenceMs)) {
        failures = 0;
        if (said.message !== undefined) yield read(said.message);
        if (said.position !== undefined) {
          position = said.position;
          await onPosition?.(position);
        }
        if (isOver(signal)) return;
      }
      const wait = Math.min(pace.retryMs * 2 ** failures, pace.longestRetryMs);
      failures += 1;
      // Clients that lost one service do not come back in the same moment.
      await pause(wait * (0.5 + Math.random() / 2), ending.signal);
    }
  } catch (error) {
    if (!isOver(signal)) throw error;
  } finally {
    signal?.removeEventListener("abort", end);
    ending.abort();
  }
}

const isOver = (signal: AbortSignal | undefined): boolean => signal?.aborted ?? false;

function read({ event, data }: EventSourceMessage): ServiceEvent | EventGap {
  const parsed = JSON.parse(data) as ServiceEvent;
  return event === "gap" ? { ...(parsed as unknown as Omit<EventGap, "type">), type: "gap" } : parsed;
}

/** A lost connection, the limit of open streams, an overloaded service, and a proxy whose service is starting. */
const isPassing = (error: unknown): boolean =>
  !(error instanceof ProvostError) || error.status === 429 || (error.status >= 500 && error.code !== "unsupported_operation");

/** One connection, until it ends or is lost. */
async function* readStream(
  connect: (signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>,
  ended: AbortSignal,
  silenceMs: number,
): AsyncGenerator<Said, void> {
  const silence = new AbortController();
  const partsOf = createReader();
  let timer = setTimeout(() => silence.abort(), silenceMs);
  const stop = (): void => silence.abort(ended.reason);
  ended.addEventListener("abort", stop, { once: true });
  try {
    const reader = (await connect(silence.signal)).pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), silenceMs);
      yield* partsOf(value);
    }
  } catch (error) {
    if (ended.aborted || !isPassing(error)) throw error;
  } finally {
    clearTimeout(timer);
    ended.removeEventListener("abort", stop);
    silence.abort();
  }
}

/** Turns the text of a stream, in whatever pieces it comes, into its parts. The parser passes over a position where no event stands. */
function createReader(): (text: string) => Said[] {
  let rest = "";
  let position: number | undefined;
  const said: Said[] = [];
  const say = (part: Said): void => {
    said.push({ ...part, ...(position !== undefined && { position }) });
    position = undefined;
  };
  const parser = createParser({ onEvent: (message) => say({ message }) });
  return (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("id:")) position = Number(line.slice("id:".length));
      parser.feed(`${line}\n`);
      if (line.trim() === "" && position !== undefined) say({});
    }
    return said.splice(0);
  };
}
