import { GatewayOpcodes } from "discord-api-types/v10";
import type { FaultHandle, FaultRules, RestFault } from "./fault-rules.ts";
import type { Gateway } from "./gateway.ts";
import type { AddressInfo, Socket } from "node:net";
import type { Server } from "node:http";

export type OAuthFault = Omit<RestFault, "route"> & { route: "authorize" | "token" | "revoke" };

const oauthRoutes = {
  authorize: "GET /oauth2/authorize",
  token: "POST /oauth2/token",
  revoke: "POST /oauth2/token/revoke",
} as const;

export type Faults = ReturnType<typeof createFaults>;

/** Everything that can be made to go wrong. */
export function createFaults(rules: FaultRules, gateway: Gateway, listener: Listener) {
  return {
    /** The next matching REST calls fail: before they have any effect, or with `late` after it. */
    rest: (fault: RestFault): FaultHandle => rules.add(fault),
    /** The same for the OAuth2 endpoints. */
    oauth: ({ route, ...fault }: OAuthFault): FaultHandle => rules.add({ ...fault, route: oauthRoutes[route] }),
    /** Forgets all REST and OAuth2 failures that are still waiting. */
    clear: () => rules.clear(),
    /** Gateway links break without a close; the sessions can be resumed. */
    dropSockets(): void {
      for (const connection of gateway.connections) connection.drop();
    },
    /** Asks clients to reconnect (op 7). */
    reconnect(): void {
      for (const connection of gateway.connections) connection.send(GatewayOpcodes.Reconnect, null);
    },
    /** Tells clients that their session is invalid (op 9); it can be resumed only when said so. */
    invalidateSessions: (resumable = false) => gateway.invalidate(resumable),
    /** Every session is told an event that did not happen, whatever it says. */
    event(t: string, d: unknown): void {
      for (const session of gateway.sessions.values()) session.dispatch(t, d);
    },
    /** Sends a frame over every gateway link as it stands, whatever it says. */
    frame(text: string): void {
      for (const connection of gateway.connections) connection.frame(text);
    },
    /** Closes every gateway link with a code such as 4014. */
    close(code: number): void {
      for (const connection of gateway.connections) connection.close(code);
    },
    /** The present links go dead: nothing sent, no heartbeat answered. New links work. */
    silence(): void {
      for (const connection of gateway.connections) connection.silence();
    },
    /** Refuses all connections, REST and gateway, for so many milliseconds, or with Infinity until `up`; settles when the same port listens again. */
    down: (ms: number) => listener.down(ms),
    /** Ends what `down` began; that one settles. */
    up: () => listener.up(),
  };
}

const host = "127.0.0.1";

export type Listener = Awaited<ReturnType<typeof listen>>;

/**
 * Listens on loopback only, and can go away and come back on the same port.
 * @param wanted port, or 0 for any free one
 */
export async function listen(server: Server, wanted: number) {
  const sockets = new Set<Socket>();
  let outage: { timer: NodeJS.Timeout | undefined; end: () => void } | undefined;
  let isStopped = false;
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });

  const open = (port: number) =>
    new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, host, () => {
        server.off("error", reject);
        resolve();
      });
    });

  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });

  await open(wanted);
  const { port } = server.address() as AddressInfo;

  return {
    port,
    async down(ms: number): Promise<void> {
      await close();
      await new Promise<void>((resolve) => {
        outage = { timer: ms === Infinity ? undefined : setTimeout(resolve, ms), end: resolve };
      });
      if (!isStopped) await open(port);
    },
    up(): void {
      clearTimeout(outage?.timer);
      outage?.end();
    },
    async stop(): Promise<void> {
      isStopped = true;
      clearTimeout(outage?.timer);
      if (server.listening) await close();
    },
  };
}
