import type { Logger } from "pino";
import type { Actor } from "../kernel/call.ts";
import { systemClock, type Clock } from "../kernel/clock.ts";
import type { Denial, NoteDenied } from "../kernel/denied.ts";
import type { DiscordActions } from "../kernel/discord-action.ts";
import { createDiscordActions } from "./actions.ts";
import type { Command, Control } from "./command.ts";
import { type AttachmentSource, createAttachments } from "./attachments.ts";
import { createStatus, type DiscordStatus } from "./connection-status.ts";
import type { GuildFeed } from "./guild-feed.ts";
import { createDispatcher } from "./dispatcher.ts";
import { createEventFaults, type EventFaults } from "./event-faults.ts";
import { tokenInstruction } from "./gateway-fatal.ts";
import { longestAwayMs } from "./gateway-pace.ts";
import { createGatewaySession, type GatewaySession, type SessionListener } from "./gateway-session.ts";
import { guildDispatchSchemas, type GuildDispatchName } from "./guild-dispatches.ts";
import { createIdentifyBudget, type BuildThrottler } from "./identify-budget.ts";
import { createMemberSource } from "./member-source.ts";
import { createMessages, type MessageSource } from "./messages.ts";
import { pause } from "./pause.ts";
import { createRegistration } from "./registration.ts";
import { createDiscordRest, type DiscordRest } from "./rest.ts";
import type { Words } from "./words.ts";

export interface DiscordOptions {
  /** With the `/api` part and without a slash at the end, as the configuration has checked it. */
  apiBase: string;
  token: string;
  clientId: string;
  /** The guilds whose commands are answered; empty: every guild the bot is in. */
  guildIds: readonly string[];
  logger: Logger;
  clock?: Clock;
  /** Time for one login to become ready; default 60,000. */
  loginDeadlineMs?: number;
  /** First pause after a failed login; doubles up to 6 s, or to a minute where only time helps; default 1,000. */
  retryMs?: number;
  /** First pause before another attempt; doubles up to 6 s while nobody answers, up to 30 s while links break at once; default 500. */
  reconnectMs?: number;
  /** What keeps session starts apart; the library's own, with five seconds, unless told. */
  buildThrottler?: BuildThrottler;
  /** As {@link createDiscordRest} takes it; default 3,000. */
  lookUpRestMs?: number;
  /** Time for one look-up of a person; default 2,500. */
  lookUpMs?: number;
  /** Pause before the first repetition of a failed call; doubles with each. Default 250, of answers 100. */
  repeatMs?: number;
  commands: readonly Command[];
  /** Whether Discord's list of commands is brought in line with ours at the start; default true. */
  registersCommands?: boolean;
  /** What buttons, menus and forms do. */
  controls?: readonly Control[];
  /** What the door says, by language as Discord names it; English unless told. */
  wordsIn?: (language: string) => Words;
  /** The person behind an interaction, with their standing. */
  actorOf(userId: string): Promise<Actor> | Actor;
  /** Told about every command that was refused for lack of rights. */
  noteDenied?: NoteDenied;
  /** What a refusal was about, where the verbs behind the commands know it. */
  denialOf?: (error: unknown) => Denial | undefined;
  guildState: { feed: GuildFeed };
}

export interface Discord {
  /** Begins to connect and returns at once; never throws, and tries again until `stop` or a refusal for good. */
  start(): void;
  /** Ends the link; afterwards nothing keeps the process alive or writes. */
  stop(): Promise<void>;
  status(): DiscordStatus;
  /** What Discord said and nobody could make sense of. */
  eventFaults(): ReturnType<EventFaults["state"]>;
  /** Calls with the bot's token, with deadlines and refusals of the closed registry. */
  rest: DiscordRest;
  /** Messages the bot sees, and what is attached to them. */
  messages: MessageSource;
  attachments: AttachmentSource;
  /** What the bot does to members and says to people. */
  actions: DiscordActions;
}

/** How long running commands may still answer when the service stops. */
const answerMs = 3000;

/** The link to Discord: gateway, calls, slash commands. Whatever happens to it, the process goes on. */
export function createDiscord(options: DiscordOptions): Discord {
  const { apiBase, token, clientId, logger, clock = systemClock, loginDeadlineMs = 60_000, retryMs = 1000, reconnectMs } = options;
  const { feed } = options.guildState;
  const rest = createDiscordRest({ apiBase, token, logger, lookUpRestMs: options.lookUpRestMs, repeatMs: options.repeatMs });
  const registration = createRegistration({ rest, clientId, payloads: options.commands.map(({ payload }) => payload), logger });
  const dispatcher = createDispatcher(options);
  const stopping = new AbortController();
  const status = createStatus(clock);
  const budget = createIdentifyBudget(options.buildThrottler);
  const faults = createEventFaults({ logger, clock });
  let session: GatewaySession | undefined;
  let loop: Promise<void> | undefined;

  feed.attach(createMemberSource(rest, (guildId, nonce) => session?.requestMembers(guildId, nonce), options.lookUpMs));

  const listener: SessionListener = {
    onReady() {
      status.set("ready");
      if (options.registersCommands !== false) registration.start();
    },
    onReconnecting(failures) {
      feed.lost();
      status.lost(failures);
    },
    onHeartbeat: (at) => feed.alive(at),
    onDispatch(name, data) {
      try {
        feed.handle(name, data);
      } catch (error) {
        feed.doubt(faults.note(error, { t: name, d: data }));
      }
    },
    onInteraction: (interaction) => void dispatcher.handle(interaction),
    onFault: (error, packet) => void faults.note(error, packet),
  };

  const connect = async (): Promise<void> => {
    for (let failures = 0; !stopping.signal.aborted;) {
      const readyBefore = status.readyCount();
      session = createGatewaySession({
        apiBase,
        token,
        logger,
        loginDeadlineMs,
        budget,
        reconnectMs,
        repeatMs: options.repeatMs,
        dispatches: Object.keys(guildDispatchSchemas) as GuildDispatchName[],
        listener,
      });
      const end = await Promise.race([session.run(), aborted(stopping.signal)]);
      feed.lost();
      await session.stop();
      if (end === undefined) return;
      status.set(end.isFatal ? "fatal" : "down", end.reason);
      logger.error({ reason: end.reason }, end.isFatal ? "Discord: refused for good" : "Discord: not connected; trying again");
      if (end.isFatal) return;
      failures = status.readyCount() > readyBefore ? 1 : failures + 1;
      const longestMs = end.isExhausted === true ? 60_000 : longestAwayMs;
      await pause(Math.min(longestMs, retryMs * 2 ** (failures - 1)) * (0.75 + Math.random() / 2), stopping.signal);
    }
  };

  return {
    rest,
    eventFaults: () => faults.state(),
    messages: createMessages({ rest, guildIds: options.guildIds }),
    attachments: createAttachments({ apiBase }),
    actions: createDiscordActions({ rest, guildIds: options.guildIds, logger, clock }),
    start() {
      loop ??= connect().catch((error: unknown) => {
        status.set("fatal", "The link to Discord failed unexpectedly; see the log, then restart.");
        logger.error({ err: error }, "Discord: the connection loop failed");
      });
    },
    async stop() {
      stopping.abort();
      registration.stop();
      const answered = new AbortController();
      await Promise.race([dispatcher.idle(), pause(answerMs, answered.signal)]);
      answered.abort();
      await loop;
      await feed.stop();
      rest.stop();
    },
    status() {
      const pingMs = session?.pingMs();
      const now: DiscordStatus = { ...status.now(), ...(pingMs !== undefined && { pingMs }) };
      return rest.isTokenRefused() && now.state !== "fatal" ? { ...now, state: "down", reason: tokenInstruction } : now;
    },
  };
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}
