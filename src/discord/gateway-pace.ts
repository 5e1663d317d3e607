import { SimpleShardingStrategy, type WebSocketOptions } from "discord.js";
import type { Logger } from "pino";
import type { IdentifyBudget } from "./identify-budget.ts";
import { pause } from "./pause.ts";
import { safeError } from "./rest-errors.ts";

export type GatewayManager = Parameters<NonNullable<WebSocketOptions["buildStrategy"]>>[0];

/** The library's events under their real names; the enum that discord.js exports under the same name holds others. */
interface LibraryEvents {
  on(name: "hello" | "closed" | "ready" | "resumed", listener: (data: { shardId: number }) => void): void;
  on(name: "heartbeat", listener: (data: { heartbeatAt: number }) => void): void;
}

interface Socket {
  readyState: number;
  on(name: "error", listener: () => void): void;
  terminate(): void;
}

const closedState = 3;
const destroyMs = 2000;
/** A link that held this long was a good one; sooner, its end counts as one more failure. */
const steadyMs = 10_000;
const longestMs = 30_000;

/** How long the next attempt waits after so many in vain, before chance moves it by a quarter: two are made at once. */
export function pauseAfterFailures(failures: number, firstMs = 500): number {
  return failures > 2 ? Math.min(longestMs, firstMs * 2 ** (failures - 3)) : 0;
}

export interface GatewayPace {
  /** For the client's options. */
  ws: Pick<WebSocketOptions, "buildStrategy" | "buildIdentifyThrottler">;
  send(shardId: number, payload: Parameters<GatewayManager["send"]>[1]): void;
  /** Links lost, and attempts in vain, since the last link that held. */
  failures(): number;
  /** Ends the reconnect loop, which outlives the client's own `destroy`, and cuts every socket that one left open. */
  stop(destroy: () => Promise<void>): Promise<void>;
}

interface PaceOptions {
  logger: Logger;
  budget: IdentifyBudget;
  /** First pause of the back-off. */
  reconnectMs?: number | undefined;
  onHeartbeat(at: Date): void;
  /** No session may be started for now. */
  onExhausted(): void;
}

/**
 * Puts a back-off and an off switch on the library's reconnect loop, which tries twice a second for ever. The loop asks for the
 * stored session before each attempt; holding that answer back holds the attempt back. While a socket is open nothing is delayed.
 */
export function createGatewayPace({ logger, budget, reconnectMs, onHeartbeat, onExhausted }: PaceOptions): GatewayPace {
  const open = new Set<number>();
  const stopping = new AbortController();
  let failures = 0;
  let upSince = Infinity;
  let manager: GatewayManager | undefined;
  let strategy: SimpleShardingStrategy | undefined;

  /** The promise of a stopped loop stays open, which is what stops the loop. */
  const turn = async (): Promise<void> => {
    const ms = pauseAfterFailures(failures, reconnectMs);
    if (ms > 0) await pause(ms * (0.75 + Math.random() / 2), stopping.signal);
    if (stopping.signal.aborted) await new Promise<never>(() => undefined);
  };

  const buildStrategy = (built: GatewayManager): SimpleShardingStrategy => {
    manager = built;
    const { retrieveSessionInfo } = built.options;
    built.options.retrieveSessionInfo = (shardId) => {
      if (open.has(shardId)) return retrieveSessionInfo(shardId);
      return turn().then(() => retrieveSessionInfo(shardId));
    };
    const events = built as unknown as LibraryEvents;
    events.on("hello", ({ shardId }) => void open.add(shardId));
    events.on("closed", ({ shardId }) => {
      open.delete(shardId);
      failures = performance.now() - upSince > steadyMs ? 1 : failures + 1;
      upSince = Infinity;
    });
    events.on("ready", () => (upSince = performance.now()));
    events.on("resumed", () => (upSince = performance.now()));
    events.on("heartbeat", ({ heartbeatAt }) => onHeartbeat(new Date(heartbeatAt)));
    strategy = new SimpleShardingStrategy(built);
    return strategy;
  };

  return {
    ws: { buildStrategy, buildIdentifyThrottler: (built) => budget.throttler(built, onExhausted) },
    send(shardId, payload) {
      if (manager === undefined) return;
      Promise.resolve(manager.send(shardId, payload)).catch((error: unknown) => {
        logger.warn({ err: safeError(error) }, "Discord gateway: a message was not sent");
      });
    },
    failures: () => failures,
    async stop(destroy) {
      stopping.abort();
      const sockets = [...(strategy?.["shards"].values() ?? [])].flatMap((shard) => (shard["connection"] as Socket | null) ?? []);
      // The library takes its own listener off a socket that is still connecting; an error without a listener would end the process.
      for (const socket of sockets) socket.on("error", () => undefined);
      let timer: NodeJS.Timeout | undefined;
      const limit = new Promise<void>((resolve) => (timer = setTimeout(resolve, destroyMs)));
      await Promise.race([destroy().catch(() => undefined), limit]);
      clearTimeout(timer);
      for (const socket of sockets) if (socket.readyState !== closedState) socket.terminate();
    },
  };
}
