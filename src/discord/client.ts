import { systemClock, type Clock } from "../kernel/clock.ts";
import type { DiscordPort, DiscordStatus, SentBans } from "../kernel/discord-port.ts";
import { createDiscordActions, createAttachments } from "./rest/attachments.ts";
import { tokenInstruction } from "./gateway/close-codes.ts";
import { createCommandIds, type CommandIds } from "./registration/command-ids.ts";
import { createEventFaults, type EventFaults, createListenerTable, type GatewayListener } from "./gateway/listeners.ts";
import { createMessages } from "./rest/messages.ts";
import { createDiscordRest, type DiscordRest } from "./rest/rest.ts";
import { say } from "../kit/say.ts";
import type { Logger } from "pino";
import type { GuildFeed } from "./guild/create-guild-state.ts";
import { createMemberSource } from "./guild/member-read.ts";
import { createDispatcher, type InteractionHandlers } from "./interactions/dispatcher.ts";
import type { ServedGuilds } from "./guild-state.ts";
import { backOff, pause, waitAtMost } from "../kernel/pause.ts";
import { createIdentifyBudget, maxAwayMs, type BuildThrottler } from "./gateway/identify-budget.ts";
import type { GatewaySession, SessionHooks } from "./gateway/session.ts";
import type { RESTPostAPIApplicationCommandsJSONBody } from "discord.js";
import { ProblemError } from "../kernel/errors.ts";
import { labelOf, payloadOf } from "./registration/compare.ts";
import { createCommandList, commandRefusal } from "./registration/list.ts";
import { safeError } from "./rest/errors.ts";

interface RegistrationOptions {
  rest: DiscordRest;
  clientId: string;
  payloads: readonly RESTPostAPIApplicationCommandsJSONBody[];
  logger: Logger;
  /** The first pause after a failure; doubles up to 10 min. */
  retryMs?: number;
}

interface Registration {
  /** Update Discord's list of commands, once; repeated until it works, or until Discord refuses the commands. */
  start(): void;
  isDone(): boolean;
  stop(): void;
}

/** Registers the commands when the service connects. Only differences are sent, so a second service with the same list changes nothing. */
export function createRegistration({ rest, clientId, payloads, logger, retryMs = 30_000 }: RegistrationOptions): Registration {
  const stopping = new AbortController();
  const commands = createCommandList({ rest, clientId, callMs: 30_000, signal: stopping.signal });
  const wanted = payloads.map((payload) => payloadOf(payload));
  let state: "idle" | "running" | "done" | "stopped" = "idle";
  let timer: NodeJS.Timeout | undefined;

  const register = async (): Promise<void> => {
    const difference = await commands.difference(wanted);
    if (difference.changes.length === 0) return;
    await commands.send(wanted, difference);
    logger.info({ changed: difference.changes.map(labelOf) }, "slash commands registered");
  };

  const attempt = (failures: number): void => {
    register().then(
      () => {
        if (state === "running") state = "done";
      },
      (error: unknown) => {
        const refusal = commandRefusal(error);
        if (refusal !== undefined) {
          logger.error(refusal, "Discord refused the slash commands; they stay as they were until the service is started again");
          return;
        }
        const problem = error instanceof ProblemError ? error : undefined;
        logger.warn({ err: safeError(problem?.cause ?? error) }, "slash commands could not be registered; trying again");
        if (state !== "running") return;
        const retryAfterMs = (problem?.retryAfter ?? 0) * 1000;
        const leastMs = Math.min(86_400_000, retryAfterMs);
        timer = setTimeout(() => attempt(failures + 1), backOff(failures, { firstMs: retryMs, mostMs: 600_000, leastMs })).unref();
      },
    );
  };

  return {
    start() {
      if (state !== "idle") return;
      state = "running";
      attempt(1);
    },
    isDone: () => state === "done",
    stop() {
      state = "stopped";
      stopping.abort();
      clearTimeout(timer);
    },
  };
}

/** What the bot does with interactions and events; handed in once, when the services exist. */
export interface ServeOptions extends InteractionHandlers {
  /** The guild state that the connection feeds. */
  guildState: { feed: GuildFeed };
  /** Further rows of the listener table. */
  listeners?: readonly GatewayListener[];
}

interface ConnectionOptions {
  /** With the `/api` part and without a slash at the end, as the configuration has checked it. */
  apiBase: string;
  token: string;
  clientId: string;
  /** The guilds whose commands are answered and whose events count. */
  served: ServedGuilds;
  logger: Logger;
  /** The time for one login to become ready; default 60,000. */
  loginDeadlineMs?: number;
  /** The first pause after a failed login; doubles up to 6 s, or a minute if the session starts are used up; default 1,000. */
  retryMs?: number;
  /** The first pause before another attempt; doubles up to 6 s while nobody answers, up to 30 s while links break at once; default 500. */
  reconnectMs?: number;
  /** Spaces out session starts; the library's own by default, with five seconds. */
  buildThrottler?: BuildThrottler;
  /** The time for one look-up of a person; default 2,500. */
  lookUpMs?: number;
  /** The pause before the first repetition of a failed call; doubles with each. Default 250, for answers to interactions 100. */
  repeatMs?: number;
  /** Whether the start registers the commands with Discord; default true. */
  registersCommands?: boolean;
}

interface ConnectionDeps {
  rest: DiscordRest;
  status: ConnectionStatus;
  faults: EventFaults;
}

/** The time in which running commands may still answer when the service stops. */
const answerMs = 3000;

/** The link to Discord's gateway, with everything that answers its events. Whatever happens to it, the process goes on. */
function createConnection(options: ConnectionOptions & ConnectionDeps, serving: ServeOptions): Connection {
  const { apiBase, token, clientId, served, logger, rest, status, faults } = options;
  const { loginDeadlineMs = 60_000, retryMs = 1000, reconnectMs, repeatMs } = options;
  const { feed } = serving.guildState;
  const registration = createRegistration({ rest, clientId, payloads: serving.commands.map(({ payload }) => payload), logger });
  const dispatcher = createDispatcher({ ...serving, served, logger });
  const table = createListenerTable({ listeners: [...feed.listeners, ...(serving.listeners ?? [])], served, faults });
  const { intents, dispatches } = table;
  const stopping = new AbortController();
  const budget = createIdentifyBudget(options.buildThrottler);
  let session: GatewaySession | undefined;
  let loop: Promise<void> | undefined;

  feed.attach(createMemberSource(rest, (guildId, nonce) => session?.requestMembers(guildId, nonce), options.lookUpMs));

  const hooks: SessionHooks = {
    onReady() {
      status.set("ready");
      if (options.registersCommands !== false) registration.start();
    },
    onReconnecting(failures) {
      feed.lost();
      status.lost(failures);
    },
    onHeartbeat: (at) => feed.alive(at),
    onDispatch(dispatch, data) {
      table.deliver(dispatch, data);
      feed.alive();
    },
    onInteraction: (interaction) => void dispatcher.handle(interaction),
    onFault: (error, packet) => void faults.note(error, packet),
  };

  const connect = async (): Promise<void> => {
    const { createGatewaySession } = await import("./gateway/session.ts");
    for (let failures = 0; !stopping.signal.aborted;) {
      const readyBefore = status.readyCount();
      session = createGatewaySession({
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
      });
      const end = await Promise.race([session.run(), aborted(stopping.signal)]);
      feed.lost();
      await session.stop();
      if (end === undefined) return;
      status.set(end.isFatal ? "fatal" : "down", end.reason);
      logger.error(
        { reason: end.reason },
        end.isFatal
          ? "the bot is not connected to Discord, and tries again only after a restart; HTTP goes on"
          : "the bot is not connected to Discord, and tries again by itself",
      );
      if (end.isFatal) return;
      failures = status.readyCount() > readyBefore ? 1 : failures + 1;
      const maxMs = end.isExhausted === true ? 60_000 : maxAwayMs;
      await pause(backOff(failures, { firstMs: retryMs, mostMs: maxMs }), stopping.signal);
    }
  };

  return {
    pingMs: () => session?.pingMs(),
    start(): void {
      loop ??= connect().catch((error: unknown) => {
        status.set("fatal", say("discord.the-link-to-discord-failed-unexpectedly-see"));
        logger.error({ err: error }, "Discord: the connection loop failed");
      });
    },
    async stop(): Promise<void> {
      stopping.abort();
      registration.stop();
      await waitAtMost(answerMs, dispatcher.idle());
      await loop;
      await feed.stop();
    },
  };
}

interface Connection {
  pingMs(): number | undefined;
  start(): void;
  stop(): Promise<void>;
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}

interface ConnectionStatus {
  set(state: DiscordStatus["state"], reason?: string): void;
  now(): DiscordStatus;
  readyCount(): number;
  lost(failures: number): void;
}

/** Follows the shard events: the library's own readiness stays true during an outage and after a permanent refusal. */
function createStatus(clock: Clock): ConnectionStatus {
  let now: DiscordStatus = { state: "connecting", since: clock.now(), reconnects: 0 };
  let readyCount = 0;
  const set = (state: DiscordStatus["state"], reason?: string): void => {
    if (state === "ready") readyCount += 1;
    const since = state === now.state ? now.since : clock.now();
    now = { state, since, reconnects: now.reconnects, ...(reason !== undefined && { reason }) };
  };
  return {
    set,
    now: () => now,
    readyCount: () => readyCount,
    lost(failures: number): void {
      if (now.state === "ready") now = { ...now, reconnects: now.reconnects + 1 };
      if (readyCount === 0) return set("connecting");
      set(failures <= 2 ? "resuming" : "down", failures <= 2 ? undefined : say("discord.discords-gateway-cannot-be-reached-trying-again"));
    },
  };
}

export interface DiscordOptions extends ConnectionOptions {
  clock?: Clock;
  /** As {@link createDiscordRest} takes it; default 3,000. */
  lookUpRestMs?: number;
}

export interface Discord extends DiscordPort {
  rest: DiscordRest;
  /** The ids of the registered slash commands, with which a message shows a command that can be pressed. */
  commandIds: CommandIds;
  /** Which bans and their ends are the bot's own. */
  sentBans: SentBans;
  /** Set what answers interactions and gateway events; once, before `start`. */
  serve(options: ServeOptions): void;
  /** Begins to connect and returns at once; never throws once served, and tries again until `stop` or a permanent refusal. */
  start(): void;
  /** Ends the link to the gateway; what is asked of Discord by HTTP goes on. */
  disconnect(): Promise<void>;
  /** Ends everything; afterwards nothing keeps the process alive or writes. */
  stop(): Promise<void>;
  /** Gateway events that could not be read or handled. */
  eventFaults(): ReturnType<EventFaults["state"]>;
}

/**
 * The bot. Calls, messages, attachments and actions work from the start, so that services can be given them; the gateway is connected
 * by `serve` and `start`, when the services exist.
 */
export function createDiscord(options: DiscordOptions): Discord {
  const { apiBase, token, clientId, served, logger, clock = systemClock, lookUpRestMs, repeatMs } = options;
  const rest = createDiscordRest({ apiBase, token, logger, clock, lookUpRestMs, repeatMs });
  const status = createStatus(clock);
  const faults = createEventFaults({ logger, clock });
  const { sent: sentBans, ...actions } = createDiscordActions({ rest, served, logger, clock });
  let connection: Connection | undefined;
  const disconnect = async (): Promise<void> => connection?.stop();

  return {
    rest,
    commandIds: createCommandIds(rest, clientId, clock),
    messages: createMessages({ rest, served, apiBase }),
    attachments: createAttachments({ apiBase }),
    actions,
    sentBans,
    eventFaults: () => faults.state(),
    status() {
      const pingMs = connection?.pingMs();
      const now: DiscordStatus = { ...status.now(), ...(pingMs !== undefined && { pingMs }) };
      return rest.isTokenRefused() && now.state !== "fatal" ? { ...now, state: "down", reason: tokenInstruction } : now;
    },
    serve(serving) {
      if (connection !== undefined) throw new Error("Discord is served already");
      connection = createConnection({ ...options, rest, status, faults }, serving);
    },
    start() {
      if (connection === undefined) throw new Error("Discord has to be served before it is started");
      connection.start();
    },
    disconnect,
    async stop() {
      await disconnect();
      rest.stop();
    },
  };
}
