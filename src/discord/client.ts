import { systemClock, type Clock } from "../kernel/clock.ts";
import type { DiscordPort, DiscordStatus, SentBans } from "../kernel/discord-port.ts";
import { createDiscordActions, createAttachments } from "./rest/attachments.ts";
import { createConnection, createStatus, type Connection, type ConnectionOptions, type ServeOptions } from "./gateway/connection.ts";
import { tokenInstruction } from "./gateway/close-codes.ts";
import { createCommandIds, type CommandIds } from "./registration/command-ids.ts";
import { createEventFaults, type EventFaults } from "./gateway/listeners.ts";
import { createMessages } from "./rest/messages.ts";
import { createDiscordRest, type DiscordRest } from "./rest/rest.ts";

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
