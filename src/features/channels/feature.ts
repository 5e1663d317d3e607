import { feature } from "../../compose.ts";
import { channelsRoutes } from "./channels.routes.ts";
import { type ChannelsDeps, createChannelsService } from "./channels.service.ts";

export const channels = feature({
  create: (deps: ChannelsDeps) => ({ channels: createChannelsService(deps) }),
  routes: ({ channels }) => channelsRoutes(channels),
  load: ({ channels }) => channels.load(),
});
