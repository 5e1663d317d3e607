import { z } from "zod";
import { routesFor, type Route } from "../../operations/route.ts";
import { Snowflake } from "../../kernel/fields.ts";
import { channelsPolicy } from "./channels.policy.ts";
import type { ChannelsService } from "./channels.service.ts";
import { ChannelsQuery, ChannelsView, PutChannelsInput } from "./channels.schema.ts";

const { get, put } = routesFor("channels");
const params = z.object({ guild_id: Snowflake });
const example = {
  guild_id: "41771983423143937",
  review: "41771983423143939",
  alerts: "41771983423143940",
  board: null,
  muted_alerts: ["match_opened"],
  revision: 2,
  updated_by: "80351110224678912",
  updated_at: "2026-11-20T10:00:00.000Z",
} as const satisfies ChannelsView;

/** HTTP routes for the channels the service posts in. */
export function channelsRoutes(channels: ChannelsService): Route[] {
  return [
    get("/channels", "listChannels", {
      summary: "List the channels the service posts in",
      description: "One entry for each guild that is served.",
      access: { permission: channelsPolicy.read },
      request: { query: ChannelsQuery },
      success: { status: 200, shape: "list", schema: ChannelsView, description: "A page of guilds with their channels", example },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, query }) => channels.list(call, query),
    }),
    put("/channels/{guild_id}", "putChannels", {
      summary: "Choose the channels the service posts in, and what it tells there",
      description:
        "Send all of them: what is left out or `null` has none, and a kind of alert that is left out of `muted_alerts` is told. Whether the service may post there shows when it does.",
      access: { permission: channelsPolicy.manage },
      request: { params, body: PutChannelsInput, example: { review: "41771983423143939", alerts: "41771983423143940" } },
      success: { status: 200, shape: "single", schema: ChannelsView, description: "The channels as they are now", example },
      refusals: ["record_not_found", "precondition_failed"],
      handle: ({ call, params: { guild_id: guildId }, body, ifMatch }) => channels.put(call, guildId, body, ifMatch),
    }),
  ];
}
