import { routesFor, type Route } from "../../operations/route.ts";
import { eventsPolicy } from "./events.policy.ts";
import { EventFrames, FollowEventsQuery } from "./events.schema.ts";
import { eventTypes } from "./types.ts";
import type { EventStreamsService } from "./streams.service.ts";

const { get } = routesFor("events");

const table = Object.entries(eventTypes).map(([type, { permission, description }]) => `- \`${type}\` (\`${permission}\`): ${description}`);

export function eventsRoutes(streams: EventStreamsService): Route[] {
  return [
    get("/events", "followEvents", {
      summary: "Follow what happens",
      description: [
        "Server-sent events. An event is shown to callers who hold its permission at that moment. Resume with the `Last-Event-ID` header; an event `gap` says that some are no longer kept.",
        ...table,
      ].join("\n\n"),
      access: { permission: eventsPolicy.follow },
      request: { query: FollowEventsQuery },
      success: {
        status: 200,
        shape: "raw",
        mediaType: "text/event-stream",
        schema: EventFrames,
        description: "Events as they come; a comment every 15 seconds",
        example:
          'id: 1042\nevent: permission.changed\ndata: {"seq":1042,"id":"0199a7d2-6c1e-7c3a-9f64-3f1d7a1b2c4d","at":"2026-11-20T10:00:00.000Z","type":"permission.changed","data":{"role_key":"moderator"}}\n\n',
      },
      refusals: ["unknown_parameter"],
      handle: async ({ call, query, lastEventId }) => ({
        body: await streams.follow(call, query, lastEventId),
        // The connection ends with the stream, and no proxy should wait for more before it passes a frame on.
        headers: { "Cache-Control": "no-store", Connection: "close", "X-Accel-Buffering": "no" },
      }),
    }),
  ];
}
