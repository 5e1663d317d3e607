import { Events, type Interaction, type WebSocketOptions } from "discord.js";
import type { Logger } from "pino";
import { createClient } from "./gateway-client.ts";
import { fatalClose, isTokenRefused, tokenInstruction } from "./gateway-fatal.ts";
import { adaptLibrary } from "./gateway-library.ts";
import { createGatewayPace } from "./gateway-pace.ts";
import type { IdentifyBudget } from "./identify-budget.ts";
import type { GuildDispatchName } from "./guild-dispatches.ts";
import { pause } from "./pause.ts";
import { safeError } from "./rest-errors.ts";

/** Why a session ended: for good, with an instruction, or so that another may be tried. */
export interface SessionEnd {
  isFatal: boolean;
  reason: string;
  /** Nothing but time helps: trying often costs what is short already. */
  isExhausted?: boolean;
}

export interface SessionListener {
  /** Connected, and every guild of the bot has been told. */
  onReady(): void;
  /** The link broke; `failures` counts attempts in vain. */
  onReconnecting(failures: number): void;
  onHeartbeat(at: Date): void;
  onDispatch(name: GuildDispatchName, data: unknown): void;
  onInteraction(interaction: Interaction): void;
  /** The library failed at something the gateway said; the link goes on. */
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
  /** The dispatches to hand on. */
  dispatches: readonly GuildDispatchName[];
  listener: SessionListener;
}

export interface GatewaySession {
  /** Logs in and lives until the session cannot go on; the library reconnects by itself meanwhile. */
  run(): Promise<SessionEnd>;
  requestMembers(guildId: string, nonce: string): void;
  pingMs(): number | undefined;
  stop(): Promise<void>;
}

const exhausted: SessionEnd = {
  isFatal: false,
  reason: "The session starts Discord allows in a day are nearly used up; the link waits for the next day.",
  isExhausted: true,
};

/** How long the library may take to close its sockets. */
const destroyMs = 2000;
/** A session that has been without a link for this long is given up for a new one. */
const hopelessMs = 600_000;

export function createGatewaySession({
  apiBase,
  token,
  logger,
  loginDeadlineMs,
  budget,
  reconnectMs,
  repeatMs,
  dispatches,
  listener,
}: SessionOptions): GatewaySession {
  const pace = createGatewayPace(reconnectMs);
  const library = adaptLibrary({
    beforeAttempt: () => pace.turn(),
    onHello: () => pace.hello(),
    onClosed: () => pace.closed(),
    onUp: () => pace.up(),
    onHeartbeat: (at) => listener.onHeartbeat(at),
    onFault: (error, packet) => listener.onFault(error, packet),
    onMissing: (part) => logger.error({ part }, "discord.js has changed: the link works without this part of its supervision; report it"),
  });
  const buildIdentifyThrottler: WebSocketOptions["buildIdentifyThrottler"] = (manager) => budget.throttler(manager, () => end(exhausted));
  const client = createClient(apiBase, { ...library.ws, buildIdentifyThrottler }, repeatMs);
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
    listener.onReady();
  };
  const log = (error: unknown): void => logger.warn({ err: safeError(error) }, "Discord client");

  client.on(Events.Error, log);
  client.on(Events.ShardError, log);
  client.on(Events.Warn, log);
  client.on(Events.ShardReady, ready);
  client.on(Events.ShardResume, ready);
  client.on(Events.ShardReconnecting, () => {
    endBy(hopelessMs, "Discord's gateway did not come back.");
    listener.onReconnecting(pace.failures());
  });
  client.on(Events.ShardDisconnect, ({ code }) => end({ isFatal: true, reason: fatalClose(code) }));
  client.on(Events.InteractionCreate, (interaction) => listener.onInteraction(interaction));
  for (const name of dispatches) client.ws.on(name, (data: unknown) => listener.onDispatch(name, data));

  return {
    run() {
      endBy(loginDeadlineMs, "Discord did not answer in time.");
      client.login(token).catch(async (error: unknown) => {
        if (isTokenRefused(error)) return end({ isFatal: true, reason: tokenInstruction });
        log(error);
        end((await library.isOutOfSessions()) ? exhausted : { isFatal: false, reason: "Discord cannot be reached." });
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
      const limit = new AbortController();
      await Promise.race([client.destroy().catch(() => undefined), pause(destroyMs, limit.signal)]);
      limit.abort();
      sockets.terminate();
    },
  };
}
