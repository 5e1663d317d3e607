import { z } from "zod";
import { routesFor, type Route } from "../../operations/route.ts";
import { Snowflake } from "../../kernel/fields.ts";
import { timelinePolicy } from "./timeline.policy.ts";
import { TimelineEntryView, TimelineQuery } from "./timeline.schema.ts";
import type { TimelineService } from "./timeline.service.ts";

const { get } = routesFor("timeline");

const example = {
  id: "match.opened:0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
  at: "2026-11-20T10:00:00.000Z",
  kind: "match" as const,
  event: "opened",
  user_id: "80351110224678912",
  summary: "Matches a record: server_blacklist, high.",
  reference: "BL-000012",
  record_id: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
};

/** HTTP routes for a person's history. */
export function timelineRoutes(timeline: TimelineService): Route[] {
  return [
    get("/users/{discord_user_id}/timeline", "listUserTimeline", {
      summary: "List what happened to a user, newest first",
      description:
        "One history out of every room: grants, matches, blacklist records, requests, staff measures, linked accounts. Kinds of entries the caller may not read are left out.",
      access: { permission: timelinePolicy.read },
      request: { params: z.object({ discord_user_id: Snowflake }), query: TimelineQuery },
      success: { status: 200, shape: "list", schema: TimelineEntryView, description: "A page of entries", example },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, params, query }) => timeline.list(call, params.discord_user_id, query),
    }),
  ];
}
