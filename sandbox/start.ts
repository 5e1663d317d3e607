import type { Server } from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import { mountCdn } from "./cdn.ts";
import { createFaultRules } from "./fault-rules.ts";
import { createFaults, listen } from "./faults.ts";
import { createGateway } from "./gateway.ts";
import { createInteractions } from "./interactions.ts";
import { authorizeRoutes } from "./oauth-authorize.ts";
import { createGrants } from "./oauth-grants.ts";
import { oauthMetadata, oauthRoutes } from "./oauth.ts";
import { createRecorder } from "./recorder.ts";
import { auditLogRoutes } from "./rest/audit-log.ts";
import { banRoutes } from "./rest/bans.ts";
import { channelRoutes } from "./rest/channels.ts";
import { commandRoutes } from "./rest/commands.ts";
import { guildRoutes, inviteRoutes } from "./rest/guilds.ts";
import { interactionRoutes } from "./rest/interactions.ts";
import { meRoutes } from "./rest/me.ts";
import { memberRoutes } from "./rest/members.ts";
import { pinRoutes } from "./rest/pins.ts";
import { roleRoutes } from "./rest/roles.ts";
import { createRestApp } from "./rest/server.ts";
import { mountRoom } from "./room/routes.tsx";
import type { RoomContext } from "./room/state.ts";
import { createSignal } from "./signal.ts";
import { createWorld } from "./world.ts";

/** Builds the world and everything that serves it, and listens. */
export async function startServices(options: SandboxOptions) {
  const world = createWorld(options.now ?? Date.now);
  for (const uri of options.redirectUris ?? []) world.application.redirectUris.add(uri);
  const signal = createSignal();
  const recorder = createRecorder(world.now, options.record ?? true, signal);
  const rules = createFaultRules();
  const grants = createGrants(world);
  const interactions = createInteractions(world, signal, options.ackDeadlineMs ?? 3000);
  let port = 0;
  const gatewayUrl = () => `ws://127.0.0.1:${port}`;
  const gateway = createGateway({
    world,
    recorder,
    url: gatewayUrl,
    heartbeatMs: options.heartbeatMs ?? 41_250,
    memberRequestWindowMs: options.memberRequestWindowMs ?? 30_000,
  });
  let release = (): void => undefined;
  const stopped = new Promise<void>((resolve) => {
    release = resolve;
  });
  const rest = createRestApp({ world, grants, faults: rules, recorder, stopped }, [
    ...meRoutes(world),
    ...guildRoutes(world, gatewayUrl),
    ...memberRoutes(world),
    ...roleRoutes(world),
    ...banRoutes(world),
    ...auditLogRoutes(world),
    ...inviteRoutes(world),
    ...pinRoutes(world),
    ...channelRoutes(world),
    ...commandRoutes(world),
    ...interactionRoutes(world, interactions),
    ...oauthRoutes(world, grants),
    ...authorizeRoutes(world, grants),
  ]);
  rest.get("/.well-known/oauth-authorization-server", (c) => c.json(oauthMetadata(new URL(c.req.url).origin)));
  mountCdn(rest, { world, faults: rules, recorder, stopped });
  const room: RoomContext = { world, signal, interactions, recorder, origin: "" };
  mountRoom(rest, room);
  const server = createAdaptorServer({ fetch: rest.fetch }) as Server;
  server.on("upgrade", gateway.accept);
  const listener = await listen(server, options.port ?? 0);
  port = listener.port;
  world.cdn.origin = `http://127.0.0.1:${port}`;
  room.origin = world.cdn.origin;
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    world,
    signal,
    recorder,
    grants,
    interactions,
    gateway,
    faults: createFaults(rules, gateway, listener),
    async stop(): Promise<void> {
      release();
      signal.stop();
      interactions.stop();
      gateway.stop();
      await listener.stop();
    },
  };
}

export type SandboxOptions = {
  /** 0 (default) takes any free port. */
  port?: number;
  seed?: "small" | "none";
  /** Keep bodies of REST calls and data of gateway messages; default true. */
  record?: boolean;
  /** Time between two full member lists of one guild and session; Discord's is 30,000. */
  memberRequestWindowMs?: number;
  redirectUris?: readonly string[];
  /** Clock in milliseconds since 1970. */
  now?: () => number;
  /** Time for the first answer to an interaction; Discord's is 3,000. */
  ackDeadlineMs?: number;
  heartbeatMs?: number;
};
