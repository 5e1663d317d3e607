import type { Core } from "../../core.ts";
import { feature } from "../../compose.ts";
import { channelsEntry, channelsStep } from "./channels.commands.ts";
import { channelsRoutes } from "./channels.routes.ts";
import { type ChannelsDeps, createChannels } from "./channels.service.ts";
import { alertEntries } from "./muted-alerts.commands.ts";

export const channels = feature({
  create: (deps: ChannelsDeps & Pick<Core, "changes">) => ({ channels: createChannels(deps) }),
  guide: { entries: [channelsEntry, ...alertEntries], step: channelsStep },
  routes: ({ channels }) => channelsRoutes(channels),
  load: ({ channels, changes }) => channels.follow(changes),
});
