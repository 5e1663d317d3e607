import { setImmediate as nextTurn } from "node:timers/promises";
import { GatewayCloseCodes, GatewayOpcodes } from "discord-api-types/v10";
import type { WebSocket } from "ws";
import type { Recorder } from "./recorder.ts";
import { randomBytes } from "node:crypto";
import type { WorldEvent } from "./model.ts";

const sendsPerWindow = 120;
const sendWindowMs = 60_000;
const backlogBytes = 4 * 1024 * 1024;

export type Connection = ReturnType<typeof createConnection>;

/** What one link does with messages that need more than the link. */
export type ConnectionHandlers = {
  identify(connection: Connection, data: unknown): void;
  resume(connection: Connection, data: unknown): void;
  requestMembers(connection: Connection, data: unknown): void;
  closed(connection: Connection, code: number): void;
};

/**
 * One WebSocket link: heartbeats, the limit of 120 messages a minute, and the order of messages.
 * @param heartbeatMs interval told in Hello; a client silent for twice as long is closed with 4009
 */
export function createConnection(
  socket: WebSocket,
  options: { heartbeatMs: number; now: () => number; recorder: Recorder; handlers: ConnectionHandlers },
) {
  const { heartbeatMs, now, recorder, handlers } = options;
  let session: Session | null = null;
  let silent = false;
  let sends: number[] = [];
  let sent = 0;
  let read = 0;
  const waiting = new Set<() => void>();
  let watchdog: NodeJS.Timeout | undefined;

  const note = (direction: "in" | "out" | "open" | "close", op: number | null, t: string | null, d: unknown) =>
    recorder.gateway({ direction, session: session?.id ?? null, op, t, d });

  function sendText(text: string, entry: { op: number; t: string | null; d: unknown }): void {
    if (silent || socket.readyState !== socket.OPEN) return;
    socket.send(text);
    sent += 1;
    note("out", entry.op, entry.t, entry.d);
  }

  const send = (op: GatewayOpcodes, d: unknown) => sendText(JSON.stringify({ op, d, s: null, t: null }), { op, t: null, d });
  const link: Link = { send: sendText };

  function watch(): void {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => connection.close(GatewayCloseCodes.SessionTimedOut), heartbeatMs * 2);
  }

  const connection = {
    link,
    get session() {
      return session;
    },
    bind(next: Session): void {
      session = next;
      next.attach(link);
    },
    /** The link lost its session and may identify again. */
    release(): void {
      if (session?.link === link) session.detach();
      session = null;
    },
    send,
    /** A frame as it stands, whatever it says. */
    frame: (text: string) => sendText(text, { op: -1, t: null, d: text }),
    close(code: number): void {
      socket.close(code);
    },
    drop(): void {
      socket.terminate();
    },
    /** From now on nothing is sent and nothing answered, as on a dead link. */
    silence(): void {
      silent = true;
    },
    /** Wait until the client has read what was sent until now, which a WebSocket ping shows; returns at once on a dead or closed link. */
    caughtUp(): Promise<void> {
      const upTo = sent;
      if (read < upTo && socket.readyState === socket.OPEN) socket.ping(upTo.toString());
      return new Promise((resolve) => {
        function look(): void {
          if (read < upTo && !silent && socket.readyState === socket.OPEN) return;
          waiting.delete(look);
          resolve();
        }
        waiting.add(look);
        look();
      });
    },
    /** Settles in a later turn, when the link's backlog is small. */
    async ready(): Promise<void> {
      do await nextTurn();
      while (socket.readyState === socket.OPEN && socket.bufferedAmount > backlogBytes);
    },
  };

  function receive(text: string): void {
    const time = now();
    sends = [...sends.filter((at) => at > time - sendWindowMs), time];
    if (sends.length > sendsPerWindow) return connection.close(GatewayCloseCodes.RateLimited);
    const message = parse(text);
    if (!message) return connection.close(GatewayCloseCodes.DecodeError);
    note("in", message.op, null, message.d);
    if (silent) return;
    switch (message.op) {
      case GatewayOpcodes.Heartbeat:
        watch();
        return send(GatewayOpcodes.HeartbeatAck, null);
      case GatewayOpcodes.Identify:
        return session ? connection.close(GatewayCloseCodes.AlreadyAuthenticated) : handlers.identify(connection, message.d);
      case GatewayOpcodes.Resume:
        return session ? connection.close(GatewayCloseCodes.AlreadyAuthenticated) : handlers.resume(connection, message.d);
      case GatewayOpcodes.RequestGuildMembers:
      case GatewayOpcodes.PresenceUpdate:
      case GatewayOpcodes.VoiceStateUpdate:
        if (!session) return connection.close(GatewayCloseCodes.NotAuthenticated);
        if (message.op === GatewayOpcodes.RequestGuildMembers) handlers.requestMembers(connection, message.d);
        return;
      default:
        return connection.close(GatewayCloseCodes.UnknownOpcode);
    }
  }

  socket.on("pong", (data: Buffer) => {
    read = Math.max(read, Number(data.toString()) || 0);
    for (const look of waiting) look();
  });
  socket.on("message", (data: Buffer) => receive(data.toString()));
  // A reset link also closes; there is nothing else to do about it.
  socket.on("error", () => undefined);
  socket.on("close", (code) => {
    clearTimeout(watchdog);
    for (const look of waiting) look();
    note("close", code, null, undefined);
    if (session?.link === link) session.detach();
    handlers.closed(connection, code);
  });
  note("open", null, null, undefined);
  watch();
  send(GatewayOpcodes.Hello, { heartbeat_interval: heartbeatMs });
  return connection;
}

function parse(text: string): { op: number; d: unknown } | undefined {
  try {
    const message = JSON.parse(text) as { op?: unknown; d?: unknown } | null;
    return message && typeof message.op === "number" ? { op: message.op, d: message.d } : undefined;
  } catch {
    return undefined;
  }
}

/** How many events a session keeps for a client that comes back. */
const replayLength = 2000;

/** What a session needs of the link it is served over. */
export type Link = { send(text: string, entry: { op: number; t: string; d: unknown }): void };

export type Session = ReturnType<typeof createSession>;

/**
 * One gateway session: its sequence, its replay buffer and, while a client is connected, its link.
 * @param shard this shard's number and how many there are
 */
export function createSession(intents: number, shard: readonly [number, number]) {
  const id = randomBytes(16).toString("hex");
  let link: Link | null = null;
  let sequence = 0;
  const replay: { sequence: number; text: string; t: string }[] = [];

  return {
    id,
    intents,
    /** Times of full-list member requests per guild. */
    memberRequests: new Map<string, number>(),
    get link() {
      return link;
    },
    attach(next: Link): void {
      link = next;
    },
    detach(): void {
      link = null;
    },
    /** Whether this session is to be told. */
    wants({ intent, guildId }: Pick<WorldEvent, "intent" | "guildId">): boolean {
      if (intent !== 0 && !(intents & intent)) return false;
      const owner = guildId === null ? 0 : Number((BigInt(guildId) >> 22n) % BigInt(shard[1]));
      return owner === shard[0];
    },
    /** Sends an event, or keeps it for later. Member chunks are not kept: they are lost with their link. */
    dispatch(t: string, d: unknown): void {
      sequence += 1;
      const text = JSON.stringify({ op: 0, s: sequence, t, d });
      if (t !== "GUILD_MEMBERS_CHUNK") replay.push({ sequence, text, t });
      if (replay.length > replayLength) replay.shift();
      link?.send(text, { op: 0, t, d });
    },
    /** Whether everything after the client's last sequence is still there. */
    remembers(last: number): boolean {
      return replay.length < replayLength || (replay[0]?.sequence ?? 0) <= last + 1;
    },
    replayAfter(last: number): void {
      for (const entry of replay) if (entry.sequence > last) link?.send(entry.text, { op: 0, t: entry.t, d: undefined });
    },
    get sequence() {
      return sequence;
    },
  };
}
