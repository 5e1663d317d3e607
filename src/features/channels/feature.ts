import type { Core } from "../../core.ts";
import { feature } from "../../compose.ts";
import { channelsRoutes } from "./channels.routes.ts";
import { type ChannelsDeps, createChannels } from "./channels.service.ts";

export const channels = feature({
  create: (deps: ChannelsDeps & Pick<Core, "changes">) => ({ channels: createChannels(deps) }),
  routes: ({ channels }) => channelsRoutes(channels),
  load: ({ channels, changes }) => channels.follow(changes),
});
