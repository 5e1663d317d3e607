import { Client, GatewayIntentBits, Options, type WebSocketOptions } from "discord.js";
import { repeatAnswers } from "./repeat-answers.ts";
import { userAgentAppendix } from "./user-agent.ts";

/**
 * The database is the truth about members, so the library keeps next to nothing.
 * @param repeatMs pause before the first repetition of a failed call
 */
export function createClient(apiBase: string, ws: WebSocketOptions, repeatMs?: number): Client {
  const self = (thing: { id: string; client: Client }): boolean => thing.id === thing.client.user?.id;
  const client = new Client({
    intents: [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMembers],
    // This one answers interactions, which Discord's global limit of fifty calls a second does not count; the library would wait all the same.
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
