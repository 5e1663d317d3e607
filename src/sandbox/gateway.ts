import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { GatewayCloseCodes, GatewayIntentBits, GatewayOpcodes, type GatewayReadyDispatchData } from "discord-api-types/v10";
import { WebSocketServer } from "ws";
import { createConnection, type Connection, type ConnectionHandlers } from "./gateway-connection.ts";
import { answerMemberRequest } from "./gateway-members.ts";
import { createSession, type Session } from "./gateway-session.ts";
import type { World } from "./model.ts";
import { guildCreatePayload } from "./payloads-guild.ts";
import { userPayload } from "./payloads.ts";
import type { Recorder } from "./recorder.ts";
import { textOf } from "./text.ts";

const privilegedIntents = GatewayIntentBits.GuildMembers | GatewayIntentBits.GuildPresences | GatewayIntentBits.MessageContent;
const knownIntents = Object.values(GatewayIntentBits).reduce<number>((sum, bit) => (typeof bit === "number" ? sum | bit : sum), 0);
/** Closes after which the session cannot be resumed. Source: Discord's table of gateway close codes, and 1000/1001 from the client. */
const endingCodes = new Set<number>([1000, 1001, 4003, 4004, 4007, 4009, 4010, 4011, 4012, 4013, 4014]);
const sessionsKept = 100;

export type Gateway = ReturnType<typeof createGateway>;

/** The gateway: sessions over WebSocket links. It listens to the world for as long as it lives. */
export function createGateway(options: {
  world: World;
  recorder: Recorder;
  url: () => string;
  heartbeatMs: number;
  memberRequestWindowMs: number;
}) {
  const { world, recorder, url, heartbeatMs, memberRequestWindowMs } = options;
  const sockets = new WebSocketServer({ noServer: true });
  const connections = new Set<Connection>();
  const sessions = new Map<string, Session>();

  const stopListening = world.listen((event) => {
    let data: unknown;
    for (const session of sessions.values()) if (session.wants(event)) session.dispatch(event.t, (data ??= event.data()));
  });

  function identify(connection: Connection, data: unknown): void {
    const { token, intents, shard } = (data ?? {}) as { token?: unknown; intents?: unknown; shard?: [number, number] };
    const { application } = world;
    if (token !== application.botToken) return connection.close(GatewayCloseCodes.AuthenticationFailed);
    if (typeof intents !== "number" || intents & ~knownIntents) return connection.close(GatewayCloseCodes.InvalidIntents);
    if (intents & privilegedIntents & ~application.privilegedIntents) return connection.close(GatewayCloseCodes.DisallowedIntents);
    const [number, count] = shard ?? [0, 1];
    if (!(count >= 1 && number >= 0 && number < count)) return connection.close(GatewayCloseCodes.InvalidShard);
    const session = createSession(intents, [number, count]);
    sessions.set(session.id, session);
    forgetOldest();
    connection.bind(session);
    welcome(session, [number, count]);
  }

  /** READY names the guilds only; each follows in an event of its own. */
  function welcome(session: Session, shard: [number, number]): void {
    const { bot, id } = world.application;
    const own = [...world.guilds.values()].filter((guild) => guild.members.has(bot.id) && session.wants({ intent: 0, guildId: guild.id }));
    session.dispatch("READY", {
      v: 10,
      user: { ...userPayload(bot), mfa_enabled: false, verified: true },
      guilds: own.map((guild) => ({ id: guild.id, unavailable: true })),
      session_id: session.id,
      resume_gateway_url: url(),
      shard,
      application: { id, flags: 0 as GatewayReadyDispatchData["application"]["flags"], flags_new: "0" },
    } satisfies GatewayReadyDispatchData);
    if (!(session.intents & GatewayIntentBits.Guilds)) return;
    for (const guild of own)
      if (guild.unavailable) session.dispatch("GUILD_DELETE", { id: guild.id, unavailable: true });
      else session.dispatch("GUILD_CREATE", guildCreatePayload(world, guild));
  }

  function resume(connection: Connection, data: unknown): void {
    const { token, session_id: id, seq } = (data ?? {}) as { token?: unknown; session_id?: unknown; seq?: unknown };
    if (token !== world.application.botToken) return connection.close(GatewayCloseCodes.AuthenticationFailed);
    const session = sessions.get(textOf(id));
    if (!session) return connection.send(GatewayOpcodes.InvalidSession, false);
    if (typeof seq !== "number" || seq > session.sequence) return connection.close(GatewayCloseCodes.InvalidSeq);
    if (!session.remembers(seq)) {
      sessions.delete(session.id);
      return connection.send(GatewayOpcodes.InvalidSession, false);
    }
    for (const other of connections) if (other.session === session) other.drop();
    connection.bind(session);
    session.replayAfter(seq);
    session.dispatch("RESUMED", {});
  }

  function forgetOldest(): void {
    for (const session of sessions.values()) {
      if (sessions.size <= sessionsKept) return;
      if (!session.link) sessions.delete(session.id);
    }
  }

  const handlers: ConnectionHandlers = {
    identify,
    resume,
    requestMembers(connection, data) {
      const { session } = connection;
      if (session) void answerMemberRequest(world, session, data, { windowMs: memberRequestWindowMs, ready: connection.ready });
    },
    closed(connection, code) {
      connections.delete(connection);
      if (connection.session && endingCodes.has(code)) sessions.delete(connection.session.id);
    },
  };

  return {
    connections,
    /** Open sessions, connected or waiting for their client to come back. */
    sessions,
    accept(request: IncomingMessage, socket: Duplex, head: Buffer): void {
      sockets.handleUpgrade(request, socket, head, (client) => {
        const version = new URL(request.url ?? "/", "ws://localhost").searchParams.get("v");
        if (version !== "10") return client.close(GatewayCloseCodes.InvalidAPIVersion);
        connections.add(createConnection(client, { heartbeatMs, now: world.now, recorder, handlers }));
      });
    },
    /** Ends all sessions, told with op 9 where a client is connected. */
    invalidate(resumable: boolean): void {
      if (!resumable) sessions.clear();
      for (const connection of connections) {
        connection.send(GatewayOpcodes.InvalidSession, resumable);
        connection.release();
      }
    },
    stop(): void {
      stopListening();
      for (const connection of connections) connection.drop();
      sockets.close();
    },
  };
}
