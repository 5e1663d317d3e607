import { Events, type GatewayDispatchEvents, type Interaction } from "discord.js";
import type { Logger } from "pino";
import { createClient } from "./gateway-client.ts";
import { fatalClose, fatalLogin } from "./gateway-fatal.ts";
import { createGatewayPace } from "./gateway-pace.ts";
import type { IdentifyBudget } from "./identify-budget.ts";
import { safeError } from "./rest-errors.ts";

/** Why a session ended: for good, with an instruction, or so that another may be tried. */
export interface SessionEnd {
  isFatal: boolean;
  reason: string;
}

export interface SessionListener {
  /** Connected, and every guild of the bot has been told. */
  onReady(): void;
  /** The link broke; `failures` counts attempts in vain. */
  onReconnecting(failures: number): void;
  onHeartbeat(at: Date): void;
  onDispatch(name: GatewayDispatchEvents, data: unknown): void;
  onInteraction(interaction: Interaction): void;
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
  dispatches: readonly GatewayDispatchEvents[];
  listener: SessionListener;
}

export interface GatewaySession {
  /** Logs in and lives until the session cannot go on; the library reconnects by itself meanwhile. */
  run(): Promise<SessionEnd>;
  requestMembers(guildId: string, nonce: string): void;
  pingMs(): number | undefined;
  stop(): Promise<void>;
}

const budgetReason = "The session starts Discord allows in a day are nearly used up; the link waits for the next day.";

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
  const pace = createGatewayPace({
    logger,
    budget,
    reconnectMs,
    onHeartbeat: (at) => listener.onHeartbeat(at),
    onExhausted: () => end({ isFatal: false, reason: budgetReason }),
  });
  const client = createClient(apiBase, pace.ws, repeatMs);
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
      client.login(token).catch((error: unknown) => {
        const instruction = fatalLogin(error);
        if (instruction === undefined) log(error);
        end({ isFatal: instruction !== undefined, reason: instruction ?? loginReason(error) });
      });
      return ended;
    },
    requestMembers: (guildId, nonce) => pace.send(0, { op: 8, d: { guild_id: guildId, query: "", limit: 0, nonce } }),
    pingMs() {
      const ping = client.ws.ping;
      return ping >= 0 ? Math.round(ping) : undefined;
    },
    async stop() {
      clearTimeout(deadline);
      client.ws.removeAllListeners();
      client.removeAllListeners();
      client.on(Events.Error, () => undefined);
      await pace.stop(() => client.destroy());
    },
  };
}

function loginReason(error: unknown): string {
  const isBudget = error instanceof Error && error.message.startsWith("Not enough sessions remaining");
  return isBudget ? budgetReason : "Discord cannot be reached.";
}
