import { serverCommands } from "./servers.commands.ts";
import { feature } from "../../compose.ts";
import type { Core } from "../../core.ts";
import { readInvite } from "../../discord/rest/plain-requests.ts";
import { keyedHash } from "../../kernel/secrets.ts";
import { createServerFacts } from "./facts.ts";
import { serversRoutes } from "./servers.routes.ts";
import { createRegistryService, type RegistryDeps } from "./servers.service.ts";

/** Which servers are the same, as other features ask it. */
export const serverFacts = feature({
  create: ({ keyFor }: Core) => {
    const serversKey = keyFor("servers");
    return { facts: createServerFacts(), serversKey, hashOf: (serverId: string): string => keyedHash(serversKey, serverId) };
  },
});

export const registry = feature({
  commands: serverCommands,
  create: ({ config, ...deps }: Omit<RegistryDeps, "readInvite"> & Pick<Core, "config">) => ({
    registry: createRegistryService({ ...deps, readInvite: readInvite(config.discord.apiBase) }),
  }),
  routes: ({ registry }) => serversRoutes(registry),
  jobs: ({ registry }) => ({ registry: { run: registry.sweep, nextDue: registry.nextDue } }),
});
