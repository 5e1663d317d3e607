import { setImmediate as nextTurn } from "node:timers/promises";
import { GatewayCloseCodes, GatewayOpcodes } from "discord-api-types/v10";
import type { WebSocket } from "ws";
import type { Link, Session } from "./gateway-session.ts";
import type { Recorder } from "./recorder.ts";

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
