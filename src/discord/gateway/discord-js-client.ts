import { setTimeout as wait } from "node:timers/promises";
import type { GatewayIntentBits } from "discord-api-types/v10";
import { Client, DiscordAPIError, Options, type REST, RESTJSONErrorCodes, type WebSocketOptions } from "discord.js";
import { backOff } from "../../kernel/pause.ts";
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
