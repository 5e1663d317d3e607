import { feature } from "../../compose.ts";
import { timelineRoutes } from "./timeline.routes.ts";
import { createTimelineService, type TimelineDeps } from "./timeline.service.ts";

export const timeline = feature({
  create: (deps: TimelineDeps) => ({ timeline: createTimelineService(deps) }),
  routes: ({ timeline }) => timelineRoutes(timeline),
});
