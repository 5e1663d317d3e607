import { say } from "../../kit/say.ts";
import type { GatewayDispatchEvents, GatewayIntentBits } from "discord-api-types/v10";
import {
  DiscordjsErrorCodes,
  Events,
  type Interaction,
  type WebSocketOptions,
  Client,
  DiscordAPIError,
  Options,
  type REST,
  RESTJSONErrorCodes,
} from "discord.js";
import type { Logger } from "pino";
import { fatalClose, tokenInstruction } from "./close-codes.ts";
import { adaptLibrary } from "./library.ts";
import { createGatewayPace, type IdentifyBudget } from "./identify-budget.ts";
import { waitAtMost, backOff } from "../../kernel/pause.ts";
import { safeError } from "../rest/errors.ts";
import { setTimeout as wait } from "node:timers/promises";
import { userAgentAppendix } from "../rest/rest.ts";

interface ClientOptions {
  apiBase: string;
  intents: readonly GatewayIntentBits[];
  ws: WebSocketOptions;
  /** The pause before the first repetition of an answer to an interaction. */
  repeatMs: number | undefined;
}

/** The client of discord.js. The database is the truth about members, so the library caches next to nothing. */
export function createClient({ apiBase, intents, ws, repeatMs }: ClientOptions): Client {
  const self = (thing: { id: string; client: Client }): boolean => thing.id === thing.client.user?.id;
  const client = new Client({
    intents,
    // This REST client answers interactions, which do not count towards Discord's global limit of fifty calls a second.
    rest: { api: apiBase, version: "10", timeout: 10_000, retries: 0, globalRequestsPerSecond: Infinity, userAgentAppendix },
    ws,
    allowedMentions: { parse: [] },
    makeCache: Options.cacheWithLimits({
      ...noCaches,
      GuildMemberManager: { maxSize: 200, keepOverLimit: self },
      UserManager: { maxSize: 500, keepOverLimit: self },
    }),
  });
  repeatAnswers(client.rest, repeatMs);
  return client;
}

const noCaches = {
  ApplicationCommandManager: 0,
  AutoModerationRuleManager: 0,
  BaseGuildEmojiManager: 0,
  GuildBanManager: 0,
  GuildEmojiManager: 0,
  GuildInviteManager: 0,
  GuildScheduledEventManager: 0,
  GuildStickerManager: 0,
  MessageManager: 0,
  PresenceManager: 0,
  ReactionManager: 0,
  ReactionUserManager: 0,
  StageInstanceManager: 0,
  ThreadManager: 0,
  ThreadMemberManager: 0,
  VoiceStateManager: 0,
} as const;

interface RetryRule {
  route: RegExp;
  attempts: number;
  /** The deadline of one attempt. */
  attemptMs: number;
  /** The time after which no further attempt begins. */
  endMs: number;
}

/** Discord takes the first answer to an interaction within three seconds, and edits and further messages within fifteen minutes. */
const answers: readonly RetryRule[] = [
  { route: /^\/interactions\//, attempts: 20, attemptMs: 2000, endMs: 2800 },
  { route: /^\/webhooks\//, attempts: 20, attemptMs: 10_000, endMs: 420_000 },
];

/** The maximum pause as a multiple of the first: half a minute. */
const maxFactor = 300;

/**
 * Makes the library repeat failed answers to interactions with pauses, as long as Discord still takes them. A refusal of Discord is final.
 * The library waits for rate limits itself; its other call, for the gateway's address, is repeated by the connection.
 * @param firstMs pause before the first repetition; doubles with each
 */
function repeatAnswers(rest: REST, firstMs = 100): void {
  const once = rest.request.bind(rest);
  rest.request = async (request) => {
    const rule = answers.find(({ route }) => route.test(request.fullRoute));
    if (rule === undefined) return once(request);
    const { attempts, attemptMs, endMs } = rule;
    const end = performance.now() + endMs;
    for (let tried = 1; ; tried += 1) {
      try {
        return await once({ ...request, signal: AbortSignal.timeout(attemptMs) });
      } catch (error) {
        if (tried > 1 && isTaken(error)) return undefined;
        const pauseMs = backOff(tried, { firstMs, mostMs: firstMs * maxFactor });
        if (error instanceof DiscordAPIError || tried >= attempts || performance.now() + pauseMs > end) throw error;
        await wait(pauseMs, undefined, { ref: false });
      }
    }
  };
}

/** Whether Discord took an earlier attempt whose answer was lost. */
function isTaken(error: unknown): boolean {
  return error instanceof DiscordAPIError && error.code === RESTJSONErrorCodes.InteractionHasAlreadyBeenAcknowledged;
}

/** Why a session ended. A fatal end comes with an instruction for the operator; otherwise another session may be tried. */
interface SessionEnd {
  isFatal: boolean;
  reason: string;
  /** Only waiting helps: the session starts of the day are nearly used up. */
  isExhausted?: boolean;
}

export interface SessionHooks {
  /** The session is connected, and Discord has named every guild of the bot. */
  onReady(): void;
  /** The link broke; `failures` counts the failed attempts in a row. */
  onReconnecting(failures: number): void;
  onHeartbeat(at: Date): void;
  onDispatch(dispatch: GatewayDispatchEvents, data: unknown): void;
  onInteraction(interaction: Interaction): void;
  /** The library failed at a packet of the gateway; the link goes on. */
  onFault(error: unknown, packet: unknown): void;
}

interface SessionOptions {
  apiBase: string;
  token: string;
  logger: Logger;
  loginDeadlineMs: number;
  budget: IdentifyBudget;
  reconnectMs?: number | undefined;
  repeatMs?: number | undefined;
  intents: readonly GatewayIntentBits[];
  /** The events to hand on. */
  dispatches: readonly GatewayDispatchEvents[];
  hooks: SessionHooks;
}

export interface GatewaySession {
  /** Logs in, and resolves when the session cannot go on; until then the library reconnects by itself. */
  run(): Promise<SessionEnd>;
  requestMembers(guildId: string, nonce: string): void;
  pingMs(): number | undefined;
  stop(): Promise<void>;
}

const exhausted: SessionEnd = {
  isFatal: false,
  reason: say("discord.the-session-starts-discord-allows-in-a"),
  isExhausted: true,
};

/** The time-out of the library for closing its sockets. */
const destroyMs = 2000;
/** A session without a link for this long is replaced by a new one. */
const hopelessMs = 600_000;

/** One session with the gateway, by a client of discord.js of its own. */
export function createGatewaySession({
  apiBase,
  token,
  logger,
  loginDeadlineMs,
  budget,
  reconnectMs,
  repeatMs,
  intents,
  dispatches,
  hooks,
}: SessionOptions): GatewaySession {
  const pace = createGatewayPace(reconnectMs);
  const library = adaptLibrary({
    beforeAttempt: () => pace.beforeAttempt(),
    onHello: () => pace.hello(),
    onClosed: () => pace.closed(),
    onUp: () => pace.up(),
    onHeartbeat: (at) => hooks.onHeartbeat(at),
    onFault: (error, packet) => hooks.onFault(error, packet),
    onMissing: (part) => logger.error({ part }, "discord.js has changed: the link works without this part of its supervision; report it"),
  });
  const buildIdentifyThrottler: WebSocketOptions["buildIdentifyThrottler"] = (manager) => budget.throttler(manager, () => end(exhausted));
  const client = createClient({ apiBase, intents, ws: { ...library.ws, buildIdentifyThrottler }, repeatMs });
  library.guard(client);
  let end: (reason: SessionEnd) => void = () => undefined;
  const ended = new Promise<SessionEnd>((resolve) => (end = resolve));
  let deadline: NodeJS.Timeout | undefined;

  const endBy = (ms: number, reason: string): void => {
    deadline ??= setTimeout(() => end({ isFatal: false, reason }), ms).unref();
  };
  const ready = (): void => {
    clearTimeout(deadline);
    deadline = undefined;
    hooks.onReady();
  };
  const log = (error: unknown): void => logger[isClosedForGood(error) ? "debug" : "warn"]({ err: safeError(error) }, "Discord client");

  client.on(Events.Error, log);
  client.on(Events.ShardError, log);
  client.on(Events.Warn, log);
  client.on(Events.ShardReady, ready);
  client.on(Events.ShardResume, ready);
  client.on(Events.ShardReconnecting, () => {
    endBy(hopelessMs, say("discord.discords-gateway-did-not-come-back"));
    hooks.onReconnecting(pace.failures());
  });
  client.on(Events.ShardDisconnect, ({ code }) => end({ isFatal: true, reason: fatalClose(code) }));
  client.on(Events.InteractionCreate, (interaction) => hooks.onInteraction(interaction));
  for (const name of dispatches) client.ws.on(name, (data: unknown) => hooks.onDispatch(name, data));

  return {
    run() {
      endBy(loginDeadlineMs, say("discord.discord-did-not-answer-in-time"));
      client.login(token).catch(async (error: unknown) => {
        if (isTokenRefused(error)) return end({ isFatal: true, reason: tokenInstruction });
        log(error);
        end((await library.isOutOfSessions()) ? exhausted : { isFatal: false, reason: say("discord.discord-cannot-be-reached") });
      });
      return ended;
    },
    requestMembers(guildId, nonce) {
      library.send(0, { op: 8, d: { guild_id: guildId, query: "", limit: 0, nonce } }).catch((error: unknown) => {
        logger.warn({ err: safeError(error) }, "Discord gateway: a message was not sent");
      });
    },
    pingMs() {
      const ping = client.ws.ping;
      return ping >= 0 ? Math.round(ping) : undefined;
    },
    async stop() {
      clearTimeout(deadline);
      client.ws.removeAllListeners();
      client.removeAllListeners();
      client.on(Events.Error, () => undefined);
      // The library's loop of attempts outlives its own `destroy`, and so do sockets that are still connecting.
      pace.stop();
      const sockets = library.sockets();
      await waitAtMost(
        destroyMs,
        client.destroy().catch(() => undefined),
      );
      sockets.terminate();
    },
  };
}

/** Whether a login failed because Discord does not know the token; other fatal refusals come as a close code. */
function isTokenRefused(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === DiscordjsErrorCodes.TokenInvalid;
}

/** Whether the library tells of a close code for which there is an instruction: the operator reads that one line. */
function isClosedForGood(error: unknown): boolean {
  const told =
    /^(Authentication failed|Invalid shard|Sharding is required|Used (an invalid API version|invalid intents|disallowed intents))$/;
  return error instanceof Error && told.test(error.message);
}
