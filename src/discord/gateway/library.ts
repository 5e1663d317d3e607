import { type Client, GatewayOpcodes, SimpleShardingStrategy, WebSocketShardStatus, type WebSocketOptions } from "discord.js";
import { z } from "zod";

/**
 * The only file that uses internals of discord.js. A test checks that each internal exists; if one is missing, the link works without it
 * and logs that.
 */

type Manager = Parameters<NonNullable<WebSocketOptions["buildStrategy"]>>[0];
type Method = (...args: unknown[]) => unknown;
type Internals = Record<string, unknown>;

interface Socket {
  readyState: number;
  on(name: "error", listener: () => void): void;
  terminate(): void;
}

const closedState = 3;

export interface LibraryHooks {
  /** Resolves when the next attempt to connect may begin; never resolves, to end the library's loop of attempts. */
  beforeAttempt(): Promise<void>;
  /** The gateway sent HELLO. */
  onHello(): void;
  onClosed(): void;
  /** A session has begun or was resumed. */
  onUp(): void;
  onHeartbeat(at: Date): void;
  /** The library, or a listener it called, failed at a packet of the gateway; `packet` is undefined if it is not known. */
  onFault(error: unknown, packet: unknown): void;
  /** An internal of the library does not exist any more. */
  onMissing(part: string): void;
}

export interface Library {
  /** For the client's options. */
  ws: Pick<WebSocketOptions, "buildStrategy">;
  /** Must be called before the client logs in. */
  guard(client: Client): void;
  send(shardId: number, payload: Parameters<Manager["send"]>[1]): Promise<void>;
  /** Whether Discord allows no further session starts for now. */
  isOutOfSessions(): Promise<boolean>;
  /** Silence the errors of the sockets that are open now; `terminate` ends those that did not close by themselves. */
  sockets(): { terminate(): void };
}

/** The time-outs for the socket and for HELLO. The library's own are 30 s and 60 s, for which a link would stay down needlessly. */
const handshakeMs = 4000;
const helloMs = 7000;
/** The time-out of a close; the library's own is 30 s. */
const goodbyeMs = 2000;

/** The methods of a shard whose rejections the library does not handle. After each, a heartbeat or a time-out restores the link. */
const unwatched = ["onMessage", "onClose", "heartbeat", "destroy"] as const;

/** The internals of discord.js for one client. */
export function adaptLibrary(hooks: LibraryHooks): Library {
  let manager: Manager | undefined;
  let shards: () => Internals[] = () => [];

  /** Replace a method by what `make` makes of it. */
  function replace(owner: object, name: string, make: (method: Method) => Method): void {
    const method = (owner as Internals)[name];
    if (typeof method !== "function") return hooks.onMissing(name);
    (owner as Internals)[name] = make(method.bind(owner) as Method);
  }

  function watchShard(shard: Internals): void {
    replace(shard, "unpackMessage", (unpack) => async (...args) => {
      const packet = await unpack(...args);
      if (packet === null) return null;
      const { error } = frame.safeParse(packet);
      if (error === undefined) return packet;
      hooks.onFault(error, packet);
      return null;
    });
    for (const name of unwatched)
      replace(shard, name, (method) => async (...args) => {
        try {
          await method(...args);
        } catch (error) {
          hooks.onFault(error, undefined);
        }
      });
    if (!("connection" in shard)) hooks.onMissing("connection");
    // Two reasons to reconnect at once, such as two op 7, would open two links.
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
      const spawned = (this as unknown as { shards?: Map<number, Internals> }).shards;
      if (!(spawned instanceof Map)) return hooks.onMissing("shards");
      shards = () => [...spawned.values()];
      for (const shard of shards()) watchShard(shard);
    }
  }

  const buildStrategy = (built: Manager): SimpleShardingStrategy => {
    manager = built;
    built.options.handshakeTimeout = handshakeMs;
    built.options.helloTimeout = helloMs;
    let isOpen = false;
    // The library reads the stored session before each attempt and at each event, so delaying the answer delays the attempt.
    replace(built.options, "retrieveSessionInfo", (retrieve) => async (shardId) => {
      if (!isOpen) await hooks.beforeAttempt();
      return retrieve(shardId);
    });
    replace(built, "emit", (emit) => (event, data) => {
      if (event === "hello") isOpen = true;
      if (event === "closed") isOpen = false;
      try {
        notify(hooks, event, data);
        return emit(event, data);
      } catch (error) {
        hooks.onFault(error, event === "dispatch" ? (data as { data: unknown }).data : undefined);
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
          hooks.onFault(error, packet);
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

/** Translates internal events of the library, which discord.js does not document. */
function notify(hooks: LibraryHooks, event: unknown, data: unknown): void {
  if (event === "hello") hooks.onHello();
  if (event === "closed") hooks.onClosed();
  if (event === "ready" || event === "resumed") hooks.onUp();
  if (event === "heartbeat") hooks.onHeartbeat(new Date((data as { heartbeatAt: number }).heartbeatAt));
}

const id = z.string().regex(/^\d{1,20}$/);
const thing = z.looseObject({ id });
/** The fields of READY without which a session cannot work. */
const ready = z.looseObject({
  session_id: z.string().min(1),
  resume_gateway_url: z.string().optional(),
  user: thing,
  guilds: z.array(thing),
});

/** The fields of an interaction without which it cannot be answered. */
const interaction = z
  .looseObject({ id, token: z.string().min(1), type: z.int() })
  .refine(({ member, user }) => sender.safeParse(user ?? member).success);
const sender = z.union([thing, z.looseObject({ user: thing })]);

/** Events that are dropped unless they match. */
const requiredFields = new Map<string, z.ZodType>([
  ["READY", ready],
  ["INTERACTION_CREATE", interaction],
]);

/** The frames that the library does not check; a bad HELLO would make it send heartbeats without a pause, or none. */
const frame = z.discriminatedUnion("op", [
  z
    .looseObject({ op: z.literal(GatewayOpcodes.Dispatch), t: z.string(), s: z.int().nullish() })
    .refine(({ t, d }) => requiredFields.get(t)?.safeParse(d).success ?? true),
  z.looseObject({ op: z.literal(GatewayOpcodes.InvalidSession), d: z.boolean() }),
  z.looseObject({ op: z.literal(GatewayOpcodes.Hello), d: z.looseObject({ heartbeat_interval: z.number().min(50) }) }),
  z.looseObject({ op: z.literal([GatewayOpcodes.Heartbeat, GatewayOpcodes.Reconnect, GatewayOpcodes.HeartbeatAck]) }),
]);
