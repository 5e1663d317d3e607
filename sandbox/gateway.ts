import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import {
  GatewayCloseCodes,
  GatewayIntentBits,
  GatewayOpcodes,
  type GatewayReadyDispatchData,
  type GatewayRateLimitedDispatchData,
} from "discord-api-types/v10";
import { WebSocketServer } from "ws";
import { createConnection, createSession, type Connection, type ConnectionHandlers, type Session } from "./gateway-connection.ts";
import type { World, Guild, Member } from "./model.ts";
import { guildCreatePayload } from "./payloads-guild.ts";
import { userPayload, memberChunk } from "./payloads.ts";
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

const chunkSize = 1000;

type Request = { guild_id?: unknown; query?: unknown; limit?: unknown; user_ids?: unknown; nonce?: unknown };

/**
 * Answers "request guild members" (op 8) with chunks of exactly 1,000, one per turn of the event loop.
 * The full list is given once per guild, session and window; sooner requests get RATE_LIMITED.
 * @param windowMs the window in milliseconds
 * @param ready settles when the link can take more
 */
export async function answerMemberRequest(
  world: World,
  session: Session,
  data: unknown,
  { windowMs, ready }: { windowMs: number; ready: () => Promise<void> },
): Promise<void> {
  const request = (data ?? {}) as Request;
  const guild = world.guilds.get(textOf(request.guild_id));
  if (!guild?.members.has(world.application.bot.id) || guild.unavailable) return;
  const nonce = typeof request.nonce === "string" && request.nonce.length <= 32 ? request.nonce : undefined;
  const whole = request.user_ids === undefined && request.query === "" && request.limit === 0;
  if (whole) {
    if (!(session.intents & GatewayIntentBits.GuildMembers)) return;
    const wait = (session.memberRequests.get(guild.id) ?? -Infinity) + windowMs - world.now();
    if (wait > 0) {
      session.dispatch("RATE_LIMITED", limited(guild, wait / 1000, nonce));
      return;
    }
    session.memberRequests.set(guild.id, world.now());
    await streamAll(session, guild, nonce, ready);
    return;
  }
  const { members, notFound } = select(guild, request);
  const part = { index: 0, count: 1, ...(nonce !== undefined && { nonce }), ...(notFound && { notFound }) };
  session.dispatch("GUILD_MEMBERS_CHUNK", memberChunk(guild, members, part));
}

const limited = (guild: Guild, seconds: number, nonce: string | undefined) =>
  ({
    opcode: GatewayOpcodes.RequestGuildMembers,
    retry_after: seconds,
    meta: { guild_id: guild.id, ...(nonce !== undefined && { nonce }) },
  }) satisfies GatewayRateLimitedDispatchData;

async function streamAll(session: Session, guild: Guild, nonce: string | undefined, ready: () => Promise<void>): Promise<void> {
  const { link } = session;
  const count = Math.max(1, Math.ceil(guild.members.size / chunkSize));
  let after = "0";
  for (let index = 0; index < count; index++) {
    await ready();
    // A client that went away does not get the rest when it comes back.
    if (session.link !== link) return;
    const members = guild.members.page(after, chunkSize);
    after = members.at(-1)?.user.id ?? after;
    const part = { index, count, ...(nonce !== undefined && { nonce }) };
    session.dispatch("GUILD_MEMBERS_CHUNK", memberChunk(guild, members, part));
  }
}

/** By ids (at most 100, the missing ones named) or by the start of a name (at most 100). */
function select(guild: Guild, request: Request): { members: Member[]; notFound?: string[] } {
  if (request.user_ids !== undefined) {
    const ids = [request.user_ids].flat().slice(0, chunkSize / 10) as string[];
    const members = ids.map((id) => guild.members.get(id)).filter((member) => member !== undefined);
    return { members, notFound: ids.filter((id) => !guild.members.has(id)) };
  }
  const limit = typeof request.limit === "number" ? Math.min(request.limit, 100) : 0;
  if (typeof request.query !== "string" || limit < 1) return { members: [] };
  return { members: guild.members.search(request.query, limit) };
}
