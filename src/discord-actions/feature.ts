import { feature } from "../compose.ts";
import type { Core } from "../core.ts";
import { createDiscordActions, type DiscordActionsDeps } from "./discord-actions.ts";

/** Everything the bot does to people in Discord. */
export const discordActions = feature({
  create: (deps: Core & Pick<DiscordActionsDeps, "events">) => ({ discordActions: createDiscordActions(deps) }),
});
