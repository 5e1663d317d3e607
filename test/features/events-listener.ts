import { request, type IncomingMessage } from "node:http";
import { onTestFinished } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { EventInput } from "../../src/features/events/events.service.ts";
import type { User } from "../../sandbox/index.ts";
import type { World } from "../support/world.ts";

/** One frame as a client of server-sent events reads it. */
interface Frame {
  id?: string;
  event?: string;
  // Tests read data of many shapes.
  data?: any;
}

export interface ListenOptions {
  query?: string;
  key?: string;
  actor?: User;
  lastEventId?: string;
  /** The client dies when it has read so many events, in the middle of whatever comes then. */
  atMost?: number;
}

/** A client that follows the events of a world. */
export interface Listener {
  status: number;
  headers: IncomingMessage["headers"];
  /** The body of a refusal. */
  problem: any;
  frames: readonly Frame[];
  /** The types of the frames that told something. */
  types(): string[];
  /** Numbers of the events seen, in the order they came. */
  seqs(): number[];
  /** Where the client stands. */
  position(): string;
  /** Resolves once this is so. */
  until(isSo: () => boolean): Promise<void>;
  /** How the stream ended: in good order or cut off. */
  ended: Promise<"end" | "cut">;
  leave(): void;
}

/** @returns once the first frame is there, or the refusal */
export async function listen(world: World, options: ListenOptions = {}): Promise<Listener> {
  const { query = "", key = world.key, actor, lastEventId, atMost = Infinity } = options;
  const headers = {
    accept: "text/event-stream",
    connection: "keep-alive",
    authorization: `Bearer ${key}`,
    ...(actor !== undefined && { "x-acting-user": actor.id }),
    ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
  };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(`${world.url}/events${query}`, { headers, agent: false }, resolve).on("error", reject).end();
  });
  // A world may go on after the test; who listens to it does not.
  onTestFinished(() => void response.destroy());
  const frames: Frame[] = [];
  let text = "";
  let position = "";
  const events = (): Frame[] => frames.filter(({ data }) => data !== undefined);
  response.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
      if (events().length >= atMost) return void response.destroy();
      const frame = parseFrame(text.slice(0, end));
      position = frame.id ?? position;
      frames.push(frame);
      text = text.slice(end + 2);
    }
  });
  const ended = new Promise<"end" | "cut">((resolve) => {
    response.on("close", () => resolve(response.complete ? "end" : "cut")).on("error", () => resolve("cut"));
  });
  const until = async (isSo: () => boolean): Promise<void> => void (await world.sandbox.waitFor(isSo, 60_000));
  if (response.statusCode === 200) await until(() => frames.length > 0);
  else await ended;
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    problem: response.statusCode === 200 ? undefined : JSON.parse(text),
    frames,
    types: () => events().map(({ event }) => event ?? ""),
    seqs: () => events().map(({ data }) => data.seq),
    position: () => position,
    until,
    ended,
    leave: () => void response.destroy(),
  };
}

function parseFrame(text: string): Frame {
  const fields = text
    .split("\n")
    .filter((line) => !line.startsWith(":"))
    .map((line) => [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)] as const);
  return Object.fromEntries(fields.map(([name, value]) => [name, name === "data" ? JSON.parse(value) : value]));
}

/** Write events in one transaction of their own. */
export async function emit(world: Pick<World, "app">, ...inputs: EventInput[]): Promise<void> {
  const { database, events } = world.app;
  await database.write(systemCall("job", uuid7()), async (tx) => {
    for (const input of inputs) events.emit(tx, input);
  });
}

/** An event everybody on staff may see. */
export const openEvent = (data: EventInput["data"] = {}): EventInput => ({ type: "owner.changed", data });
