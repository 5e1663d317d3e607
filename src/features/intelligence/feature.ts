import { feature } from "../../compose.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import { intelligenceRoutes } from "./intelligence.routes.ts";
import { createIntelligence, type IntelligenceDeps } from "./intelligence.service.ts";

export const intelligence = feature({
  create: (deps: Omit<IntelligenceDeps, "ownServerIds" | "isStaff" | "guildState"> & { guildState: GuildState }) =>
    createIntelligence({
      ...deps,
      ownServerIds: () => deps.guildState.guilds().map(({ id }) => id),
      isStaff: (userId) => deps.standing.of(userId).isStaff,
    }),
  routes: (services) => intelligenceRoutes(services),
  jobs: ({ matches }) => ({ matches: matches.sweep }),
  load: ({ matches }) => matches.load(),
});
