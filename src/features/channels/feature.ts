import type { Core } from "../../core.ts";
import { feature } from "../../compose.ts";
import { channelsRoutes } from "./channels.routes.ts";
import { type ChannelsDeps, createChannelsService } from "./channels.service.ts";

export const channels = feature({
  create: (deps: ChannelsDeps & Pick<Core, "changes">) => ({ channels: createChannelsService(deps) }),
  routes: ({ channels }) => channelsRoutes(channels),
  async load({ channels, changes }) {
    changes.listen("settings", channels.load);
    await channels.load();
  },
});
