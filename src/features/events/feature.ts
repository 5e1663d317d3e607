import { feature } from "../../compose.ts";
import type { Core } from "../../core.ts";
import { eventsRoutes } from "./events.routes.ts";
import { createEventsService } from "./events.service.ts";
import { createEventStreams, type StreamsDeps } from "./streams.service.ts";

export const events = feature({
  create: ({ database, clock, changes }: Core) => ({ events: createEventsService({ database, clock, changes }) }),
  jobs: ({ events }) => ({ events: events.sweep }),
});

/** What clients follow as it happens. It comes after the permissions, which say who may hear of what. */
export const eventStreams = feature({
  create: (deps: StreamsDeps & Core) => ({ eventStreams: createEventStreams({ ...deps, pace: deps.pauses.streams }) }),
  routes: ({ eventStreams }) => eventsRoutes(eventStreams),
  metrics: ({ eventStreams }) => ({ provost_event_streams_open: eventStreams.count }),
  endStreams: ({ eventStreams }) => eventStreams.close(),
  close: ({ eventStreams }) => eventStreams.close(),
});
