import { feature } from "../compose.ts";
import type { Core } from "../core.ts";
import { createDiscordActions, type DiscordActionsDeps } from "./discord-actions.ts";
import { createCausesInForce } from "./in-force.ts";

/** Everything the bot does to people in Discord. */
export const discordActions = feature({
  create: (deps: Core & Pick<DiscordActionsDeps, "events">) => ({ discordActions: createDiscordActions(deps) }),
  metrics: ({ discordActions }) => ({
    provost_discord_actions_total: () => discordActions.counts().map(({ kind, outcome, count }) => [{ kind, outcome }, count] as const),
  }),
});

/** Why the bot acts on people in Discord. Every feature that has it do so registers where it keeps its causes. */
export const causesInForce = feature({ create: () => ({ causesInForce: createCausesInForce() }) });
