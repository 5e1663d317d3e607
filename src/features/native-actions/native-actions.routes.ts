import { z } from "zod";
import { idPattern, Snowflake } from "../../kernel/fields.ts";
import { routesFor, type Route } from "../../operations/route.ts";
import { nativeActionsPolicy } from "./native-actions.policy.ts";
import {
  GuildActionView,
  ListGuildActionsQuery,
  ListNativeActionsQuery,
  NativeActionsNotes,
  NativeActionView,
} from "./native-actions.schema.ts";
import type { NativeActionsService } from "./native-actions.service.ts";

const { get } = routesFor("native actions");

const example = {
  id: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
  guild_id: "41771983423143937",
  user_id: "80351110224678912",
  action: "ban" as const,
  by: "53908232506183680",
  reason: "Advertising in direct messages.",
  until: null,
  rule: null,
  at: "2026-11-20T10:00:00.000Z",
  recorded_at: "2026-11-20T10:00:00.120Z",
};

/** HTTP routes for what others did in Discord. */
export function nativeActionsRoutes(nativeActions: NativeActionsService): Route[] {
  return [
    get("/users/{discord_user_id}/native-actions", "listNativeActions", {
      summary: "List what others did to a user in Discord, newest first",
      description:
        "Bans, kicks, timeouts and their ends by people and other bots, as the audit logs of the community's servers have them. What this service's own bot did is not among them.",
      access: { permission: nativeActionsPolicy.read },
      request: { params: z.object({ discord_user_id: Snowflake }), query: ListNativeActionsQuery },
      success: {
        status: 200,
        shape: "list",
        schema: NativeActionView,
        notes: NativeActionsNotes,
        description: "A page of actions",
        example,
      },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, params, query }) => nativeActions.list(call, params.discord_user_id, query),
    }),
    get("/guilds/{guild_id}/native-actions", "listGuildNativeActions", {
      summary: "List what others did in a server in Discord, newest first",
      description:
        "As the list of a user, for everybody at once, and with what Discord names nobody of: a prune, which removes all who have been away for some days. A prune is in no list of a user.",
      access: { permission: nativeActionsPolicy.read },
      request: { params: z.object({ guild_id: Snowflake }), query: ListGuildActionsQuery },
      success: {
        status: 200,
        shape: "list",
        schema: GuildActionView,
        notes: NativeActionsNotes,
        description: "A page of actions",
        example: {
          ...example,
          user_id: null,
          action: "prune" as const,
          reason: null,
          members_removed: 120,
          inactive_days: 30,
        },
      },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, params, query }) => nativeActions.listIn(call, params.guild_id, query),
    }),
    get("/native-actions/{id}", "getNativeAction", {
      summary: "Get what somebody did to a user in Discord",
      description: "What was done to no single user, such as a prune, is in the list of its server alone.",
      access: { permission: nativeActionsPolicy.read },
      request: { params: z.object({ id: z.string().regex(idPattern).meta({ description: "Id of the action", example: example.id }) }) },
      success: { status: 200, shape: "single", schema: NativeActionView, description: "The action", example },
      refusals: ["record_not_found"],
      handle: ({ call, params }) => nativeActions.get(call, params.id),
    }),
  ];
}
