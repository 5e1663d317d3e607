import { say } from "../../kit/say.ts";
import type { Logger } from "pino";
import type { Clock } from "../../kernel/clock.ts";
import type { DiscordStatus } from "../../kernel/discord-port.ts";
import type { GuildFeed } from "../guild/create-guild-state.ts";
import { createMemberSource } from "../guild/member-read.ts";
import { createDispatcher, type InteractionHandlers } from "../interactions/dispatcher.ts";
import type { ServedGuilds } from "../guild-state.ts";
import { backOff, pause, waitAtMost } from "../../kernel/pause.ts";
import { createRegistration } from "../registration/registration.ts";
import type { DiscordRest } from "../rest/rest.ts";
import { createIdentifyBudget, maxAwayMs, type BuildThrottler } from "./identify-budget.ts";
import { createListenerTable, type EventFaults, type GatewayListener } from "./listeners.ts";
import type { GatewaySession, SessionHooks } from "./session.ts";

/** What the bot does with interactions and events; handed in once, when the services exist. */
export interface ServeOptions extends InteractionHandlers {
  /** The guild state that the connection feeds. */
  guildState: { feed: GuildFeed };
  /** Further rows of the listener table. */
  listeners?: readonly GatewayListener[];
}

export interface ConnectionOptions {
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
export function createConnection(options: ConnectionOptions & ConnectionDeps, serving: ServeOptions) {
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
    const { createGatewaySession } = await import("./session.ts");
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

export type Connection = ReturnType<typeof createConnection>;

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}

type ConnectionStatus = ReturnType<typeof createStatus>;

/** Follows the shard events: the library's own readiness stays true during an outage and after a permanent refusal. */
export function createStatus(clock: Clock) {
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
