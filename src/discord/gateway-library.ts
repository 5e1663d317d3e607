import { type Client, GatewayOpcodes, SimpleShardingStrategy, WebSocketShardStatus, type WebSocketOptions } from "discord.js";
import { z } from "zod";

/**
 * Everything the link needs of discord.js beyond its documented interface, in one place. A test holds that each part is where it is
 * looked for; where one is not, the link works without it and says so in the log.
 */

type Manager = Parameters<NonNullable<WebSocketOptions["buildStrategy"]>>[0];
type Method = (...args: unknown[]) => unknown;
type Parts = Record<string, unknown>;

interface Socket {
  readyState: number;
  on(name: "error", listener: () => void): void;
  terminate(): void;
}

const closedState = 3;

export interface LibraryListener {
  /** Settles when the next attempt to connect may begin; never, to end the library's loop of attempts. */
  beforeAttempt(): Promise<void>;
  /** A gateway has greeted. */
  onHello(): void;
  onClosed(): void;
  /** A session has begun or was resumed. */
  onUp(): void;
  onHeartbeat(at: Date): void;
  /** The library, or a listener it called, failed at something the gateway said; `packet` is what it said, where that is known. */
  onFault(error: unknown, packet: unknown): void;
  /** A part of the library is not where this file looks for it. */
  onMissing(part: string): void;
}

export interface Library {
  /** For the client's options. */
  ws: Pick<WebSocketOptions, "buildStrategy">;
  /** To be called before the client logs in. */
  guard(client: Client): void;
  send(shardId: number, payload: Parameters<Manager["send"]>[1]): Promise<void>;
  /** Whether Discord has said that no session may be started for now. */
  isOutOfSessions(): Promise<boolean>;
  /** Make the sockets that are open now harmless; the result ends those that did not close by themselves. */
  sockets(): { terminate(): void };
}

/** How long a gateway may take to accept a socket, and then to greet: the library's own half minute and minute are how long a link could stay down for nothing. */
const handshakeMs = 4000;
const helloMs = 7000;
/** How long the other side may take to close; the library's own half minute is for one that still listens. */
const goodbyeMs = 2000;

/** The methods of a shard whose failures the library leaves to the process; each is followed by a heartbeat or a time-out that heals the link. */
const unwatched = ["onMessage", "onClose", "heartbeat", "destroy"] as const;

export function adaptLibrary(listener: LibraryListener): Library {
  let manager: Manager | undefined;
  let shards: () => Parts[] = () => [];

  /** Put another function in the place of a method; `make` is given the method. */
  function replace(owner: object, name: string, make: (method: Method) => Method): void {
    const method = (owner as Parts)[name];
    if (typeof method !== "function") return listener.onMissing(name);
    (owner as Parts)[name] = make(method.bind(owner) as Method);
  }

  function watchShard(shard: Parts): void {
    replace(shard, "unpackMessage", (unpack) => async (...args) => {
      const packet = await unpack(...args);
      if (packet === null) return null;
      const { error } = frame.safeParse(packet);
      if (error === undefined) return packet;
      listener.onFault(error, packet);
      return null;
    });
    for (const name of unwatched)
      replace(shard, name, (method) => async (...args) => {
        try {
          await method(...args);
        } catch (error) {
          listener.onFault(error, undefined);
        }
      });
    if (!("connection" in shard)) listener.onMissing("connection");
    // Two reasons to connect again at once, such as two op 7, would each close the link and each open one.
    let isEnding = false;
    replace(shard, "destroy", (destroy) => async (options) => {
      const isRecovered = (options as { recover?: unknown } | undefined)?.recover !== undefined;
      if (isRecovered && isEnding) return;
      isEnding = isRecovered;
      const ends = createEnd([shard["connection"] as Socket | null]);
      const timer = setTimeout(() => ends.terminate(), goodbyeMs);
      await Promise.resolve(destroy(options)).finally(() => {
        isEnding = false;
        clearTimeout(timer);
      });
    });
    replace(shard, "internalConnect", (connect) => async () => {
      isEnding = false;
      if (shard["status"] === WebSocketShardStatus.Idle) await connect();
    });
  }

  class WatchedStrategy extends SimpleShardingStrategy {
    override async spawn(shardIds: number[]): Promise<void> {
      await super.spawn(shardIds);
      const spawned = (this as unknown as { shards?: Map<number, Parts> }).shards;
      if (!(spawned instanceof Map)) return listener.onMissing("shards");
      shards = () => [...spawned.values()];
      for (const shard of shards()) watchShard(shard);
    }
  }

  const buildStrategy = (built: Manager): SimpleShardingStrategy => {
    manager = built;
    built.options.handshakeTimeout = handshakeMs;
    built.options.helloTimeout = helloMs;
    let isOpen = false;
    // The library asks for the stored session before each attempt, and at each event: holding the answer back holds the attempt back.
    replace(built.options, "retrieveSessionInfo", (retrieve) => async (shardId) => {
      if (!isOpen) await listener.beforeAttempt();
      return retrieve(shardId);
    });
    replace(built, "emit", (emit) => (event, data) => {
      if (event === "hello") isOpen = true;
      if (event === "closed") isOpen = false;
      try {
        hear(listener, event, data);
        return emit(event, data);
      } catch (error) {
        listener.onFault(error, event === "dispatch" ? (data as { data: unknown }).data : undefined);
        return true;
      }
    });
    return new WatchedStrategy(built);
  };

  return {
    ws: { buildStrategy },
    guard(client) {
      replace(client.ws, "handlePacket", (handle) => (packet, shard) => {
        try {
          return handle(packet, shard);
        } catch (error) {
          listener.onFault(error, packet);
          return true;
        }
      });
    },
    send: async (shardId, payload) => manager?.send(shardId, payload),
    async isOutOfSessions() {
      const information = await manager?.fetchGatewayInformation().catch(() => undefined);
      return information !== undefined && information.session_start_limit.remaining < 1;
    },
    sockets: () => createEnd(shards().map(({ connection }) => connection as Socket | null)),
  };
}

function createEnd(connections: readonly (Socket | null | undefined)[]): { terminate(): void } {
  const sockets = connections.filter((socket) => socket !== null && socket !== undefined);
  // The library takes its own listener off a socket that is still connecting; an error without a listener would end the process.
  for (const socket of sockets) socket.on("error", () => undefined);
  return {
    terminate() {
      for (const socket of sockets) if (socket.readyState !== closedState) socket.terminate();
    },
  };
}

/** The library's own events; discord.js documents others. */
function hear(listener: LibraryListener, event: unknown, data: unknown): void {
  if (event === "hello") listener.onHello();
  if (event === "closed") listener.onClosed();
  if (event === "ready" || event === "resumed") listener.onUp();
  if (event === "heartbeat") listener.onHeartbeat(new Date((data as { heartbeatAt: number }).heartbeatAt));
}

const id = z.string().regex(/^\d{1,20}$/);
const thing = z.looseObject({ id });
/** What READY must say for a session to stand on it. */
const ready = z.looseObject({
  session_id: z.string().min(1),
  resume_gateway_url: z.string().optional(),
  user: thing,
  guilds: z.array(thing),
});

/** Without these nobody can be answered. */
const interaction = z
  .looseObject({ id, token: z.string().min(1), type: z.int() })
  .refine(({ member, user }) => asked.safeParse(user ?? member).success);
const asked = z.union([thing, z.looseObject({ user: thing })]);

/** Events that are not handed on unless they say this. */
const needed = new Map<string, z.ZodType>([
  ["READY", ready],
  ["INTERACTION_CREATE", interaction],
]);

/** Frames whose content the library takes on trust: without it a link would beat its heart without a pause, or never again. */
const frame = z.discriminatedUnion("op", [
  z
    .looseObject({ op: z.literal(GatewayOpcodes.Dispatch), t: z.string(), s: z.int().nullish() })
    .refine(({ t, d }) => needed.get(t)?.safeParse(d).success ?? true),
  z.looseObject({ op: z.literal(GatewayOpcodes.InvalidSession), d: z.boolean() }),
  z.looseObject({ op: z.literal(GatewayOpcodes.Hello), d: z.looseObject({ heartbeat_interval: z.number().min(50) }) }),
  z.looseObject({ op: z.literal([GatewayOpcodes.Heartbeat, GatewayOpcodes.Reconnect, GatewayOpcodes.HeartbeatAck]) }),
]);
